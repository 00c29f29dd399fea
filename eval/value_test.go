package eval

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/stretchr/testify/require"
)

func TestParseLiteral(t *testing.T) {
	for literal, want := range map[string]struct {
		kind Kind
		text string // as the reference's str()
		json string
	}{
		`null`:                      {KindNull, "None", `null`},
		`true`:                      {KindBool, "True", `true`},
		` false `:                   {KindBool, "False", `false`},
		`0`:                         {KindInt, "0", `0`},
		`-0`:                        {KindInt, "0", `0`},
		`-12`:                       {KindInt, "-12", `-12`},
		`9223372036854775807`:       {KindInt, "9223372036854775807", `9223372036854775807`},
		`-9223372036854775808`:      {KindInt, "-9223372036854775808", `-9223372036854775808`},
		`9223372036854775808`:       {KindInt, "9223372036854775808", `9223372036854775808`},
		`-123456789012345678901234`: {KindInt, "-123456789012345678901234", `-123456789012345678901234`},
		`1.0`:                       {KindFloat, "1.0", `1.0`},
		`-0.0`:                      {KindFloat, "-0.0", `-0.0`},
		`1e3`:                       {KindFloat, "1000.0", `1000.0`},
		`33.3`:                      {KindFloat, "33.3", `33.3`},
		`0.0001`:                    {KindFloat, "0.0001", `0.0001`},
		`0.00001`:                   {KindFloat, "1e-05", `1e-05`},
		`1e16`:                      {KindFloat, "1e+16", `1e+16`},
		`123456789012345680.0`:      {KindFloat, "1.2345678901234568e+17", `1.2345678901234568e+17`},
		`1e400`:                     {KindFloat, "inf", `1e999`},
		`"a"`:                       {KindString, "a", `"a"`},
		`"a\"\u00e9\n<\u2028"`:      {KindString, "a\"é\n<\u2028", "\"a\\\"é\\n<\u2028\""},
		`"\u0001"`:                  {KindString, "\x01", `"\u0001"`},
	} {
		v, err := ParseLiteral([]byte(literal))
		require.NoError(t, err, literal)
		require.Equal(t, want.kind, v.Kind(), literal)
		require.Equal(t, want.text, v.Text(), literal)
		require.Equal(t, want.json, string(v.AppendJSON(nil)), literal)
	}
	for _, literal := range []string{"", "nul", "truex", "01", "1.", ".5", "+1", "1e", "--1", `"`, `"a`, `"a"b`, "\"\n\"", `"\x"`, "NaN"} {
		_, err := ParseLiteral([]byte(literal))
		require.Error(t, err, literal)
	}
	_, err := ParseLiteral([]byte("[1]"))
	require.ErrorIs(t, err, ErrNotScalar)
}

func FuzzParseLiteral(f *testing.F) {
	for _, literal := range []string{"null", "-0", "1.5e3", `"aé"`, "12345678901234567890", "[", `"\ud800"`} {
		f.Add([]byte(literal))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ParseLiteral(data)
		if err != nil {
			return
		}
		require.True(t, json.Valid(data) || strings.ContainsRune(string(data), '"'))
		again, err := ParseLiteral(v.AppendJSON(nil))
		require.NoError(t, err)
		if text, ok := v.AsString(); !ok || strings.ToValidUTF8(text, "") == text {
			require.True(t, v.Equal(again), "%s", data)
		}
	})
}

func TestConstructors(t *testing.T) {
	v := intFromDigits("-000000000000000000000012345678901234567890123")
	require.Equal(t, "-12345678901234567890123", v.Text())
	f, ok := v.AsFloat()
	require.True(t, ok)
	require.InEpsilon(t, -1.2345678901234568e22, f, 1e-15)
	require.True(t, math.IsInf(priorityFloat(Null()), 1))
	require.False(t, Int(1).Equal(Float(1)))
}

// TestVersions compares with an independent implementation.
func TestVersions(t *testing.T) {
	texts := []string{"1.2.3", "1.2.4", "1.10.0", "2.0.0", "1.2.3-alpha", "1.2.3-alpha.1", "1.2.3-alpha.beta", "1.2.3-1", "1.2.3-2",
		"1.2.3-10", "1.2.3-1.a", "1.2.3-rc-1", "1.2.3+b", "1.2.3-a+b", "v1.2.3", "1.2", "1.2.3.4", "01.2.3", "1.2.3-01", "1.2.3-", "1.2.3+", "1.2.3-é", "", "a.b.c", "1.2.3-a..b"}
	for _, x := range texts {
		theirs, err := semver.StrictNewVersion(x)
		ours, ok := parseVersion(x)
		require.Equal(t, err == nil, ok, x)
		if !ok {
			continue
		}
		for _, y := range texts {
			other, err := semver.StrictNewVersion(y)
			if err == nil {
				ourOther, _ := parseVersion(y)
				require.Equal(t, theirs.Compare(other), ours.compare(ourOther), "%s %s", x, y)
			}
		}
	}
}
