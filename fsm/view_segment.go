package fsm

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/flagraft/flagraft/eval"
)

// servedSegment is a segment with its overrides in one environment. The rules of
// an unchanged row stay the same slice, by which eval knows them again.
type servedSegment struct {
	row       *Segment
	rules     []eval.SegmentRule
	overrides []*ServedState
	context   *eval.SegmentContext
}

func newServedSegment(row *Segment, previous *servedSegment) *servedSegment {
	if previous != nil && previous.row == row {
		return &servedSegment{row: row, rules: previous.rules}
	}
	return &servedSegment{row: row, rules: EngineRules(row.Rules)}
}

func (g *servedSegment) compile() *eval.SegmentContext {
	c := &eval.SegmentContext{
		Key: strconv.FormatUint(g.row.ID, 10), Name: g.row.Name, Rules: g.rules,
		Overrides: make([]*eval.FeatureContext, len(g.overrides)),
	}
	for i, s := range g.overrides {
		c.Overrides[i] = s.Context
	}
	return c
}

// byPriority returns the overrides in the order of the environment document.
func (g *servedSegment) byPriority() []*ServedState {
	return slices.SortedStableFunc(slices.Values(g.overrides), func(a, b *ServedState) int {
		return cmp.Or(cmp.Compare(a.Segment.Priority, b.Segment.Priority), cmp.Compare(a.State.ID, b.State.ID))
	})
}

// EngineRules converts rules of a segment row to those of package eval.
func EngineRules(rows []SegmentRule) []eval.SegmentRule {
	if len(rows) == 0 {
		return nil
	}
	rules := make([]eval.SegmentRule, len(rows))
	for i, row := range rows {
		rules[i] = eval.SegmentRule{Type: row.Type, Rules: EngineRules(row.Rules)}
		for _, c := range row.Conditions {
			rules[i].Conditions = append(rules[i].Conditions, eval.Condition{
				Property: orEmpty(c.Property), Operator: c.Operator, Value: orEmpty(c.Value),
			})
		}
	}
	return rules
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Segments returns an engine over every segment that may match here, overriding
// or not, by ascending id; it has no features. It is compiled on first use.
func (v *View) Segments() *eval.Environment {
	v.matcherOnce.Do(func() {
		spec := &eval.Spec{Key: v.Environment.APIKey, Name: v.Environment.Name}
		for row := range SegmentsByProject.Refs(v.State, v.Project.ID) {
			g := v.overrides.segments[row.ID]
			if g == nil {
				g = newServedSegment(row, nil)
			}
			spec.Segments = append(spec.Segments, &eval.SegmentContext{
				Key: strconv.FormatUint(row.ID, 10), Name: row.Name, Rules: g.rules,
			})
		}
		v.matcher = eval.Compile(spec, nil)
	})
	return v.matcher
}
