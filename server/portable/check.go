package portable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flagraft/flagraft/eval"
	"github.com/flagraft/flagraft/eval/pattern"
	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/credential"
)

// Invalid is the error for a document that cannot be imported: where, and why.
type Invalid struct {
	Where, Why string
}

func (e *Invalid) Error() string { return e.Where + ": " + e.Why }

// Bounds of texts in characters, those of the admin API.
const (
	maxName       = 2000
	maxIdentifier = 2000
	maxTraitKey   = 200
	maxDepth      = 3 // of rules
)

// Parse reads a document and checks everything that can be checked without a state. Errors are *[Invalid].
func Parse(raw []byte) (*Document, error) {
	if !utf8.Valid(raw) { // the decoder would put other characters in the place of those that it cannot read
		return nil, &Invalid{"document", "it is not UTF-8"}
	}
	var whole any
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, &Invalid{"document", err.Error()}
	}
	if holdsNUL(whole) {
		return nil, &Invalid{"document", "a text has a null character in it"}
	}
	if identity.LoneSurrogate(raw) { // as above
		return nil, &Invalid{"document", "a text has half a surrogate pair in it (\\ud800 to \\udfff)"}
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields() // a member that is misspelt must not be lost
	dec.UseNumber()
	var d Document
	if err := dec.Decode(&d); err != nil {
		return nil, &Invalid{"document", err.Error()}
	}
	if d.Format != Format || d.Version != Version {
		return nil, &Invalid{"document", fmt.Sprintf("it is %q version %d, not %q version %d", d.Format, d.Version, Format, Version)}
	}
	for i := range d.Organisations {
		o := &d.Organisations[i]
		where := fmt.Sprintf("organisation %q", o.Name)
		if err := name(where, o.Name); err != nil {
			return nil, err
		}
		for j := range o.Projects {
			c := checker{where: fmt.Sprintf("%s, project %q", where, o.Projects[j].Name), p: &o.Projects[j]}
			if err := c.project(); err != nil {
				return nil, err
			}
		}
	}
	return &d, nil
}

func holdsNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0) || !utf8.ValidString(v)
	case []any:
		return slices.ContainsFunc(v, holdsNUL)
	case map[string]any:
		for k, e := range v {
			if holdsNUL(k) || holdsNUL(e) {
				return true
			}
		}
	}
	return false
}

func name(where, text string) error {
	if n := utf8.RuneCountInString(text); n == 0 || n > maxName {
		return &Invalid{where, fmt.Sprintf("a name has 1 to %d characters", maxName)}
	}
	return nil
}

// checker checks one project.
type checker struct {
	where    string
	p        *Project
	features map[string]*Feature
}

func (c *checker) bad(format string, args ...any) error {
	return &Invalid{c.where, fmt.Sprintf(format, args...)}
}

