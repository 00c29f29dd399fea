package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// holdsFor evaluates one condition, written as in a context, for one trait t.
func holdsFor(t *testing.T, trait, property, operator, value string) bool {
	t.Helper()
	context, err := DecodeContext(fmt.Appendf(nil, `{"environment":{"key":"e","name":"n"},
		"identity":{"identifier":"u","traits":{"t":%s}},
		"segments":{"x":{"key":"1","name":"s","rules":[{"type":"ALL","conditions":[
			{"property":%q,"operator":%q,"value":%s}]}]}}}`, trait, property, operator, value))
	require.NoError(t, err)
	return len(Evaluate(context).Segments) == 1
}

// matchSegment tells whether one segment matches; identity may be nil.
func matchSegment(segment *SegmentContext, environment EnvironmentContext, identity *IdentityContext) bool {
	result := Evaluate(&Context{Environment: environment, Identity: identity, Segments: []*SegmentContext{segment}})
	return len(result.Segments) == 1
}

// TestConditions has the reference's answer where engines are known to differ
// and for what engine-test-data does not pin.
func TestConditions(t *testing.T) {
	for _, test := range []struct {
		trait, operator, value string
		want                   bool
	}{
		// Comparisons are typed by the context value.
		{`5`, Equal, `"5.0"`, false},
		{`5`, GreaterThan, `"4.5"`, false},
		{`5`, LessThan, `"5.5"`, false},
		{`5`, NotEqual, `"five"`, false},
		{`5.0`, NotEqual, `"five"`, false},
		{`5.0`, Equal, `"5"`, true},
		{`5`, LessThan, `"abc"`, false},
		{`"10"`, LessThan, `"9a"`, false},
		{`5`, Equal, `" 5 "`, true},
		{`1000`, Equal, `"1_000"`, true},
		{`1000`, Equal, `"1__000"`, false},
		{`1000`, Equal, `"_1000"`, false},
		{`1000`, Equal, `"1000_"`, false},
		{`5`, Equal, `"٥"`, true},
		{`5`, Equal, `"+5"`, true},
		{`5`, Equal, `"- 5"`, false},
		{`5`, Equal, `"\u001c5"`, false},
		{`5.0`, Equal, `"5\u001f"`, false},
		{`5`, Equal, `"\u00a05\u2003"`, true},
		{`1.5`, LessThan, `" Infinity "`, true},
		{`1.5`, NotEqual, `"nan"`, true},
		{`1.5`, Equal, `"nan"`, false},
		{`1.5`, Equal, `"0x1.8p0"`, false},
		{`1.5`, Equal, `"15e-1"`, true},
		{`1`, GreaterThan, `"0"`, true},
		{`0`, LessThan, `"1"`, true},
		{`1`, GreaterThanInclusive, `"1"`, true},
		{`1`, Equal, `"true"`, false},
		{`"True"`, Equal, `"true"`, false},
		{`true`, Equal, `"0"`, true},
		{`true`, Equal, `"yes"`, true},
		{`true`, Equal, `""`, true},
		{`false`, Equal, `"FALSE"`, false},
		{`false`, Equal, `"0"`, false},
		{`true`, GreaterThan, `"false"`, true},
		{`true`, GreaterThanInclusive, `"true"`, true},
		{`false`, LessThanInclusive, `"False"`, true},
		{`true`, Equal, `"1.0.0:semver"`, true},
		{`5`, Equal, `"5:semver"`, false},
		// Texts that look like numbers are numbers.
		{`"1"`, Equal, `"1.0"`, false},
		{`"1.0"`, Equal, `"1"`, true},
		{`"007"`, Equal, `"7"`, true},
		{`"-0"`, Equal, `"0"`, true},
		{`"10"`, GreaterThan, `"9"`, true},
		{`"5."`, Equal, `"5.0"`, false},
		{`".5"`, Equal, `"0.5"`, false},
		{`"+5"`, Equal, `"5"`, false},
		{`"1e3"`, Equal, `"1000"`, false},
		{`"5\n"`, Equal, `"5"`, false},
		{`"٥"`, Equal, `"5"`, false},
		{`9223372036854775808`, GreaterThan, `"9223372036854775807"`, true},
		{`"9223372036854775808"`, Equal, `"9223372036854775809"`, false},
		{`9007199254740993`, Equal, `"9007199254740992"`, false},
		{`-9223372036854775809`, LessThan, `"-9223372036854775808"`, true},
		{`-99999999999999999999`, GreaterThan, `"-100000000000000000000"`, true},
		{`5`, LessThan, `"100000000000000000000"`, true},
		{`"\uD83D\uDE00"`, GreaterThan, `"\uFFFF"`, true},
		// Semantic versions.
		{`"1.2.3"`, Equal, `"1.2.3+build:semver"`, true},
		{`"v1.2.3"`, Equal, `"1.2.3:semver"`, false},
		{`"v1.2.3"`, NotEqual, `"1.2.3:semver"`, false},
		{`"1.2"`, LessThan, `"1.2.0:semver"`, false},
		{`"1.2.3"`, NotEqual, `"x:semver"`, false},
		{`"1.2.3-9"`, LessThan, `"1.2.3-10:semver"`, true},
		{`"1.2.3-10"`, LessThan, `"1.2.3-a:semver"`, true},
		{`"1.2.3-a"`, LessThan, `"1.2.3-a.0:semver"`, true},
		{`"1.2.99999999999999999999"`, GreaterThan, `"1.2.9:semver"`, true},
		{`"01.2.3"`, Equal, `"1.2.3:semver"`, false},
		{`"1.2.3:SEMVER"`, Equal, `"1.2.3:SEMVER"`, true},
		// CONTAINS is for strings.
		{`"foobar"`, Contains, `"oba"`, true},
		{`"foobar"`, NotContains, `"oba"`, false},
		{`"foobar"`, NotContains, `"x"`, true},
		{`"foobar"`, Contains, `""`, true},
		{`"foobar"`, NotContains, `""`, false},
		{`"12345"`, Contains, `"3"`, false},
		{`"12345"`, NotContains, `"9"`, false},
		{`12345`, NotContains, `"9"`, false},
		{`true`, Contains, `"T"`, false},
		// REGEX matches from the start.
		{`"foobar"`, Regex, `"bar"`, false},
		{`"foobar"`, Regex, `"foo"`, true},
		{`"bar"`, Regex, `"foo|bar$"`, true},
		{`"a\n"`, Regex, `"a$"`, true},
		{`"a\nb"`, Regex, `"a$"`, false},
		{`true`, Regex, `"True$"`, true},
		{`12.0`, Regex, `"12\\.0$"`, true},
		{`"007"`, Regex, `"7$"`, true},
		{`1e16`, Regex, `"1e\\+16$"`, true},
		{`0.00001`, Regex, `"1e-05$"`, true},
		{`"x"`, Regex, `"("`, false},
		{`"x"`, Regex, `""`, true},
		{`"X"`, Regex, `"(?i)x(?P<n>)"`, true},
		{`"x"`, Regex, `"x(?=y)"`, false},
		// MODULO is floored.
		{`-7`, Modulo, `"3|2"`, true},
		{`7`, Modulo, `"-3|-2"`, true},
		{`4`, Modulo, `"2 | 0"`, true},
		{`4`, Modulo, `"0|0"`, false},
		{`true`, Modulo, `"2|1"`, true},
		{`"4"`, Modulo, `"2|0"`, true},
		{`5.5`, Modulo, `"2.5|0.5"`, true},
		{`4`, Modulo, `"2|0|0"`, false},
		{`"x"`, Modulo, `"2|0"`, false},
		// IN.
		{`1.5`, In, `"1.5"`, false},
		{`"1.5"`, In, `"1.5"`, false},
		{`"007"`, In, `"007"`, false},
		{`"007"`, In, `"7"`, true},
		{`1`, In, `"[1,2]"`, true},
		{`1`, In, `[1,2]`, true},
		{`"True"`, In, `"[true]"`, true},
		{`true`, In, `"[true]"`, false},
		{`true`, In, `"true,True"`, false},
		{`"None"`, In, `[null]`, true},
		{`" [\"a\"]"`, In, `" [\"a\"]"`, true},
		{`"a"`, In, `" [\"a\"]"`, false},
		{`"a"`, In, `"[\"a\"] "`, true},
		{`"[\"a\"] x"`, In, `"[\"a\"] x"`, true},
		{`"b"`, In, `"a, b"`, false},
		{`9223372036854775808`, In, `"9223372036854775808"`, true},
		{`""`, In, `""`, true},
		{`"a"`, In, `[]`, false},
		{`"['a', 1]"`, In, `[["a",1]]`, true},
		// Presence.
		{`""`, IsSet, `""`, true},
		{`false`, IsSet, `null`, true},
		{`0`, IsNotSet, `""`, false},
		{`null`, IsSet, `""`, false},
		{`null`, IsNotSet, `""`, true},
		{`null`, NotEqual, `"x"`, false},
		{`null`, NotContains, `"x"`, false},
		{`null`, PercentageSplit, `"100"`, false},
		// PERCENTAGE_SPLIT by trait.
		{`"x"`, PercentageSplit, `" 100 "`, true},
		{`"x"`, PercentageSplit, `"inf"`, true},
		{`"x"`, PercentageSplit, `"nan"`, false},
		{`"x"`, PercentageSplit, `"abc"`, false},
		// Lists and objects are seen as their text.
		{`[1,"a"]`, Equal, `"[1, 'a']"`, true},
		{`{"a":true}`, Contains, `"'a': True"`, true},
		{`[1]`, IsSet, `""`, true},
		{`"x"`, "UNKNOWN", `"x"`, false},
	} {
		require.Equal(t, test.want, holdsFor(t, test.trait, "t", test.operator, test.value),
			"%s %s %s", test.trait, test.operator, test.value)
	}
}

