package route

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseJSONWordsFaultsAsPython(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{`, "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
		{`{"a":1,}`, "Expecting property name enclosed in double quotes: line 1 column 8 (char 7)"},
		{`{"a" 1}`, "Expecting ':' delimiter: line 1 column 6 (char 5)"},
		{`{"a":1 "b"}`, "Expecting ',' delimiter: line 1 column 8 (char 7)"},
		{`{"a":}`, "Expecting value: line 1 column 6 (char 5)"},
		{`[1,]`, "Expecting value: line 1 column 4 (char 3)"},
		{"[1,\n\"é\" 2]", "Expecting ',' delimiter: line 2 column 5 (char 8)"},
		{`{} x`, "Extra data: line 1 column 4 (char 3)"},
		{`"abc`, "Unterminated string starting at: line 1 column 1 (char 0)"},
		{"\"a\nb\"", "Invalid control character at: line 1 column 3 (char 2)"},
		{`"\x"`, `Invalid \escape: line 1 column 2 (char 1)`},
		{`"\u12g4"`, `Invalid \uXXXX escape: line 1 column 3 (char 2)`},
		{`[NaN]`, "Out of range float values are not JSON compliant: 'NaN'"},
		{`-Infinity`, "Out of range float values are not JSON compliant: '-Infinity'"},
		{"{\"identifier\":\"\xff\"}", "'utf-8' codec can't decode byte 0xff in position 15: invalid start byte"},
		{"\ufeff{}", "Unexpected UTF-8 BOM (decode using utf-8-sig): line 1 column 1 (char 0)"},
		{"01", "Extra data: line 1 column 2 (char 1)"},
		{"-", "Expecting value: line 1 column 1 (char 0)"},
		{" ", "Expecting value: line 1 column 2 (char 1)"},
	} {
		_, err := ParseJSON([]byte(c.in))
		require.Error(t, err, c.in)
		require.Equal(t, `{"detail":`+string(AppendString(nil, "JSON parse error - "+c.want))+`}`, bodyOf(err), c.in)
	}
	_, err := ParseJSON([]byte(strings.Repeat("[", 100_000)))
	require.Equal(t, 400, AsError(err).Status)
}

func TestJSONRoundTrip(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a":[1,2.0,-0,1e5,12345678901234567890123],"b":null}`, `{"a":[1,2.0,0,100000.0,12345678901234567890123],"b":null}`},
		{`{"a":1,"b":2,"a":3}`, `{"a":3,"b":2}`},
		{`"é\ud83d\ude00<&>\u007f\/"`, `"\u00e9\ud83d\ude00<&>\u007f/"`},
		{`"\ud800x"`, `"\ud800x"`},
		{`[1e400,1e-7,1e16,123456789.125]`, `[null,1e-07,1e+16,123456789.125]`},
	} {
		v, err := ParseJSON([]byte(c.in))
		require.NoError(t, err)
		require.Equal(t, c.want, string(v.AppendJSON(nil)))
	}
}

func TestPythonStr(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`true`, "True"}, {`null`, "None"}, {`1.5`, "1.5"}, {`5`, "5"}, {`"x"`, "x"}, {`1e400`, "inf"}, {`[-1e400]`, "[-inf]"},
		{`{"a":[1,true,null,"it's"]}`, `{'a': [1, True, None, "it's"]}`},
	} {
		v, err := ParseJSON([]byte(c.in))
		require.NoError(t, err)
		require.Equal(t, c.want, PythonStr(v))
		require.Equal(t, c.want, ScalarOf(v).Text())
	}
}

type base struct {
	ID int `json:"id"`
}

type micros int64

func (m micros) Std() time.Time { return time.UnixMicro(int64(m)) }
func (m micros) IsZero() bool   { return m == 0 }

func TestEncoder(t *testing.T) {
	type shape struct {
		base
		Name  string           `json:"name"`
		At    time.Time        `json:"at"`
		When  micros           `json:"when"`
		None  micros           `json:"none"`
		Float float64          `json:"float"`
		List  []int            `json:"list"`
		Map   map[string]int   `json:"map"`
		Ptr   *string          `json:"ptr"`
		Any   any              `json:"any"`
		Opt   Optional[string] `json:"opt"`
		Val   Scalar           `json:"val"`
		Skip  string           `json:"skip,omitempty"`
		Zero  [2]byte          `json:"zero,omitzero"`
		Raw   json.RawMessage  `json:"raw"`
		Self  []shape2         `json:"self"`
		inner int              //nolint:unused // an unexported field is not written
	}
	v := shape{Name: "<é>", At: time.Date(2026, 11, 21, 12, 51, 59, 246116999, time.FixedZone("", 3600)), When: 1795262892026510, Float: 100,
		Map: map[string]int{"b": 1, "a": 2}, Any: []any{1, "x", nil}, Val: BoolScalar(true), Raw: json.RawMessage("{}"), Self: []shape2{{Kids: []shape2{{}}}}}
	require.Equal(t, `{"id":0,"name":"<\u00e9>","at":"2026-11-21T11:51:59.246116Z","when":"2026-11-21T12:08:12.026510Z","none":null,"float":100.0,`+
		`"list":[],"map":{"a":2,"b":1},"ptr":null,"any":[1,"x",null],"opt":null,"val":true,"raw":{},"self":[{"kids":[{"kids":[]}]}]}`,
		string(AppendJSON(nil, v)))
	require.True(t, json.Valid(AppendJSON(nil, &v)))
}

type shape2 struct {
	Kids []shape2 `json:"kids"`
}

func TestAppendFloat(t *testing.T) {
	for f, want := range map[float64]string{0: "0.0", 2: "2.0", 1.5: "1.5", 1e-5: "1e-05", 0.0001: "0.0001", 1e16: "1e+16", 1e15: "1000000000000000.0", -3: "-3.0"} {
		require.Equal(t, want, string(AppendFloat(nil, f)))
	}
	require.Equal(t, "null", string(AppendFloat(nil, math.NaN())))
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x\u00e9\ud83d\ude00",null,true]}`, `"\ud800"`, `{"a":1,"a":2}`, `[[[]]]`, "\xff", `-0.0`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := ParseJSON(data)
		if err != nil {
			return
		}
		require.True(t, json.Valid(data), "accepted what is not JSON")
		out := v.AppendJSON(nil)
		again, err := ParseJSON(out)
		require.NoError(t, err)
		require.Equal(t, string(out), string(again.AppendJSON(nil)))
	})
}

func TestEncodedAnswersKeepTheirBytes(t *testing.T) {
	e := NewEncoder(reflect.TypeFor[[]string]())
	first := e.Bytes([]string{"one", strings.Repeat("long ", 1000)})
	kept := string(first)
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			for range 200 {
				assert.Equal(t, fmt.Sprintf(`["other %d"]`, i), string(e.Bytes([]string{fmt.Sprintf("other %d", i)})))
			}
		})
	}
	done.Wait()
	require.Equal(t, kept, string(first), "another answer was written into it")
}
