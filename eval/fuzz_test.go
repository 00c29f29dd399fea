package eval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzCondition evaluates any condition on any trait, traced and untraced.
func FuzzCondition(f *testing.F) {
	for i, operator := range operators {
		f.Add(operator, "t", []string{"5", "5|0", `["a"]`, "^a+$", "1.2.3:semver", "1e3"}[i%6], `"1.5"`)
		f.Add(operator, "$.identity.traits[?@.a > 1]", "True", `12345678901234567890`)
	}
	f.Fuzz(func(t *testing.T, operator, property, value, literal string) {
		trait, err := ParseLiteral([]byte(literal))
		if err != nil {
			return
		}
		context := &Context{
			Identity: &IdentityContext{Identifier: "u", Traits: []Trait{{"t", trait}, {property, trait}}},
			Segments: []*SegmentContext{{Key: "1", Rules: rulesOf(All, Condition{Property: property, Operator: operator, Value: value})},
				{Key: "1", Rules: rulesOf(None, Condition{Property: property, Operator: operator, Value: value})}},
		}
		result := Evaluate(context)
		require.Len(t, result.Segments, 1, "ALL and NONE of one condition are opposites")
		require.Equal(t, result, EvaluateTraced(context, &Trace{}))
	})
}

// FuzzContext decodes and evaluates any text; a result is always JSON with one
// flag per feature.
func FuzzContext(f *testing.F) {
	f.Add([]byte(`{"environment":{"key":"e","name":"n"},"identity":{"identifier":"u","traits":{"a":[1,{"b":null}]}},
		"features":{"f":{"key":"1","name":"f","enabled":true,"value":1e400,"variants":[{"value":1,"weight":33.3,"priority":1e30}],"metadata":{"a":1}}},
		"segments":{"s":{"key":"1","name":"s","rules":[{"type":"ANY","rules":[{"type":"NONE","conditions":[{"property":"a","operator":"IN","value":[1]}]}]}],
		"overrides":[{"key":"2","name":"f","enabled":false,"value":"x","priority":-1}]}}}`))
	files, _ := filepath.Glob(filepath.Join("..", "..", "shared", "engine-test-data", "test_cases", "test_[a-z]*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		var testCase struct{ Context json.RawMessage }
		if json.Unmarshal(stripComments(text), &testCase) == nil {
			f.Add([]byte(testCase.Context))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		context, err := DecodeContext(data)
		if err != nil {
			return
		}
		result := Evaluate(context)
		text := result.AppendJSON(nil)
		require.True(t, json.Valid(text), string(text))
		require.Equal(t, string(text), string(EvaluateTraced(context, &Trace{}).AppendJSON(nil)))
		names := make(map[string]bool)
		for _, feature := range context.Features {
			names[feature.Name] = true
		}
		require.Len(t, result.Flags, len(names))
	})
}