// TestSplitTexts pins the text that is hashed for each kind of value.
func TestSplitTexts(t *testing.T) {
	for trait, text := range map[string]string{
		`true`: "True", `5.0`: "5.0", `"00123"`: "123", `"1.50"`: "1.5", `"x"`: "x", `1e16`: "1e+16",
	} {
		at := Percentage("1", text)
		require.True(t, holdsFor(t, trait, "t", PercentageSplit, fmt.Sprintf(`"%v"`, at)), "inclusive at %s", trait)
		require.False(t, holdsFor(t, trait, "t", PercentageSplit, fmt.Sprintf(`"%v"`, at-0.001)), trait)
	}
}

func TestProperties(t *testing.T) {
	for _, test := range []struct {
		property, value string
		want            bool
	}{
		{"$.environment.name", "trait wins", true},
		{"$.environment.name", "Env", false},
		{"$.environment.key", "ekey", true},
		{"$.environment['key']", "ekey", true},
		{"$.identity.identifier", "7", true}, // "007"
		{"$.identity.key", "ekey_007", true}, // constructed
		{"$.identity.traits.plain", "x", true},
		{"$.identity.traits['a.b']", "dotted", true},
		{"$.identity.traits.list[1]", "two", true},
		{"$.identity.traits.list", "[1, 'two']", false},
		{"list", "[1, 'two']", true},
		{"$.identity", "x", false},
		{"$.identity.traits[?@ == 'dotted']", "dotted", true},
		{"$.segments.*.name", "s", true},
		{"$.features.f.variants[-1].weight", "33.3", true},
		{"$..weight", "33.3", true},
		{"$.extra.deep", "seen", true},
		{"$.bad[", "literal", true},
		{"$['plain']", "bracket", true},
		{"$", "dollar", true},
		{"", "empty", true},
		{"a.b", "dotted", true},
		{"identity.identifier", "7", false},
		{"$.identity.traits.null", "x", false},
	} {
		context, err := DecodeContext(fmt.Appendf(nil, `{"environment":{"key":"ekey","name":"Env"},"extra":{"deep":"seen"},
			"identity":{"identifier":"007","traits":{"$.environment.name":"trait wins","plain":"x","a.b":"dotted","list":[1,"two"],
				"$.bad[":"literal","$['plain']":"bracket","$":"dollar","":"empty","$.environment.key":null,"null":null}},
			"features":{"f":{"key":"1","name":"f","enabled":true,"value":1,"variants":[{"value":1,"weight":33.3,"priority":1}]}},
			"segments":{"x":{"key":"1","name":"s","rules":[{"type":"ALL","conditions":[{"property":%q,"operator":"EQUAL","value":%q}]}]}}}`,
			test.property, test.value))
		require.NoError(t, err)
		require.Equal(t, test.want, len(Evaluate(context).Segments) == 1, "%s = %s", test.property, test.value)
	}
}

