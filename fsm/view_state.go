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

// serve returns the served form of a row, the previous one if nothing it is made
// of changed; nil when its feature is gone.
func (c *viewCompiler) serve(row *FeatureState, segment *FeatureSegment) *ServedState {
	if c.feature == nil || c.feature.ID != row.Feature {
		if c.feature = Features.Ref(c.State, row.Feature); c.feature == nil {
			return nil
		}
	}
	hidden := c.Environment.HideSensitiveData
	s := c.previous.states[row.ID]
	if s == nil || s.State != row || s.Feature != c.feature || s.Segment != segment ||
		s.hidden != hidden || !s.sameOptions(c.State) {
		s = newServedState(c.State, row, c.feature, segment, hidden)
	}
	c.states[row.ID] = s
	return s
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

// serveOverride serves a segment override and files it under its segment.
func (c *viewCompiler) serveOverride(row *FeatureState) *ServedState {
	link := c.links[row.FeatureSegment]
	if link == nil {
		return nil
	}
	g := c.segments[link.Segment]
	if g == nil {
		segment := Segments.Ref(c.State, link.Segment)
		if segment == nil {
			return nil
		}
		g = newServedSegment(segment, c.previous.segments[segment.ID])
		c.segments[segment.ID] = g
	}
	s := c.serve(row, link)
	if s != nil {
		g.overrides = append(g.overrides, s)
	}
	return s
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

// IdentityOverrides returns the override rows of an identity, by feature. It does
// not allocate when there are none.
func (v *View) IdentityOverrides(identity uint64) []*FeatureState {
	if identity == 0 || !v.HasIdentityOverrides || !v.mayOverride(identity) {
		return nil
	}
	var rows []*FeatureState
	for row := range FeatureStatesByIdentity.Refs(v.State, identity) {
		if row.Environment == v.Environment.ID {
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
