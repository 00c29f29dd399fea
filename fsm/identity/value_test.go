package identity

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCanonicalValue(t *testing.T) {
	for in, want := range map[string]string{
		`true`: `true`, `false`: `false`, `null`: `null`, " 1\n": `1`,
		`0`: `0`, `-0`: `0`, `-17`: `-17`, `123456789012345678901234567890`: `123456789012345678901234567890`,
		`5.0`: `5.0`, `5.00`: `5.0`, `1e3`: `1000.0`, `1E+3`: `1000.0`, `-0.0`: `-0.0`, `0e5`: `0.0`, `0.1`: `0.1`,
		`1e16`: `1e+16`, `9999999999999998.0`: `9999999999999998.0`, `1e15`: `1000000000000000.0`, `1e22`: `1e+22`,
		`0.0001`: `0.0001`, `0.00001`: `1e-05`, `1.5e-7`: `1.5e-07`, `1e100`: `1e+100`, `1e-400`: `0.0`,
		`123456.789`: `123456.789`, `2.5E-1`: `0.25`,
		`""`: `""`, `"plain ~"`: `"plain ~"`, `"\/"`: `"/"`, `"\u0041"`: `"A"`, `"\b\f\n\r\t\"\\"`: `"\b\f\n\r\t\"\\"`,
		`"\u0001\u001F"`: `"\u0001\u001f"`, "\"\x7f\"": `"\u007f"`, `"é"`: `"\u00e9"`, `"\u00E9"`: `"\u00e9"`,
		`"日本"`: `"\u65e5\u672c"`, `"😀"`: `"\ud83d\ude00"`, `"\uD83D\uDE00"`: `"\ud83d\ude00"`,
		`"\uD83D"`: `"\ud83d"`, `"\uDE00x"`: `"\ude00x"`, `"\uD83D\u0041"`: `"\ud83dA"`, `"</script>&"`: `"</script>&"`,
	} {
		got, err := CanonicalValue([]byte(in))
		require.NoError(t, err, in)
		require.Equal(t, want, string(got), in)
		again, err := CanonicalValue(got)
		require.NoError(t, err)
		require.Equal(t, want, string(again), "not stable")
	}
	for _, in := range []string{``, ` `, `tru`, `nul`, `01`, `-`, `1.`, `.5`, `1e`, `1e+`, `+1`, `0x1`, `1 2`, `NaN`, `Infinity`,
		`1e999`, `-1e999`, `"`, `"a`, `"a"b"`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\"", "\"\xff\"", `'a'`, `1,`, `"a" "b"`} {
		got, err := AppendCanonicalValue([]byte("kept"), []byte(in))
		require.ErrorIs(t, err, ErrBadValue, in)
		require.Equal(t, "kept", string(got))
	}
	for _, in := range []string{`{}`, `[1]`, ` {"a":1}`} {
		_, err := CanonicalValue([]byte(in))
		require.ErrorIs(t, err, ErrNotScalar, in)
	}
}

func TestStringsThereAndBack(t *testing.T) {
	for _, s := range []string{"", "a", "é\x00\x1f\x7f\"\\/", "😀 日本", strings.Repeat("ü", 300)} {
		lit := AppendString(nil, s)
		require.Equal(t, s, string(AppendUnquoted(nil, lit)))
		got, err := CanonicalValue(lit)
		require.NoError(t, err)
		require.Equal(t, string(lit), string(got))
	}
	require.Equal(t, "\uFFFD", string(AppendUnquoted(nil, []byte(`"\ud83d"`))))
}

func TestKindOfValue(t *testing.T) {
	for lit, want := range map[string]ValueKind{`"1.5"`: KindOfString, `1`: KindOfInt, `-1`: KindOfInt, `1.0`: KindOfFloat,
		`1e+16`: KindOfFloat, `true`: KindOfBool, `false`: KindOfBool, `null`: KindOfNull, ``: KindOfNull} {
		require.Equal(t, want, KindOfValue([]byte(lit)), lit)
	}
}

// CanonicalValue accepts what encoding/json accepts as a scalar (invalid UTF-8 and infinities apart), means the same and
// is stable.
func FuzzCanonicalValue(f *testing.F) {
	for _, s := range []string{`"\ud83d\ude00é"`, `1e3`, `-0.0`, `123`, `null`, `"\u00"`, ` true `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := CanonicalValue(in)
		if err != nil {
			return
		}
		if !json.Valid(in) || !json.Valid(got) {
			t.Fatalf("%q accepted as %q", in, got)
		}
		again, err := CanonicalValue(got)
		if err != nil || !bytes.Equal(got, again) {
			t.Fatalf("%q is not stable: %q, %v", got, again, err)
		}
		var a, b any
		if json.Unmarshal(in, &a) == nil && (json.Unmarshal(got, &b) != nil || a != b) {
			t.Fatalf("%q became %q", in, got)
		}
		for _, c := range got {
			if c < ' ' || c > '~' {
				t.Fatalf("%q is not printable ASCII", got)
			}
		}
	})
}

func TestLoneSurrogate(t *testing.T) {
	for _, whole := range []string{``, `"\ud83d\ude00"`, `"\\ud83d"`, `"\u00e9 \\\u0041"`, `"\`, `"\ud8`, "\"😀\""} {
		require.False(t, LoneSurrogate([]byte(whole)), whole)
	}
	for _, half := range []string{`"\ud83d"`, `"\ude00\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\\\uDFFF"`, `{"\ud800":1}`} {
		require.True(t, LoneSurrogate([]byte(half)), half)
	}
}