// TestRuleCombinations is the truth table of rules with empty parts.
func TestRuleCombinations(t *testing.T) {
	yes, no := Condition{Property: "t", Operator: IsSet}, Condition{Property: "t", Operator: IsNotSet}
	list := func(c ...Condition) []Condition { return c }
	empty := SegmentRule{Type: Any}
	hit, miss := rulesOf(All, yes)[0], rulesOf(All, no)[0]
	for i, test := range []struct {
		rules []SegmentRule
		want  bool
	}{
		{nil, false},
		{[]SegmentRule{{Type: All}}, true},
		{[]SegmentRule{{Type: Any}}, true},
		{[]SegmentRule{{Type: None}}, true},
		{[]SegmentRule{{Type: "XOR"}}, false},
		{[]SegmentRule{{Type: "XOR", Conditions: list(yes)}}, false},
		{[]SegmentRule{{Type: Any, Conditions: list(yes), Rules: []SegmentRule{miss}}}, false},
		{[]SegmentRule{{Type: Any, Conditions: list(no, yes), Rules: []SegmentRule{miss, hit}}}, true},
		{[]SegmentRule{{Type: None, Rules: []SegmentRule{empty}}}, false},
		{[]SegmentRule{{Type: None, Conditions: list(no)}}, true},
		{[]SegmentRule{{Type: None, Conditions: list(no, yes)}}, false},
		{[]SegmentRule{{Type: None, Rules: []SegmentRule{miss, {Type: "XOR"}}}}, true},
		{[]SegmentRule{{Type: All, Rules: []SegmentRule{{Type: "XOR"}}}}, false},
		{[]SegmentRule{hit, miss}, false},
		{[]SegmentRule{hit, hit}, true},
		{[]SegmentRule{{Type: All, Conditions: list(yes, no)}}, false},
	} {
		segment := &SegmentContext{Rules: test.rules}
		identity := &IdentityContext{Traits: []Trait{{"t", Int(1)}}}
		require.Equal(t, test.want, matchSegment(segment, EnvironmentContext{}, identity), i)
		context := &Context{Identity: identity, Segments: []*SegmentContext{segment}}
		require.Equal(t, test.want, len(EvaluateTraced(context, &Trace{}).Segments) == 1, i)
	}
}

