package fsm

import (
	"strings"

	"github.com/google/uuid"
)

// FeatureType tells whether a feature has multivariate options.
type FeatureType string

// The two kinds of feature.
const (
	Standard     FeatureType = "STANDARD"
	Multivariate FeatureType = "MULTIVARIATE"
)

// Feature is a flag of a project; its states are per environment.
type Feature struct {
	ID              uint64      `cbor:"1,keyasint"`
	UUID            uuid.UUID   `cbor:"2,keyasint"`
	Name            string      `cbor:"3,keyasint"`
	Project         uint64      `cbor:"4,keyasint"`
	Type            FeatureType `cbor:"5,keyasint"`
	CreatedDate     Time        `cbor:"6,keyasint"`
	DefaultEnabled  bool        `cbor:"7,keyasint,omitempty"`
	InitialValue    *string     `cbor:"8,keyasint,omitempty"`
	Description     *string     `cbor:"9,keyasint,omitempty"`
	IsArchived      bool        `cbor:"10,keyasint,omitempty"`
	IsServerKeyOnly bool        `cbor:"11,keyasint,omitempty"`
	Tags            []uint64    `cbor:"12,keyasint,omitempty"`
	Owners          []uint64    `cbor:"13,keyasint,omitempty"` // users
	GroupOwners     []uint64    `cbor:"14,keyasint,omitempty"` // groups
}

// Features is the table of features.
var (
	Features = newTable(13, "Feature", func(f *Feature) *uint64 { return &f.ID },
		func(r Reader, f *Feature, t *Touched) { t.project(r, f.Project) })
	FeaturesByProject = Features.index("project", func(f *Feature, k Key) (Key, bool) { return k.Uint(f.Project), true })
	FeaturesByName    = Features.index("name", func(f *Feature, k Key) (Key, bool) { // names are unique ignoring case
		return k.Uint(f.Project).String(strings.ToLower(f.Name)), true
	})
	FeaturesByUUID = Features.index("uuid", func(f *Feature, k Key) (Key, bool) { return k.UUID(f.UUID), true })
)

// MultivariateOption is one possible value of a multivariate feature.
type MultivariateOption struct {
	ID                          uint64       `cbor:"1,keyasint"`
	UUID                        uuid.UUID    `cbor:"2,keyasint"`
	Feature                     uint64       `cbor:"3,keyasint"`
	Value                       FeatureValue `cbor:"4,keyasint"`
	DefaultPercentageAllocation float64      `cbor:"5,keyasint"`
	Key                         *string      `cbor:"6,keyasint,omitempty"`
}

// MultivariateOptions is the table of multivariate options.
var (
	MultivariateOptions = newTable(14, "MultivariateFeatureOption", func(o *MultivariateOption) *uint64 { return &o.ID },
		func(r Reader, o *MultivariateOption, t *Touched) {
			if f := Features.Ref(r, o.Feature); f != nil {
				t.project(r, f.Project)
			}
		})
	MultivariateOptionsByFeature = MultivariateOptions.index("feature", func(o *MultivariateOption, k Key) (Key, bool) { return k.Uint(o.Feature), true })
	MultivariateOptionsByUUID    = MultivariateOptions.index("uuid", func(o *MultivariateOption, k Key) (Key, bool) { return k.UUID(o.UUID), true })
)

// ValueType names the column a value is read from, in Flagsmith's words.
type ValueType string

// The value types; text is "unicode" for historical reasons.
const (
	Unicode ValueType = "unicode"
	Int     ValueType = "int"
	Bool    ValueType = "bool"
)

// FeatureValue is a typed value. Changing the type keeps what the other columns
// hold, as the typed endpoints show.
type FeatureValue struct {
	Type    ValueType `cbor:"1,keyasint"`
	String  *string   `cbor:"2,keyasint,omitempty"`
	Integer *int64    `cbor:"3,keyasint,omitempty"`
	Boolean *bool     `cbor:"4,keyasint,omitempty"`
}

// IsNull reports whether the value of the current type is null.
func (v FeatureValue) IsNull() bool {
	switch v.Type {
	case Int:
		return v.Integer == nil
	case Bool:
		return v.Boolean == nil
	default:
		return v.String == nil
	}
}

// SameValue reports whether both show the same value to a reader.
func (v FeatureValue) SameValue(o FeatureValue) bool {
	if v.IsNull() || o.IsNull() {
		return v.IsNull() && o.IsNull()
	}
	if v.Type != o.Type {
		return false
	}
	switch v.Type {
	case Int:
		return *v.Integer == *o.Integer
	case Bool:
		return *v.Boolean == *o.Boolean
	default:
		return *v.String == *o.String
	}
}
