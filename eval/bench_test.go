package eval

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// traitProfile is 50 features and 15 segments with 50 overrides and 15 EQUAL
// conditions each. The first failing condition of each segment is at index
// failAt; 15 means that all segments match.
func traitProfile(failAt int) (*Environment, []Trait) {
	spec := &Spec{Key: "key", Name: "bench"}
	for i := range 50 {
		spec.Features = append(spec.Features, &FeatureContext{
			Key: fmt.Sprint(i), Name: fmt.Sprintf("feature_%d", i), Value: String("value")})
	}
	var traits []Trait
	for i := range 15 {
		traits = append(traits, Trait{fmt.Sprintf("trait_name_%d", i), String(fmt.Sprintf("trait value %d", i))})
	}
	for i := range 15 {
		segment := &SegmentContext{Key: fmt.Sprint(i), Name: fmt.Sprintf("segment_%d", i)}
		rule := SegmentRule{Type: All}
		for j, trait := range traits {
			value, _ := trait.Value.AsString()
			if j == failAt {
				value = "trait value x"
			}
			rule.Conditions = append(rule.Conditions, Condition{Property: trait.Name, Operator: Equal, Value: value})
		}
		segment.Rules = []SegmentRule{{Type: All, Rules: []SegmentRule{rule}}}
		for j := range 50 {
			segment.Overrides = append(segment.Overrides, &FeatureContext{
				Key: fmt.Sprint(100*i + j), Name: fmt.Sprintf("feature_%d", j),
				Value: String("override"), Priority: Int(int64(i))})
		}
		spec.Segments = append(spec.Segments, segment)
	}
	return Compile(spec, nil), traits
}

// hashProfile is 50 multivariate features and 15 percentage segments.
func hashProfile() (*Environment, []Trait) {
	spec := &Spec{Key: "key", Name: "bench"}
	for i := range 50 {
		spec.Features = append(spec.Features, &FeatureContext{
			Key: fmt.Sprint(1000 + i), Name: fmt.Sprintf("feature_%d", i), Value: String("control"),
			Variants: []Variant{
				{Value: String("a"), Weight: Int(30), Priority: Int(1)},
				{Value: String("b"), Weight: Int(30), Priority: Int(2)},
			}})
	}
	for i := range 15 {
		spec.Segments = append(spec.Segments, &SegmentContext{Key: fmt.Sprint(i), Name: fmt.Sprint(i),
			Rules: []SegmentRule{{Type: All, Conditions: []Condition{{Operator: PercentageSplit, Value: "50"}}}}})
	}
	return Compile(spec, nil), nil
}

func fill(s *Subject, env *Environment, traits []Trait) {
	s.Reset(env)
	s.SetIdentity("identity-0000001@example.com", "")
	for _, t := range traits {
		s.SetTrait(t.Name, t.Value)
	}
}

func benchmark(b *testing.B, env *Environment, traits []Trait) {
	b.Run("evaluate", func(b *testing.B) {
		var s Subject
		var ev Evaluation
		fill(&s, env, traits)
		b.ReportAllocs()
		for b.Loop() {
			env.Evaluate(&s, &ev)
		}
	})
	b.Run("fill and evaluate", func(b *testing.B) {
		var s Subject
		var ev Evaluation
		b.ReportAllocs()
		for b.Loop() {
			fill(&s, env, traits)
			env.Evaluate(&s, &ev)
		}
	})
}

func BenchmarkTraits(b *testing.B) {
	for name, failAt := range map[string]int{"all match": 15, "last fails": 14, "first fails": 0} {
		env, traits := traitProfile(failAt)
		b.Run(name, func(b *testing.B) { benchmark(b, env, traits) })
	}
}

func BenchmarkHashes(b *testing.B) {
	env, traits := hashProfile()
	benchmark(b, env, traits)
}