func TestWithoutIdentity(t *testing.T) {
	env := EnvironmentContext{Key: "e", Name: "n"}
	for _, test := range []struct {
		condition Condition
		want      bool
	}{
		{Condition{Property: "t", Operator: IsNotSet}, true},
		{Condition{Property: "$.environment.name", Operator: Equal, Value: "n"}, true},
		{Condition{Property: "$.identity.key", Operator: IsSet}, false},
		{Condition{Property: "", Operator: PercentageSplit, Value: "100"}, false},
	} {
		require.Equal(t, test.want, matchSegment(&SegmentContext{Rules: rulesOf(All, test.condition)}, env, nil), test.condition)
	}
}

func override(segment string, priority Value) *SegmentContext {
	return &SegmentContext{Key: segment, Name: segment, Rules: rulesOf(All), Overrides: []*FeatureContext{
		{Key: "", Name: "f", Value: String(segment), Priority: priority}, {Name: "unknown feature"}}}
}

func TestPrecedence(t *testing.T) {
	big := intFromDigits("18446744073709551616")
	bigger := intFromDigits("18446744073709551617")
	minusInfinity, _ := pyFloat("-inf")
	for name, test := range map[string]struct {
		segments []*SegmentContext
		want     string
	}{
		"lower wins":             {[]*SegmentContext{override("a", Int(2)), override("b", Int(1))}, "b"},
		"first of a tie":         {[]*SegmentContext{override("a", Int(1)), override("b", Int(1))}, "a"},
		"tie of kinds":           {[]*SegmentContext{override("a", Float(1)), override("b", Int(1))}, "a"},
		"absent is last":         {[]*SegmentContext{override("a", Null()), override("b", Int(9))}, "b"},
		"both absent":            {[]*SegmentContext{override("a", Null()), override("b", Null())}, "a"},
		"fractions":              {[]*SegmentContext{override("a", Int(1)), override("b", Float(0.5))}, "b"},
		"negative":               {[]*SegmentContext{override("a", Int(0)), override("b", Int(-1))}, "b"},
		"beyond 64 bits":         {[]*SegmentContext{override("a", bigger), override("b", big)}, "b"},
		"big beside float":       {[]*SegmentContext{override("a", bigger), override("b", Float(18446744073709551616))}, "b"},
		"minus infinity":         {[]*SegmentContext{override("a", Int(-9)), override("b", Float(minusInfinity))}, "b"},
		"not matching is passed": {[]*SegmentContext{{Name: "x", Overrides: override("x", Int(-1)).Overrides}, override("b", Int(1))}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			result := Evaluate(&Context{Features: []*FeatureContext{{Name: "f", Value: String("default"), Priority: Int(-100)}}, Segments: test.segments})
			require.Equal(t, test.want, result.Flags[0].Value.Text())
			require.Equal(t, "TARGETING_MATCH; segment="+test.want, result.Flags[0].Reason)
			require.Len(t, result.Flags, 1)
		})
	}
}

