package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const evalContext = `{"environment":{"key":"e","name":"<n>"},"identity":{"identifier":"u","traits":{"t":"x"}},
"features":{"f":{"key":"1","name":"f","enabled":true,"value":1.0,"metadata":{"id": 1}}},
"segments":{"1":{"key":"1","name":"s","rules":[{"type":"ALL","conditions":[{"property":"t","operator":"EQUAL","value":"x"}]}],
"overrides":[{"key":"2","name":"f","enabled":false,"value":"<o>","priority":1}]}}}`

const evalAnswer = `{"flags":{"f":{"name":"f","enabled":false,"value":"<o>","reason":"TARGETING_MATCH; segment=s","variant":null}},"segments":[{"name":"s"}]}`

func runEval(t *testing.T, in string, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	command := newEvalCommand()
	command.SetIn(strings.NewReader(in))
	command.SetOut(&out)
	command.SetErr(&bytes.Buffer{})
	command.SetArgs(args)
	err := command.Execute()
	if err == nil {
		return out.String(), 0
	}
	var coded *codedError
	require.ErrorAs(t, err, &coded)
	return out.String() + "error: " + err.Error(), coded.code
}

func TestEvalDocument(t *testing.T) {
	out, code := runEval(t, evalContext)
	require.Zero(t, code)
	require.JSONEq(t, evalAnswer, out)

	file := filepath.Join(t.TempDir(), "context.json")
	require.NoError(t, os.WriteFile(file, []byte(evalContext), 0o600))
	fromFile, code := runEval(t, "", file)
	require.Zero(t, code)
	require.Equal(t, out, fromFile)
}

func TestEvalLines(t *testing.T) {
	line := strings.ReplaceAll(evalContext, "\n", "")
	out, code := runEval(t, line+"\n\n"+line, "--ndjson")
	require.Zero(t, code)
	require.Equal(t, evalAnswer+"\n"+evalAnswer+"\n", out)

	out, code = runEval(t, line+"\n{}\n"+line, "--ndjson")
	require.Equal(t, 1, code)
	require.Equal(t, evalAnswer+"\nerror: line 2: evaluation context: environment: missing", out)
}

func TestEvalExplain(t *testing.T) {
	out, code := runEval(t, evalContext, "--explain")
	require.Zero(t, code)
	var answer struct {
		Trace struct {
			Segments []struct{ Matched bool }
			Features []struct{ Overrides []struct{ Won bool } }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &answer))
	require.True(t, answer.Trace.Segments[0].Matched)
	require.True(t, answer.Trace.Features[0].Overrides[0].Won)
}

func TestEvalErrors(t *testing.T) {
	for name, test := range map[string]struct {
		in   string
		args []string
		code int
		text string
	}{
		"empty":     {"", nil, 1, "no input"},
		"not JSON":  {"nope", nil, 1, "invalid character"},
		"cut short": {`{"environment":{`, nil, 1, "unexpected end"},
		"wrong type": {`{"environment":{"key":"e","name":"n"},"features":{"f":{"key":1,"name":"f","enabled":true,"value":1}}}`,
			nil, 1, "features.f.key: not a string"},
		"no file":   {"", []string{"/nonexistent"}, 2, "no such file"},
		"two files": {"", []string{"a", "b"}, 2, "one file"},
		"bad flag":  {"", []string{"--nope"}, 2, "unknown flag"},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := runEval(t, test.in, test.args...)
			require.Equal(t, test.code, code)
			require.Contains(t, out, test.text)
		})
	}
}