func (c *checker) project() error {
	if err := name(c.where, c.p.Name); err != nil {
		return err
	}
	if r := c.p.FeatureNameRegex; r != nil && *r != "" && pattern.Python(*r) == nil { // no name would be checked with it
		return c.bad("feature_name_regex is no valid regular expression")
	}
	for i, t := range c.p.Tags {
		if t.Number != i+1 || t.Label == "" {
			return c.bad("tag %d must have number %d and a label", t.Number, i+1)
		}
	}
	if err := c.customFields(); err != nil {
		return err
	}
	c.features = map[string]*Feature{}
	lower := map[string]bool{}
	for i := range c.p.Features {
		f := &c.p.Features[i]
		if lower[strings.ToLower(f.Name)] {
			return c.bad("two features are called %q", f.Name)
		}
		lower[strings.ToLower(f.Name)], c.features[f.Name] = true, f
		if err := c.feature(f); err != nil {
			return err
		}
	}
	for i := range c.p.Segments {
		if err := c.segment(i+1, &c.p.Segments[i]); err != nil {
			return err
		}
	}
	for i := range c.p.Environments { // two may have one name: clones
		if err := c.environment(&c.p.Environments[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) feature(f *Feature) error {
	if err := name(c.where+", feature", f.Name); err != nil {
		return err
	}
	if f.Type != string(fsm.Standard) && f.Type != string(fsm.Multivariate) {
		return c.bad("feature %q has the unknown type %q", f.Name, f.Type)
	}
	for _, t := range f.Tags {
		if t < 1 || t > len(c.p.Tags) {
			return c.bad("feature %q has the tag %d, which is not there", f.Name, t)
		}
	}
	if err := c.fieldValues(kindFeature, f.Name, f.CustomFields); err != nil {
		return err
	}
	total, keys := 0.0, map[string]bool{}
	for i, o := range f.Options {
		if o.Number != i+1 || o.Percentage < 0 || o.Percentage > 100 {
			return c.bad("option %d of feature %q must have number %d and 0 to 100 percent", o.Number, f.Name, i+1)
		}
		if err := c.value(f.Name, o.Value); err != nil {
			return err
		}
		if o.Key != nil && *o.Key != "" {
			if *o.Key == eval.ControlKey || keys[*o.Key] {
				return c.bad("option %d of feature %q has the key %q, which is reserved or another option's", o.Number, f.Name, *o.Key)
			}
			keys[*o.Key] = true
		}
		total += o.Percentage
	}
	if fsm.MoreThanWhole(total) { // every new environment starts with them
		return c.bad("the options of feature %q add up to %v percent", f.Name, total)
	}
	return nil
}

func (c *checker) value(feature string, v Value) error {
	if !slices.Contains([]fsm.ValueType{fsm.Unicode, fsm.Int, fsm.Bool}, fsm.ValueType(v.Type)) {
		return c.bad("a value of feature %q has the unknown type %q", feature, v.Type)
	}
	return nil
}

func (c *checker) segment(number int, g *Segment) error {
	if err := name(c.where+", segment", g.Name); err != nil {
		return err
	}
	if g.Number != number {
		return c.bad("segment %q must have number %d", g.Name, number)
	}
	if g.Feature != "" && c.features[g.Feature] == nil {
		return c.bad("segment %q is for the feature %q, which is not there", g.Name, g.Feature)
	}
	if err := c.fieldValues(kindSegment, g.Name, g.CustomFields); err != nil {
		return err
	}
	return c.rules(g.Name, g.Rules, 1)
}

// operators are those of conditions, in Flagsmith's words.
var operators = []string{eval.Equal, eval.NotEqual, eval.GreaterThan, eval.GreaterThanInclusive, eval.LessThan, eval.LessThanInclusive,
	eval.Contains, eval.NotContains, eval.Regex, eval.PercentageSplit, eval.Modulo, eval.IsSet, eval.IsNotSet, eval.In}

func (c *checker) rules(segment string, list []Rule, depth int) error {
	for _, r := range list {
		if depth > maxDepth || !slices.Contains([]string{"ALL", "ANY", "NONE"}, r.Type) {
			return c.bad("a rule of segment %q is too deep or of the unknown type %q", segment, r.Type)
		}
		for _, k := range r.Conditions {
			if !slices.Contains(operators, k.Operator) {
				return c.bad("a condition of segment %q has the unknown operator %q", segment, k.Operator)
			}
		}
		if err := c.rules(segment, r.Rules, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) environment(e *Environment) error {
	where := *c
	where.where = fmt.Sprintf("%s, environment %q", c.where, e.Name)
	c = &where
	if err := name(c.where, e.Name); err != nil {
		return err
	}
	if e.APIKey == "" || len(e.APIKey) > 100 {
		return c.bad("its api_key has 1 to 100 characters")
	}
	if msg := credential.EnvironmentKeyFault(e.APIKey); msg != "" {
		return c.bad("its api_key: %s", msg)
	}
	if err := c.fieldValues(kindEnvironment, e.Name, e.CustomFields); err != nil {
		return err
	}
	for _, k := range e.ServerKeys {
		if !strings.HasPrefix(k.Key, "ser.") || len(k.Key) > 100 {
			return c.bad("a server key begins with ser.")
		}
	}
	if err := c.states(e.States); err != nil { // a feature without one is served nowhere: its state was deleted
		return err
	}
	if err := c.overrides(e.SegmentOverrides); err != nil {
		return err
	}
	if err := c.versions(e); err != nil {
		return err
	}
	return c.identities(e.Identities)
}

// states checks a list that has each feature once: the default states of an environment, or the overrides of an identity.
func (c *checker) states(list []State) error {
	seen := map[string]bool{}
	for i := range list {
		if err := c.state(&list[i]); err != nil {
			return err
		}
		if seen[list[i].Feature] {
			return c.bad("feature %q has two states in one place", list[i].Feature)
		}
		seen[list[i].Feature] = true
	}
	return nil
}

// overrides may be two of one feature and segment, and of a feature that the segment is not for: the admin API takes the former, and leaves the
// latter when the feature of a segment changes.
func (c *checker) overrides(list []Override) error {
	for i := range list {
		o := &list[i]
		if o.Segment < 1 || o.Segment > len(c.p.Segments) {
			return c.bad("an override of feature %q is for segment %d, which is not there", o.Feature, o.Segment)
		}
		if err := c.state(&o.State); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) state(s *State) error {
	f := c.features[s.Feature]
	if f == nil {
		return c.bad("a state is of the feature %q, which is not there", s.Feature)
	}
	total, seen := 0.0, map[int]bool{}
	for _, v := range s.Variants {
		if v.Option < 1 || v.Option > len(f.Options) || v.Percentage < 0 {
			return c.bad("a state of feature %q has a part for option %d, which is not there", s.Feature, v.Option)
		}
		if seen[v.Option] {
			return c.bad("a state of feature %q has two parts for option %d", s.Feature, v.Option)
		}
		seen[v.Option] = true
		total += v.Percentage
	}
	if fsm.MoreThanWhole(total) {
		return c.bad("the variants of feature %q add up to %v percent", s.Feature, total)
	}
	return c.value(s.Feature, s.Value)
}

func (c *checker) identities(list []Identity) error {
	seen := map[string]bool{}
	for i := range list {
		id := &list[i]
		if id.Identifier == "" || utf8.RuneCountInString(id.Identifier) > maxIdentifier || seen[id.Identifier] {
			return c.bad("identity %q has no identifier, too long a one, or is there twice", id.Identifier)
		}
		seen[id.Identifier] = true
		for k, v := range id.Traits {
			if k == "" || utf8.RuneCountInString(k) > maxTraitKey {
				return c.bad("identity %q has a trait whose key is empty or too long", id.Identifier)
			}
			if _, err := canonical(v); err != nil {
				return c.bad("trait %q of identity %q: %v", k, id.Identifier, err)
			}
		}
		where := *c
		where.where = fmt.Sprintf("%s, identity %q", c.where, id.Identifier)
		if err := where.states(id.Overrides); err != nil {
			return err
		}
	}
	return nil
}

// canonical is a trait's value as it is stored.
func canonical(v Trait) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return identity.CanonicalValue(raw)
}
