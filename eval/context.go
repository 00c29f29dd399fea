package eval

import "encoding/json"

// Context is an evaluation context: the whole input of one evaluation.
type Context struct {
	Environment EnvironmentContext
	Identity    *IdentityContext  // nil: evaluate without an identity
	Features    []*FeatureContext // in document order
	Segments    []*SegmentContext // in document order, which decides ties and the order of the result

	// raw is the document the context was decoded from; JSONPath properties
	// may look at any part of it. Without one they see environment and identity.
	raw []byte
}

// EnvironmentContext names the environment.
type EnvironmentContext struct {
	Key  string // client-side environment key
	Name string
}

// IdentityContext is who is being evaluated.
type IdentityContext struct {
	Identifier string
	Key        string // hashing key; "" means "<environment key>_<identifier>"
	Traits     []Trait
}

// Trait is one named value of an identity.
type Trait struct {
	Name  string
	Value Value
}

// FeatureContext is a feature's state: an environment default or an override.
// It is read-only once compiled.
type FeatureContext struct {
	Key      string // what is hashed for multivariate selection
	Name     string
	Enabled  bool
	Value    Value
	Variants []Variant
	Priority Value           // a number; null means +infinity. Only overrides use it, lower wins
	Metadata json.RawMessage // a JSON object or nil
}

// Variant is one multivariate option.
type Variant struct {
	Key      string // "" means unkeyed
	Value    Value
	Weight   Value // a number, percent
	Priority Value // a number of any size; lower comes first
}

// SegmentContext is a segment with its overrides in this environment. It is
// read-only once compiled.
type SegmentContext struct {
	Key       string
	Name      string
	Rules     []SegmentRule
	Overrides []*FeatureContext
	Metadata  json.RawMessage // a JSON object or nil
}

// SegmentRule combines conditions and sub-rules; both parts must hold.
type SegmentRule struct {
	Type       string // ALL, ANY or NONE; anything else never matches
	Conditions []Condition
	Rules      []SegmentRule
}

// Condition compares a property of the context with a value.
type Condition struct {
	Property string // trait name, or a JSONPath when it starts with "$."
	Operator string
	Value    string
	// List holds the elements when IN was given a list instead of a text;
	// IsList tells so, as the list may be empty.
	List   []string
	IsList bool
}

// Operators of a Condition. An operator not listed never matches.
const (
	Equal                = "EQUAL"
	NotEqual             = "NOT_EQUAL"
	GreaterThan          = "GREATER_THAN"
	GreaterThanInclusive = "GREATER_THAN_INCLUSIVE"
	LessThan             = "LESS_THAN"
	LessThanInclusive    = "LESS_THAN_INCLUSIVE"
	Contains             = "CONTAINS"
	NotContains          = "NOT_CONTAINS"
	Regex                = "REGEX"
	PercentageSplit      = "PERCENTAGE_SPLIT"
	Modulo               = "MODULO"
	IsSet                = "IS_SET"
	IsNotSet             = "IS_NOT_SET"
	In                   = "IN"
)

// Rule types of a SegmentRule.
const (
	All  = "ALL"
	Any  = "ANY"
	None = "NONE"
)