func TestManySegments(t *testing.T) {
	context := &Context{Features: []*FeatureContext{{Name: "f"}}}
	for i := range 200 {
		segment := override(fmt.Sprint(i), Int(int64(300-i)))
		if i > 150 {
			segment.Rules = nil
		}
		context.Segments = append(context.Segments, segment)
	}
	result := Evaluate(context)
	require.Equal(t, "150", result.Flags[0].Value.Text())
	require.Len(t, result.Segments, 151)
	require.Equal(t, "0", result.Segments[0].Name)
}

func TestVariants(t *testing.T) {
	variants := func(weights ...Value) (list []Variant) {
		for i, weight := range weights {
			list = append(list, Variant{Key: fmt.Sprintf("k%d", i), Value: Int(int64(i)), Weight: weight, Priority: Int(int64(i))})
		}
		return list
	}
	for name, test := range map[string]struct {
		feature FeatureContext
		key     string
		want    string // reason and variant
	}{
		"50.0 belongs to the second":    {FeatureContext{Key: "7", Variants: variants(Int(50), Int(50))}, "k47", "SPLIT; weight=50 k1"},
		"weight 0 is never chosen":      {FeatureContext{Key: "10", Variants: variants(Int(0), Int(10))}, "id5365", "SPLIT; weight=10 k1"},
		"all weights 0":                 {FeatureContext{Key: "10", Variants: variants(Int(0), Int(0))}, "id5365", "DEFAULT control"},
		"rehash":                        {FeatureContext{Key: "10", Variants: variants(Float(57.25), Float(0.5))}, "id7364", "SPLIT; weight=0.5 k1"},
		"empty feature key":             {FeatureContext{Key: "", Variants: variants(Int(100))}, "id", "SPLIT; weight=100 k0"},
		"float weight in the reason":    {FeatureContext{Key: "1", Variants: variants(Float(100))}, "id", "SPLIT; weight=100.0 k0"},
		"tiny float weight":             {FeatureContext{Key: "1", Variants: variants(Float(1e-7), Float(100))}, "id", "SPLIT; weight=100.0 k1"},
		"more than 100":                 {FeatureContext{Key: "1", Variants: variants(Int(100), Int(100))}, "id", "SPLIT; weight=100 k0"},
		"stable among equal priorities": {FeatureContext{Key: "1", Variants: []Variant{{Key: "x", Weight: Int(100)}, {Key: "y", Weight: Int(100)}}}, "id", "SPLIT; weight=100 x"},
	} {
		t.Run(name, func(t *testing.T) {
			feature := test.feature
			feature.Name = "f"
			result := Evaluate(&Context{Features: []*FeatureContext{&feature}, Identity: &IdentityContext{Key: test.key}})
			require.Equal(t, test.want, result.Flags[0].Reason+" "+*result.Flags[0].Variant)
			chosen := SelectVariant(&feature, test.key)
			require.True(t, result.Flags[0].Value.Equal(ValueOf(&feature, chosen)))
		})
	}
	big := intFromDigits("340282366920938463463374607431768211455")
	bigger := intFromDigits("340282366920938463463374607431768211456")
	f := &FeatureContext{Key: "1", Variants: []Variant{{Weight: Int(100), Priority: bigger}, {Weight: Int(100), Priority: big}}}
	require.Equal(t, 1, SelectVariant(f, "id"))
	require.Equal(t, NoVariant, SelectVariant(&FeatureContext{}, "id"))
	result := Evaluate(&Context{Features: []*FeatureContext{{Name: "f", Variants: variants(Int(100))}}})
	require.Nil(t, result.Flags[0].Variant, "no identity")
	unkeyed := Evaluate(&Context{Features: []*FeatureContext{{Name: "f", Variants: []Variant{{Weight: Int(100)}}}}, Identity: &IdentityContext{}})
	require.Equal(t, "SPLIT; weight=100", unkeyed.Flags[0].Reason)
	require.Nil(t, unkeyed.Flags[0].Variant)
}

