package sdk

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/server/route"
)

func TestBadInput(t *testing.T) {
	h := newHouse(t)
	long := strings.Repeat("x", 2001)
	trait := func(key, value string) string {
		return `{"identifier":"bob","traits":[{"trait_key":` + key + `,"trait_value":` + value + `}]}`
	}
	for _, c := range []struct{ body, want string }{
		{`{`, `{"detail":"JSON parse error - Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"}`},
		{`[]`, `{"non_field_errors":["Invalid data. Expected a dictionary, but got list."]}`},
		{`"x"`, `{"non_field_errors":["Invalid data. Expected a dictionary, but got str."]}`},
		{`null`, `{"non_field_errors":["No data provided"]}`},
		{"{\"identifier\":\"\xff\"}", `{"detail":"JSON parse error - 'utf-8' codec can't decode byte 0xff in position 15: invalid start byte"}`},
		{trait(`"n"`, `NaN`), `{"detail":"JSON parse error - Out of range float values are not JSON compliant: 'NaN'"}`},
		{trait(`"n"`, `1e999`), `{"traits":[{"trait_value":["A valid number is required."]}]}`},
		{trait(`"n"`, `9223372036854775808`), `{"traits":[{"trait_value":["Integers must fit 64 bits."]}]}`},
		{trait(`"n"`, `"`+long+`"`), `{"traits":[{"trait_value":["Value string is too long. Must be less than 2000 character"]}]}`},
		{trait(`"n"`, `"a\u0000b"`), `{"traits":[{"trait_value":["Null characters are not allowed."]}]}`},
		{trait(`"n"`, `"\ud800"`), `{"traits":[{"trait_value":["Surrogate characters are not allowed: U+D800."]}]}`},
		{trait(`""`, `1`), `{"traits":[{"trait_key":["This field may not be blank."]}]}`},
		{trait(`true`, `1`), `{"traits":[{"trait_key":["Not a valid string."]}]}`},
		{trait(`"`+strings.Repeat("k", 201)+`"`, `1`), `{"traits":[{"trait_key":["Ensure this field has no more than 200 characters."]}]}`},
		{`{"identifier":"bob","traits":[{"trait_key":"a"}]}`, `{"traits":[{"trait_value":["This field is required."]}]}`},
		{`{"identifier":"bob","traits":[{"trait_key":"ok","trait_value":1},{"trait_value":1}]}`, `{"traits":[{},{"trait_key":["This field is required."]}]}`},
		{`{"identifier":"bob","traits":{"a":1}}`, `{"traits":{"non_field_errors":["Expected a list of items but got type \"dict\"."]}}`},
		{`{"identifier":true}`, `{"identifier":["Not a valid string."]}`},
		{`{"identifier":{"a":1}}`, `{"identifier":["Not a valid string."]}`},
		{`{"identifier":"` + long + `"}`, `{"identifier":["Ensure this field has no more than 2000 characters."]}`},
		{`{"identifier":"a\u0000"}`, `{"identifier":["Null characters are not allowed."]}`},
		{`{"identifier":"bob","transient":"maybe"}`, `{"transient":["Must be a valid boolean."]}`},
	} {
		r := h.post("identities/", c.body)
		require.Equal(t, 400, r.status, c.body)
		require.Equal(t, c.want, r.body, c.body)
	}
	require.Equal(t, 400, h.post("identities/", strings.Repeat(`[`, 100_000)).status)
	require.Equal(t, 400, h.post("identities/", strings.Repeat(`{"a":`, 1000)+"1"+strings.Repeat(`}`, 1000)).status)
	r := h.post("identities/", `{"identifier":"bob"}`, "Content-Type", "text/plain")
	require.Equal(t, 415, r.status)
	require.Equal(t, `{"detail":"Unsupported media type \"text/plain\" in request."}`, r.body)
	require.Nil(t, h.FSM.State().Identities().Environment(h.env.ID), "nothing may be stored")
}

func TestLenientInput(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct{ body, identifier, traits string }{
		{`{"identifier":123,"traits":null,"transient":null}`, `123`, `[]`},
		{`{"identifier":1.50}`, `1.5`, `[]`},
		{`{"identifier":"caf\u00e9","unknown":[1,{"a":2}],"traits":[{"trait_key":5,"trait_value":"\u00fc","more":1}]}`, `caf\u00e9`,
			`[{"id":1,"trait_key":"5","trait_value":"\u00fc","transient":false}]`},
		{" { \"identifier\" : \"café\" , \"traits\" : [ ] } \n", `caf\u00e9`, `[{"id":1,"trait_key":"5","trait_value":"\u00fc","transient":false}]`},
		{`{"identifier":"n","traits":[{"trait_key":" k ","trait_value":"  v  "},{"trait_key":"e","trait_value":1e3},{"trait_key":"z","trait_value":-0},{"trait_key":"s","trait_value":"<\/a>"}]}`, `n`,
			`[{"id":2,"trait_key":"k","trait_value":"  v  ","transient":false},{"id":3,"trait_key":"e","trait_value":1000.0,"transient":false},{"id":4,"trait_key":"z","trait_value":0,"transient":false},{"id":5,"trait_key":"s","trait_value":"</a>","transient":false}]`},
		{`{"identifier":"dup","identifier":"dup2"}`, `dup2`, `[]`},
	} {
		r := h.post("identities/", c.body)
		require.True(t, strings.HasPrefix(r.body, `{"identifier":"`+c.identifier+`",`), r.body)
		require.Equal(t, c.traits, traits(t, r), c.body)
	}
	r := h.do("POST", "/api/v1/identities/", clientKey, "identifier=form+user", "Content-Type", "application/x-www-form-urlencoded")
	require.True(t, strings.HasPrefix(r.body, `{"identifier":"form user",`), r.body)
}

