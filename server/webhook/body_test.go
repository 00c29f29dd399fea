package webhook

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// The expectation is what Python's json.dumps(…, sort_keys=True) writes.
func TestBody(t *testing.T) {
	type inner struct {
		B float64 `json:"b"`
		A []any   `json:"a"`
	}
	got, err := Body("FLAG_UPDATED", struct {
		Z string  `json:"z"`
		N *string `json:"n"`
		M inner   `json:"m"`
		E []int   `json:"e"`
	}{"a\"b\\c\n\t\x01\x7f é€😀/<&>", nil, inner{30, []any{1, true, "x"}}, []int{}})
	require.NoError(t, err)
	require.Equal(t, `{"data": {"e": [], "m": {"a": [1, true, "x"], "b": 30.0}, "n": null, `+
		`"z": "a\"b\\c\n\t\u0001\u007f \u00e9\u20ac\ud83d\ude00/<&>"}, "event_type": "FLAG_UPDATED"}`, string(got))
}

func FuzzBody(f *testing.F) {
	f.Add("plain")
	f.Add("\x00\x1f\"\\\u2028😀\uffff")
	f.Add("\xed\xa0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		body, err := Body("E", map[string]string{s: s})
		if err != nil {
			t.Skip() // not UTF-8
		}
		for _, c := range body {
			require.True(t, c >= ' ' && c < 0x7f, "%q", body)
		}
		var back struct {
			Data map[string]string `json:"data"`
		}
		require.NoError(t, json.Unmarshal(body, &back), "%q", body)
		require.Len(t, back.Data, 1)
		for name, value := range back.Data {
			require.Equal(t, name, value)
		}
	})
}
