package eval

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomRules are rules over a few traits and texts, so that many match; one trait has many texts.
func randomRules(r *rand.Rand, depth int) []SegmentRule {
	rules := make([]SegmentRule, r.IntN(3))
	if depth == 0 {
		rules = make([]SegmentRule, 1+r.IntN(2))
	}
	for i := range rules {
		rules[i].Type = []string{All, All, Any, Any, None, "?"}[r.IntN(6)]
		for range r.IntN(4) {
			trait := r.IntN(4)
			value := []string{"a", "ab", "c", "1", ""}[r.IntN(5)]
			if trait == 3 && r.IntN(2) == 0 {
				value = fmt.Sprint("x", r.IntN(2*maxFew))
			}
			rules[i].Conditions = append(rules[i].Conditions, Condition{
				Property: fmt.Sprint("t", trait),
				Operator: []string{Equal, Equal, Equal, Equal, NotEqual, IsNotSet}[r.IntN(6)],
				Value:    value,
			})
		}
		if depth < 2 {
			rules[i].Rules = randomRules(r, depth+1)
		}
	}
	return rules
}

// TestGuards compares what is decided with the guards, and one search for all features of a
// precedence, with looking at every segment and every override.
func TestGuards(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var env *Environment
	var s Subject
	var ev Evaluation
	matches, skipped := 0, 0
	spec := &Spec{Key: "e"}
	for i := range 150 {
		spec.Features = append(spec.Features, &FeatureContext{Name: fmt.Sprint("f", i)})
	}
	for range 40 {
		spec.Segments = nil
		for range 1 + r.IntN(150) {
			segment := &SegmentContext{Rules: randomRules(r, 0)}
			for range r.IntN(4) {
				segment.Overrides = append(segment.Overrides, &FeatureContext{Name: fmt.Sprint("f", r.IntN(100)), Priority: Int(int64(r.IntN(3)))})
			}
			spec.Segments = append(spec.Segments, segment)
		}
		env = Compile(spec, env)
		for range 50 {
			s.Reset(env)
			for i := range 4 {
				s.SetTrait(fmt.Sprint("t", i), []Value{Null(), String("a"), String("ab"), String("az"), String(""), Int(1), Bool(true), String(fmt.Sprint("x", r.IntN(2*maxFew)))}[r.IntN(8)])
			}
			all := Evaluation{Trace: &Trace{}}
			env.Evaluate(&s, &all)
			env.Evaluate(&s, &ev)
			require.Equal(t, all.AppendMatches(nil), ev.AppendMatches(nil))
			require.Equal(t, all.Outcomes, ev.Outcomes)
			outcomes := append([]Outcome(nil), ev.Outcomes...)
			for i := range spec.Segments {
				if all.Matches(i) {
					matches++
				} else if ev.candidates[i>>6]&(1<<(i&63)) == 0 {
					skipped++
				}
			}
			for i := range spec.Features {
				want := int32(NoOverride)
				for j, override := range env.Overrides(i) {
					if all.Matches(override.Segment) {
						want = int32(j)
						break
					}
				}
				require.Equal(t, want, outcomes[i].Override)
				require.Equal(t, outcomes[i], env.EvaluateFeature(&s, &ev, i))
			}
		}
	}
	require.Greater(t, matches, 10_000)
	require.Greater(t, skipped, 10_000)
}

// TestGuardOf shows what a segment needs of a subject.
func TestGuardOf(t *testing.T) {
	is := func(property, value string) Condition {
		return Condition{Property: property, Operator: Equal, Value: value}
	}
	other := Condition{Property: "n", Operator: GreaterThan, Value: "5"}
	rule := func(kind string, parts ...any) SegmentRule {
		r := SegmentRule{Type: kind}
		for _, part := range parts {
			switch part := part.(type) {
			case Condition:
				r.Conditions = append(r.Conditions, part)
			case SegmentRule:
				r.Rules = append(r.Rules, part)
			}
		}
		return r
	}
	for _, test := range []struct {
		name         string
		guard, needs int
		more         bool
		rules        []SegmentRule
	}{
		{"every condition is needed: one is enough", 1, 2, true, []SegmentRule{rule(All, other, is("a", "1x"), is("b", "x"))}},
		{"one of several texts", 2, 0, true, []SegmentRule{rule(Any, is("a", "x"), is("b", "x"))}},
		{"one of several conditions", 0, 0, true, []SegmentRule{rule(Any, is("a", "x"), other)}},
		{"what must not be", 0, 0, true, []SegmentRule{rule(None, is("a", "x"))}},
		{"what must not be, below", 0, 0, true, []SegmentRule{rule(None, rule(All, is("a", "x")))}},
		{"the smaller of two", 1, 1, true, []SegmentRule{rule(Any, is("a", "x"), is("a", "y")), rule(All, is("b", "x"))}},
		{"below", 1, 1, true, []SegmentRule{rule(All, rule(None, is("a", "x")), rule(Any, is("b", "x")))}},
		{"below, any of them", 2, 0, true, []SegmentRule{rule(Any, rule(All, is("a", "x"), other), rule(Any, is("b", "x")))}},
		{"below, any of them, one unguarded", 0, 0, true, []SegmentRule{rule(Any, rule(All, is("a", "x")), rule(All, other))}},
		{"conditions beside rules", 1, 1, true, []SegmentRule{rule(Any, is("a", "x"), rule(Any, other))}},
		{"an empty text is equal to what is absent by number", 0, 0, true, []SegmentRule{rule(All, is("a", ""))}},
		{"nothing", 0, 0, true, nil},
		{"texts alone", 1, 2, false, []SegmentRule{rule(All, is("a", "x"), is("b", "x"))}},
		{"texts alone, below, and one of one", 1, 3, false, []SegmentRule{rule(All, rule(Any, is("a", "x")), rule(All, is("b", "x"))), rule(Any, rule(All, is("c", "x")))}},
		{"a rule of no kind", 1, 1, true, []SegmentRule{rule(All, is("a", "x"), rule("?"))}},
	} {
		env := Compile(&Spec{Segments: []*SegmentContext{{Rules: test.rules}}}, nil)
		set := env.segments[0].rules
		require.Len(t, set.guard, test.guard, test.name)
		require.Len(t, set.needs.texts, test.needs, test.name)
		require.Equal(t, test.more, set.needs.more, test.name)
	}
}