func BenchmarkPercentage(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Percentage("12345", "n9fbf9h3v4fFgH3U3ngWhb_identity")
	}
}

func BenchmarkCompile(b *testing.B) {
	env, _ := traitProfile(15)
	spec := &Spec{Key: env.key, Name: env.name}
	for i := range env.features {
		spec.Features = append(spec.Features, env.features[i].context)
	}
	for _, g := range env.segments {
		spec.Segments = append(spec.Segments, g.context)
	}
	for name, prev := range map[string]*Environment{"new": nil, "reused": env} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Compile(spec, prev)
			}
		})
	}
}

// BenchmarkContext goes from a context to its result, with one of the segments matching.
func BenchmarkContext(b *testing.B) {
	env, traits := traitProfile(15)
	c := &Context{Environment: EnvironmentContext{Key: "key", Name: "bench"}, Identity: &IdentityContext{Identifier: "i", Traits: traits}}
	for i := range env.features {
		c.Features = append(c.Features, env.features[i].context)
	}
	for i, g := range env.segments {
		segment := *g.context
		if i > 0 { // the others ask for what nobody has
			rule := segment.Rules[0].Rules[0]
			rule.Conditions = append([]Condition{{Property: "nobody", Operator: Equal, Value: "x"}}, rule.Conditions...)
			segment.Rules = []SegmentRule{{Type: All, Rules: []SegmentRule{rule}}}
		}
		c.Segments = append(c.Segments, &segment)
	}
	b.Run("untraced", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Evaluate(c)
		}
	})
	b.Run("traced", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			EvaluateTraced(c, &Trace{})
		}
	})
}

func TestEvaluationDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget on purpose")
	}
	check := func(env *Environment, traits []Trait) {
		var s Subject
		var ev Evaluation
		fill(&s, env, traits)
		env.Evaluate(&s, &ev)
		require.Zero(t, testing.AllocsPerRun(100, func() {
			fill(&s, env, traits)
			env.Evaluate(&s, &ev)
			env.EvaluateFeature(&s, &ev, 0)
		}))
	}
	env, traits := traitProfile(15)
	check(env, traits)
	env, traits = hashProfile()
	check(env, traits)
	// Every operator, over each kind of value.
	segment := &SegmentContext{Key: "1", Name: "s"}
	for _, property := range []string{"t", "$.identity.identifier", "$.identity.key", "$.environment.name", "$.identity.traits.t", ""} {
		for _, operator := range operators {
			for _, value := range []string{"1.2.3:semver", "5", "5|0", `["a","5"]`, "1.5"} {
				segment.Rules = append(segment.Rules, SegmentRule{Type: Any, Conditions: []Condition{
					{Property: property, Operator: operator, Value: value}, {Property: "t", Operator: IsSet}}})
			}
		}
	}
	env = Compile(&Spec{Features: []*FeatureContext{{Name: "f"}}, Segments: []*SegmentContext{segment}}, nil)
	for _, literal := range []string{`"a"`, `"1.2.3"`, `5`, `5.5`, `true`, `"12345678901234567890123"`} {
		v, err := ParseLiteral([]byte(literal))
		require.NoError(t, err)
		check(env, []Trait{{"t", v}})
		data := []byte(literal)
		require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = ParseLiteral(data) }), literal)
	}
	f := &FeatureContext{Key: "1", Variants: []Variant{{Weight: Float(33.3), Priority: Int(2)}, {Weight: Int(10), Priority: Int(1)}}}
	require.Zero(t, testing.AllocsPerRun(100, func() { SelectVariant(f, "identity") }))
	require.Zero(t, testing.AllocsPerRun(100, func() { Percentage("12345", []byte("identity")) }))
}

var operators = []string{Equal, NotEqual, GreaterThan, GreaterThanInclusive, LessThan, LessThanInclusive,
	Contains, NotContains, Regex, PercentageSplit, Modulo, IsSet, IsNotSet, In, "UNKNOWN"}
