package ofrep

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzContext(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"context":null}`, `{"context":{"targetingKey":" a ","n":1e3,"b":true,"s":"x","o":{},"l":[],"z":null}}`,
		`{"context":{"traits":{"a":-0,"a":"\ud800"},"a":9223372036854775808}}`, `{"context":{"targetingKey":1}}`, `[`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		given, fault := contextOf(body)
		if fault != nil {
			require.NotEmpty(t, fault.details)
			return
		}
		p, fault := readPerson(given, true)
		if fault != nil {
			require.Equal(t, "INVALID_CONTEXT", fault.code)
			return
		}
		require.True(t, p.anonymous || p.identifier != "" || len(p.attributes) == 0, "attributes belong to somebody")
		names := map[string]bool{}
		for _, a := range p.attributes {
			require.False(t, names[a.name], "%q twice", a.name)
			names[a.name] = true
			require.True(t, json.Valid(a.literal), "%s", a.literal)
			require.NotEqual(t, "targetingKey", a.name)
		}
		require.Regexp(t, `^"[0-9a-f]{24}"$`, tagOf(body, p))
		without, fault := readPerson(given, false)
		require.Nil(t, fault)
		require.Empty(t, without.attributes)
	})
}

func TestStructured(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, " ": false, "{": false, "{}": true, " [1]\n": true, `"text"`: false, "1": false, "true": false, "{}x": false, `{"a":1,}`: false,
	} {
		require.Equal(t, want, structured(text), text)
	}
}
