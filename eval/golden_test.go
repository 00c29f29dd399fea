package eval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func on(operator, value string) Condition {
	return Condition{Property: "t", Operator: operator, Value: value}
}

func rulesOf(kind string, conditions ...Condition) []SegmentRule {
	return []SegmentRule{{Type: kind, Conditions: conditions}}
}

// matrixSegments are the recorded segments whose name alone does not tell the rules.
func matrixSegments() map[string][]SegmentRule {
	foo, ten := on(Equal, "foo"), on(Equal, "10")
	return map[string][]SegmentRule{
		"$.environment.name EQUAL Ops Env": rulesOf(All, Condition{Property: "$.environment.name", Operator: Equal, Value: "Ops Env"}),
		"$.identity.traits.t IS_SET":       rulesOf(All, Condition{Property: "$.identity.traits.t", Operator: IsSet}),
		"$.bad[ EQUAL 1":                   rulesOf(All, Condition{Property: "$.bad[", Operator: Equal, Value: "1"}),
		"NONE(EQUAL foo)":                  rulesOf(None, foo),
		"ANY(foo|10)":                      rulesOf(Any, foo, ten),
		"ALL(IS_SET & NOT_EQUAL foo)":      rulesOf(All, on(IsSet, ""), on(NotEqual, "foo")),
		"outer ANY inner ALL(foo) ALL(10)": {{Type: Any, Rules: append(rulesOf(All, foo), rulesOf(All, ten)...)}},
		"outer NONE inner ALL(foo)":        {{Type: None, Rules: rulesOf(All, foo)}},
		"two top rules foo and 10":         append(rulesOf(All, foo), rulesOf(All, ten)...),
		"empty conditions":                 rulesOf(All),
		"empty inner conditions ANY":       {{Type: All, Rules: rulesOf(Any)}},
		"empty NONE":                       rulesOf(None),
		"top conditions and rules":         {{Type: All, Conditions: []Condition{foo}, Rules: rulesOf(All, ten)}},
	}
}

// notTold are recorded segments whose id or value the recording does not tell.
var notTold = regexp.MustCompile(`split|SPLIT '50'|\$\.identity\.identifier`)

// TestRecordedOperators compares each operator with what a running server answered.
func TestRecordedOperators(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(sharedDir(t, "golden"), "operator_matrix.json"))
	require.NoError(t, err)
	var recorded struct {
		Segments []struct {
			Name   string
			Status int
		}
		Identities []struct {
			Identifier string
			Trait      json.RawMessage `json:"trait_t"`
			Matching   []string
		}
	}
	require.NoError(t, json.Unmarshal(text, &recorded))
	spec := &Spec{Key: recorded.Segments[0].Name, Name: "Ops Env"}
	special := matrixSegments()
	for _, s := range recorded.Segments {
		if s.Status != 201 || notTold.MatchString(s.Name) {
			continue
		}
		rules, ok := special[s.Name]
		if !ok {
			operator, quoted, _ := strings.Cut(s.Name, " ")
			value := strings.ReplaceAll(strings.Trim(quoted, "'"), `\\`, `\`)
			rules = rulesOf(All, on(operator, value))
		}
		spec.Segments = append(spec.Segments, &SegmentContext{Key: "1", Name: s.Name, Rules: rules})
	}
	require.Greater(t, len(spec.Segments), 70)
	env := Compile(spec, nil)
	var s Subject
	var ev Evaluation
	for _, identity := range recorded.Identities {
		s.Reset(env)
		s.SetIdentity(identity.Identifier, "")
		trait, err := ParseLiteral(identity.Trait)
		require.NoError(t, err)
		s.SetTrait("t", trait)
		env.MatchSegments(&s, &ev)
		for i, segment := range spec.Segments {
			want := false
			for _, name := range identity.Matching {
				want = want || name == segment.Name
			}
			require.Equal(t, want, ev.Matches(i), "%s with %s", segment.Name, identity.Trait)
		}
	}
}
