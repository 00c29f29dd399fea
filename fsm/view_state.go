package fsm

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/flagraft/flagraft/eval"
)

// ServedState is a feature state as readers get it: its rows, its compiled
// context and what was rendered of it. It is carried from View to View as long
// as its rows are the same.
type ServedState struct {
	State   *FeatureState
	Feature *Feature
	Segment *FeatureSegment // nil unless a segment override
	// Values are the state's multivariate values by ascending id, Options their
	// options, index for index those of Context.Variants.
	Values  []MultivariateValue
	Options []*MultivariateOption
	Context *eval.FeatureContext

	hidden    bool // hide_sensitive_data
	fragments [formats]fragments
}

// serve returns the served form of a row, the one among previous if nothing it is made
// of changed; nil when its feature is gone.
func (c *viewCompiler) serve(row *FeatureState, segment *FeatureSegment, previous map[uint64]*ServedState) *ServedState {
	f := c.featureOf(row)
	if f == nil {
		return nil
	}
	if s := previous[row.ID]; s != nil && s.State == row && s.Segment == segment && c.same(s, f) {
		return s
	}
	return newServedState(c.State, row, f, segment, c.Environment.HideSensitiveData)
}

// featureOf is the feature of a row, nil when it is gone.
func (c *viewCompiler) featureOf(row *FeatureState) *Feature {
	if c.feature == nil || c.feature.ID != row.Feature {
		c.feature = Features.Ref(c.State, row.Feature)
	}
	return c.feature
}

// same reports whether a state of the same rows would be served the same way.
func (c *viewCompiler) same(s *ServedState, f *Feature) bool {
	return s.Feature == f && s.hidden == c.Environment.HideSensitiveData && s.sameOptions(c.State)
}

// sameOptions reports whether the options of the state's values are the rows
// they were: an unchanged row keeps its address.
func (s *ServedState) sameOptions(r Reader) bool {
	if len(s.Values) != len(s.State.Multivariate) {
		return false // some were gone: look again
	}
	for i := range s.Values {
		if MultivariateOptions.Ref(r, s.Values[i].Option) != s.Options[i] {
			return false
		}
	}
	return true
}

// ServeOverride returns the served form of an identity override of this
// environment, made anew; nil when its feature is gone.
func (v *View) ServeOverride(row *FeatureState) *ServedState {
	f := Features.Ref(v.State, row.Feature)
	if f == nil {
		return nil
	}
	return newServedState(v.State, row, f, nil, v.Environment.HideSensitiveData)
}

// InForce reports whether an identity override counts at a time: one that is scheduled waits
// until it is live. Versions do not hold identity overrides, and where they are kept all count.
func (v *View) InForce(row *FeatureState, now Time) bool {
	return row.LiveFrom <= now || v.Environment.UseV2FeatureVersioning
}

// IdentityOverrides returns the override rows of an identity that are in force, by feature.
// It does not allocate when there are none.
func (v *View) IdentityOverrides(identity uint64) []*FeatureState {
	if identity == 0 || !v.HasIdentityOverrides || !v.mayOverride(identity) {
		return nil
	}
	var rows []*FeatureState
	for row := range FeatureStatesByIdentity.Refs(v.State, identity) {
		if row.Environment == v.Environment.ID && v.InForce(row, v.State.Time) {
			rows = append(rows, row)
		}
	}
	return rows
}

// maxOverridden bounds the identities a View lists as having overrides.
const maxOverridden = 20_000

// mayOverride spares identities without overrides the look into the tables.
func (v *View) mayOverride(identity uint64) bool {
	v.overriddenOnce.Do(func() {
		for row := range FeatureStatesByEnvironment.Refs(v.State, v.Environment.ID, StateIdentity) {
			if v.manyOverridden = len(v.overridden) == maxOverridden; v.manyOverridden {
				return
			}
			v.overridden = append(v.overridden, row.Identity)
		}
		slices.Sort(v.overridden)
	})
	if v.manyOverridden {
		return true
	}
	_, found := slices.BinarySearch(v.overridden, identity)
	return found
}

func newServedState(r Reader, row *FeatureState, f *Feature, segment *FeatureSegment, hidden bool) *ServedState {
	s := &ServedState{State: row, Feature: f, Segment: segment, hidden: hidden}
	byID := func(a, b MultivariateValue) int { return cmp.Compare(a.ID, b.ID) }
	for _, value := range slices.SortedFunc(slices.Values(row.Multivariate), byID) {
		if option := MultivariateOptions.Ref(r, value.Option); option != nil {
			s.Values = append(s.Values, value)
			s.Options = append(s.Options, option)
		}
	}
	s.Context = s.context()
	s.prepare()
	return s
}

func (s *ServedState) context() *eval.FeatureContext {
	c := &eval.FeatureContext{
		Key:     strconv.FormatUint(s.State.HashSeed(), 10),
		Name:    s.Feature.Name,
		Enabled: s.State.Enabled,
		Value:   s.State.Value.engine(),
	}
	if s.Segment != nil {
		c.Priority = eval.Int(s.Segment.Priority)
	}
	for i, value := range s.Values {
		variant := eval.Variant{
			Value:    s.Options[i].Value.engine(),
			Weight:   eval.Float(value.Percentage),
			Priority: eval.Int(int64(value.ID)),
		}
		if key := s.Options[i].Key; key != nil {
			variant.Key = *key
		}
		c.Variants = append(c.Variants, variant)
	}
	return c
}

// Value returns what the state serves under a variant choice of package eval.
func (s *ServedState) Value(variant int) FeatureValue {
	if variant < 0 {
		return s.State.Value
	}
	return s.Options[variant].Value
}

func (v FeatureValue) engine() eval.Value {
	switch {
	case v.IsNull():
		return eval.Null()
	case v.Type == Int:
		return eval.Int(*v.Integer)
	case v.Type == Bool:
		return eval.Bool(*v.Boolean)
	default:
		return eval.String(*v.String)
	}
}
