package eval

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompileReusesWhatIsUnchanged(t *testing.T) {
	multivariate := &FeatureContext{Name: "f", Variants: []Variant{{Weight: Int(100)}}}
	a, b := override("a", Int(1)), override("b", Int(2))
	a.Rules = rulesOf(All, on(Equal, "x"))
	first := Compile(&Spec{Key: "e", Name: "n", Features: []*FeatureContext{multivariate}, Segments: []*SegmentContext{a, b}}, nil)
	// The same rules with other overrides: a new segment context.
	edited := &SegmentContext{Key: "a", Name: "a", Rules: a.Rules}
	c := override("c", Int(0))
	c.Rules = rulesOf(All, on(Equal, "y"), Condition{Property: "other", Operator: IsSet})
	second := Compile(&Spec{Key: "e", Name: "new", Features: []*FeatureContext{multivariate}, Segments: []*SegmentContext{c, edited, b}}, first)
	require.Same(t, first.segments[0].rules, second.segments[1].rules)
	require.Same(t, first.segments[1].rules, second.segments[2].rules)
	require.Same(t, first.features[0].split, second.features[0].split)
	require.Len(t, first.slots, 2, "an earlier environment never changes")
	require.Len(t, first.texts, 2)

	for _, text := range []string{"x", "y", "z"} {
		matched := func(env *Environment) string {
			var subject Subject
			var ev Evaluation
			subject.Reset(env)
			subject.SetTrait("t", String(text))
			subject.SetTrait("other", Bool(true))
			env.Evaluate(&subject, &ev)
			return fmt.Sprint(ev.AppendMatches(nil), env.Value(0, ev.Outcomes[0]).Text())
		}
		fresh := Compile(&Spec{Key: "e", Name: "new", Features: []*FeatureContext{multivariate}, Segments: []*SegmentContext{c, edited, b}}, nil)
		require.Equal(t, matched(fresh), matched(second), text)
	}
}

// TestCompileTakesOverridesOver changes a default, and then an override: the lists of the others stay, also over two steps.
func TestCompileTakesOverridesOver(t *testing.T) {
	spec := func(value string, segments ...*SegmentContext) *Spec {
		return &Spec{Key: "e", Features: []*FeatureContext{{Name: "f", Value: String(value)}}, Segments: segments}
	}
	a, b := override("a", Int(2)), override("b", Int(1))
	a.Rules, b.Rules = rulesOf(All, on(Equal, "x")), rulesOf(All, on(Equal, "x"))
	b.Overrides[0].Variants = []Variant{{Weight: Int(100), Value: String("of b")}}
	env := Compile(spec("1", a, b), nil)
	value := func() string {
		var subject Subject
		var ev Evaluation
		subject.Reset(env)
		subject.SetIdentity("i", "i")
		subject.SetTrait("t", String("x"))
		env.Evaluate(&subject, &ev)
		return fmt.Sprint(env.Overrides(0)[0].Context.Priority, env.Value(0, ev.Outcomes[0]).Text())
	}
	want, list, split := value(), &env.Overrides(0)[0], env.features[0].splits[0]
	for step := range 2 {
		env = Compile(spec(fmt.Sprint(step), a, b), env)
		require.Same(t, list, &env.Overrides(0)[0])
		require.Equal(t, want, value())
		require.Equal(t, fmt.Sprint(step), env.features[0].context.Value.Text())
	}
	env = Compile(spec("1", &SegmentContext{Key: "a", Rules: a.Rules, Overrides: []*FeatureContext{{Name: "f", Priority: Int(3)}}}, b), env)
	require.NotSame(t, list, &env.Overrides(0)[0])
	require.Same(t, split, env.features[0].splits[0])
	require.Equal(t, want, value())
}

// TestCompileForgets checks that a long lineage does not collect names.
func TestCompileForgets(t *testing.T) {
	var env *Environment
	for i := range 2000 {
		env = Compile(&Spec{Segments: []*SegmentContext{{Rules: rulesOf(All,
			Condition{Property: fmt.Sprint("trait", i), Operator: Equal, Value: fmt.Sprint("value", i)})}}}, env)
	}
	require.Less(t, len(env.slots), 2*slack)
	require.Less(t, len(env.cache.rules), 2)
}

func TestSubject(t *testing.T) {
	env := Compile(&Spec{Key: "e", Name: "n",
		Features: []*FeatureContext{{Name: "f"}, {Name: "g"}},
		Segments: []*SegmentContext{{Name: "s", Rules: rulesOf(All, on(Equal, "x")), Overrides: []*FeatureContext{{Name: "g"}}},
			{Name: "q", Rules: rulesOf(All, Condition{Property: "$.identity.traits[?@ == 'x']", Operator: IsSet})}}}, nil)
	var s Subject
	var ev Evaluation
	matched := func() []int {
		env.Evaluate(&s, &ev)
		return ev.AppendMatches(nil)
	}
	s.Reset(env)
	s.SetIdentity("u", "")
	require.Equal(t, "e_u", s.IdentityKey())
	require.Empty(t, matched())
	s.SetTrait("t", String("y"))
	s.SetTrait("t", String("x"))
	require.Equal(t, []int{0, 1}, matched())
	require.Equal(t, Outcome{0, NoVariant}, ev.Outcomes[1])
	require.Equal(t, Outcome{NoOverride, NoVariant}, ev.Outcomes[0])
	require.Equal(t, ev.Outcomes[1], env.EvaluateFeature(&s, &ev, 1))
	s.RemoveTrait("t")
	require.Empty(t, matched())
	s.SetTrait("t", String("x"))
	s.SetTrait("t", Null())
	require.Empty(t, matched())
	s.SetTrait("unused", String("x"))
	require.Equal(t, []int{1}, matched())
	s.Reset(env)
	require.Empty(t, matched(), "Reset forgets")
	require.Panics(t, func() { Compile(&Spec{}, nil).Evaluate(&s, &ev) })
	i, ok := env.FeatureIndex("g")
	require.True(t, ok)
	require.Equal(t, 1, i)
}