// TestSettledSplits: what is said to need no hash is what every hash gives.
func TestSettledSplits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	settled, always := 0, map[int32]int{}
	for range 3000 {
		f := &FeatureContext{}
		for range 1 + r.IntN(4) {
			f.Variants = append(f.Variants, Variant{Weight: Float([]float64{0, 0, 0, 100, 50, 0.01, 200, -20}[r.IntN(8)]), Priority: Int(int64(r.IntN(3)))})
		}
		s := newSplit(f)
		same := true
		for bucket := range 9998 {
			same = same && s.choose(float64(bucket)/9998*100) == s.choose(0)
		}
		require.Equal(t, same, s.settled, "%v", s.ranges)
		if s.settled {
			require.Equal(t, s.choose(0), s.always)
			settled++
			always[s.always]++
		}
	}
	require.Greater(t, settled, 500)
	require.Less(t, settled, 2500)
	require.Len(t, always, 5) // each variant, and none
}

// TestSettledPercentages: shares of all and of none are the same with a trace, which shows the bucket.
func TestSettledPercentages(t *testing.T) {
	for value, want := range map[string]bool{"100": true, "250.5": true, "99.999": true, "-1": false, "nan": false, "inf": true, "-inf": false} {
		segment := &SegmentContext{Key: "1", Rules: rulesOf(All, Condition{Operator: PercentageSplit, Value: value})}
		env := Compile(&Spec{Segments: []*SegmentContext{segment}}, nil)
		var s Subject
		s.Reset(env)
		s.SetIdentity("u", "")
		traced := Evaluation{Trace: &Trace{}}
		for _, ev := range []*Evaluation{{}, &traced} {
			env.Evaluate(&s, ev)
			require.Equal(t, want, ev.Matches(0), value)
		}
		require.Equal(t, Percentage("1", s.IdentityKey()), *traced.Trace.Segments[0].Rules[0].Conditions[0].Percentage, value)
		s.Reset(env)
		env.Evaluate(&s, &traced)
		require.False(t, traced.Matches(0), "nobody to be a share of")
	}
}

