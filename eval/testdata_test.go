package eval

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sharedDir is a folder of recorded material beside the module, which a plain
// checkout does not have.
func sharedDir(t testing.TB, name string) string {
	dir := filepath.Join("..", "..", "shared", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("recorded material is not here: %v", err)
	}
	return dir
}

// TestEngineTestData runs every case of the engine-test-data suite and
// compares the whole result.
func TestEngineTestData(t *testing.T) {
	dir := filepath.Join(sharedDir(t, "engine-test-data"), "test_cases")
	var files []string
	for _, glob := range []string{"*.json", "*.jsonc"} {
		found, err := filepath.Glob(filepath.Join(dir, glob))
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.Len(t, files, 199)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var testCase struct{ Context, Result json.RawMessage }
			require.NoError(t, json.Unmarshal(stripComments(text), &testCase))
			context, err := DecodeContext(testCase.Context)
			require.NoError(t, err)
			want := generic(t, testCase.Result)
			require.Equal(t, want, generic(t, Evaluate(context).AppendJSON(nil)))
			var trace Trace
			require.Equal(t, want, generic(t, EvaluateTraced(context, &trace).AppendJSON(nil)))
		})
	}
}

// generic decodes JSON so that numbers compare by value.
func generic(t testing.TB, data []byte) any {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v), string(data))
	return rational(v)
}

func rational(v any) any {
	switch x := v.(type) {
	case json.Number:
		r, _ := new(big.Rat).SetString(x.String())
		return "number " + r.RatString()
	case []any:
		for i := range x {
			x[i] = rational(x[i])
		}
	case map[string]any:
		for k := range x {
			x[k] = rational(x[k])
		}
	}
	return v
}

// stripComments removes // comments outside strings.
func stripComments(text []byte) []byte {
	var b strings.Builder
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			b.WriteByte(c)
			i++
		case c == '"':
			inString = !inString
		case !inString && c == '/' && text[i+1] == '/':
			for text[i] != '\n' {
				i++
			}
		}
		b.WriteByte(text[i])
	}
	return []byte(b.String())
}