func TestDuplicateKeys(t *testing.T) {
	h := newHouse(t)
	const body = `{"identifier":"a","traits":[{"trait_key":"a","trait_value":1},{"trait_key":"a","trait_value":2}]}`
	require.Equal(t, `[{"id":1,"trait_key":"a","trait_value":2,"transient":false}]`, traits(t, h.post("identities/", body)))
	require.Equal(t, `[{"id":1,"trait_key":"a","trait_value":2,"transient":false}]`, traits(t, h.get("identities/?identifier=a")))
	// Of a new key of a known identity the reference answers the last value and stores the first.
	h.get("identities/?identifier=b")
	require.Equal(t, `[{"id":null,"trait_key":"a","trait_value":2,"transient":false}]`, traits(t, h.post("identities/", strings.Replace(body, `"a"`, `"b"`, 1))))
	require.Equal(t, `[{"id":2,"trait_key":"a","trait_value":1,"transient":false}]`, traits(t, h.get("identities/?identifier=b")))
}

// FuzzScan holds the scanner against the long way: what it accepts, the long way
// reads the same; it must refuse nothing silently, so nothing else is compared.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"identifier":"bob","traits":[{"trait_key":"a","trait_value":1},{"trait_key":"b","trait_value":1.50,"transient":true}],"transient":false}`,
		`{"traits":[{"trait_value":null,"trait_key":" k "},{"trait_key":"c","trait_value":"x y"}]}`,
		`{"identifier":null}`, `{"identifier":"  "}`, `{}`, ` { } `, `{"transient":true}`, `{"traits":[]}`,
		`{"traits":[{"trait_key":"a","trait_value":-0.0},{"trait_key":"a","trait_value":12345678901234567.5}]}`,
		`{"traits":[{"trait_key":"a","trait_value":1.e5}]}`, `{"traits":[{"trait_key":"a","trait_value":01}]}`, `{"traits":[,]}`, `{"a":1,}`,
		`{"traits":[{"trait_key":"a","trait_value":1.5e-7},{"trait_key":"b","trait_value":true},{"trait_key":"c","trait_value":false}]}`,
	} {
		f.Add([]byte(s))
	}
	s := New(Config{})
	f.Fuzz(func(t *testing.T, data []byte) {
		fast := newScratch()
		if !fast.scan(data) {
			return
		}
		ctx := &fasthttp.RequestCtx{}
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.Header.SetContentType("application/json")
		ctx.Request.SetBody(data)
		slow := newScratch()
		require.NoError(t, s.decodeIdentify(ctx, &route.Match{Row: &route.Row{}}, slow), "%q", data)
		require.Equal(t, string(slow.in.identifier), string(fast.in.identifier), "%q", data)
		require.Equal(t, slow.in.transient, fast.in.transient)
		require.Len(t, fast.in.traits, len(slow.in.traits))
		for i, want := range slow.in.traits {
			have := fast.in.traits[i]
			require.Equal(t, string(want.key), string(have.key), "%q", data)
			require.Equal(t, string(want.value), string(have.value), "%q", data)
			require.Equal(t, want.value == nil, have.value == nil)
			require.Equal(t, want.transient, have.transient)
		}
	})
}

func TestScanTakesThePlainShape(t *testing.T) {
	for body, want := range map[string]bool{
		`{"identifier":"bob","traits":[{"trait_key":"a","trait_value":1}]}`: true,
		`{ "traits" : [ { "trait_value" : 1.5 , "trait_key" : "a" } ] }`:    true,
		`{"identifier":"b\u00f6b"}`:                                         false,
		`{"identifier":"böb"}`:                                              false,
		`{"identifier":"bob","x":1}`:                                        false,
		`{"identifier":"bob"}x`:                                             false,
		`{"identifier":"bob","identifier":"c"}`:                             false,
		`{"traits":[{"trait_key":"a"}]}`:                                    false,
		`{"traits":[{"trait_key":"","trait_value":1}]}`:                     false,
		`{"traits":[{"trait_key":"a","trait_value":12345678901234567890}]}`: false,
	} {
		require.Equal(t, want, newScratch().scan([]byte(body)), body)
	}
	require.False(t, newScratch().scan(bytes.Repeat([]byte{'['}, 1<<16)))
}