// TestBlankSplitHashesTheKeyAsItIs: not coerced, and constructed when not given.
func TestBlankSplitHashesTheKeyAsItIs(t *testing.T) {
	for _, identity := range []*IdentityContext{{Key: "007"}, {Identifier: "u"}} {
		key := identity.Key
		if key == "" {
			key = "e_u"
		}
		at := Percentage("1", key)
		for value, want := range map[float64]bool{at: true, at - 0.001: false} {
			segment := &SegmentContext{Key: "1", Rules: rulesOf(All, Condition{Operator: PercentageSplit, Value: fmt.Sprint(value)})}
			require.Equal(t, want, matchSegment(segment, EnvironmentContext{Key: "e"}, identity))
		}
	}
}

func TestResultShape(t *testing.T) {
	context, err := DecodeContext([]byte(`{"environment":{"key":"e","name":"n"},
		"features":{"z":{"key":"1","name":"z","enabled":true,"value":12345678901234567890,"metadata":{}},
			"a":{"key":"2","name":"a","enabled":false,"value":1.0,"metadata":{"id": 1}}},
		"segments":{"9":{"key":"9","name":"dup","rules":[{"type":"NONE"}],"metadata":{"x": [1]}},
			"10":{"key":"10","name":"dup","rules":[{"type":"ALL"}],"metadata":{},
				"overrides":[{"key":"3","name":"a","enabled":true,"value":null}]}}}`))
	require.NoError(t, err)
	require.Equal(t, `{"flags":{"z":{"name":"z","enabled":true,"value":12345678901234567890,"reason":"DEFAULT","variant":null},`+
		`"a":{"name":"a","enabled":true,"value":null,"reason":"TARGETING_MATCH; segment=dup","variant":null}},`+
		`"segments":[{"name":"dup","metadata":{"x":[1]}},{"name":"dup"}]}`, string(Evaluate(context).AppendJSON(nil)))
}

func TestDecodeErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                            "unexpected end of JSON",
		`[]`:                          "not an object",
		`{}`:                          "environment: missing",
		`{"environment":{"key":"e"}}`: "environment.name: missing",
		`{"environment":{"key":"e","name":"n"}} x`:                                                                                             "",
		`{"environment":{"key":"e","name":"n"},"identity":{}}`:                                                                                 "identity.identifier: missing",
		`{"environment":{"key":"e","name":"n"},"features":{"f":{"key":"1","name":"f","enabled":1,"value":1}}}`:                                 "features.f.enabled: not a boolean",
		`{"environment":{"key":"e","name":"n"},"features":{"f":{"key":"1","name":"f","enabled":true,"value":[1]}}}`:                            "features.f.value: not a scalar",
		`{"environment":{"key":"e","name":"n"},"segments":{"s":{"key":"1","name":"f","rules":[{"type":"ALL","conditions":[{"value":"x"}]}]}}}`: "segments.s.rules[0].conditions[0].operator: missing",
		`{"environment":{"key":"e","name":"n"},"segments":{"s":{"key":"1","name":"f","rules":` +
			strings.Repeat(`[{"type":"ALL","rules":`, 80) + `[]` + strings.Repeat(`}]`, 80) + `}}}`: "nested too deeply",
	} {
		_, err := DecodeContext([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}
