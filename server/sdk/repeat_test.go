package sdk

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/route"
)

// FuzzRepeats holds the comparison against the ordinary way: what it takes for a
// repetition is decoded without fault, and changes nothing.
func FuzzRepeats(f *testing.F) {
	h := newHouse(f)
	const stored = `{"identifier":"bob","traits":[{"trait_key":"a","trait_value":1},{"trait_key":"b\"c","trait_value":"x y"},{"trait_key":"d","trait_value":true}]}`
	require.Equal(f, 200, h.post("identities/", stored).status)
	require.Equal(f, 200, h.post("identities/", `{"identifier":"eve","traits":[]}`).status)
	found, ok := h.sdk.Views.ByKey([]byte(clientKey))
	require.True(f, ok)
	c := caller{live: found.Live, view: found.Live.View()}
	for _, s := range []string{stored, " " + stored, `{"identifier":"eve","traits":[]}`, `{"identifier":" bob ","traits":[{"trait_key":"a","trait_value":1}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fast := newScratch()
		p, answer, same := h.sdk.repeats(c, fast, data, nil)
		if !same {
			return
		}
		ctx := &fasthttp.RequestCtx{}
		ctx.Request.Header.SetMethod("POST")
		ctx.Request.Header.SetContentType("application/json")
		ctx.Request.SetBody(data)
		slow := newScratch()
		require.NoError(t, h.sdk.decodeIdentify(ctx, &route.Match{Row: &route.Row{}}, slow), "%q", data)
		require.False(t, slow.in.transient, "%q", data)
		require.Len(t, slow.in.traits, fast.record.TraitCount(), "%q", data)
		want, known, changed := h.sdk.compare(c, slow, true)
		require.True(t, known, "%q", data)
		require.False(t, changed, "%q", data)
		require.Equal(t, want, p, "%q", data)
		require.Equal(t, string(h.sdk.appendPerson(nil, c.view, slow, want)), string(answer), "%q", data)
	})
}

// A body that repeats what is stored is answered as the same body with a space
// before it, which goes the ordinary way; what only looks like it is no repetition.
func TestRepeatedTraits(t *testing.T) {
	h := newHouse(t)
	f, _ := h.feature(fsm.Feature{Name: "f"}, true, str("usual"))
	h.segment("s", "plan", "gold", f, str("segment"))
	h.segment("k", "é\"\\key", "ü", f, str("other segment"))
	item := func(key, value string) string { return `{"trait_key":` + key + `,"trait_value":` + value + `}` }
	body := func(identifier string, items ...string) string {
		return fmt.Sprintf(`{"identifier":%q,"traits":[%s]}`, identifier, strings.Join(items, ","))
	}
	plan, count, price := item(`"plan"`, `"gold"`), item(`"count"`, `7`), item(`"price"`, `1.5`)
	odd := item(`"\u00e9\"\\key"`, `"\u00fc"`)
	ask := func(text string, stored bool) string {
		t.Helper()
		before := h.sdk.FSM.State().Index
		r := h.post("identities/", text)
		require.Equal(t, 200, r.status, r.body)
		require.Equal(t, stored, h.sdk.FSM.State().Index != before, "%s", text)
		return r.body
	}
	found, ok := h.sdk.Views.ByKey([]byte(clientKey))
	require.True(t, ok)
	repeats := func(text string) bool {
		_, _, same := h.sdk.repeats(caller{live: found.Live, view: found.Live.View()}, newScratch(), []byte(text), nil)
		return same
	}
	for name, items := range map[string][]string{
		"none": nil, "one": {plan}, "three": {plan, count, price}, "odd": {odd, count}, "flags": {item(`"a"`, "true"), item(`"b"`, "false")},
		// A key that holds what would be two traits.
		"sly": {item(`"x\",\"trait_value\":1},{\"trait_key\":\"y"`, "2")},
	} {
		ask(body(name, items...), true)
		require.True(t, repeats(body(name, items...)) || name == "odd", name) // stored in UTF-8
		again := ask(body(name, items...), false)
		require.Equal(t, again, ask(" "+body(name, items...), false), name)
	}
	require.Contains(t, ask(body("three", plan, count, price), false), `"segment"`)
	require.Contains(t, ask(body("odd", odd, count), false), `"other segment"`)

	// The same traits, but not so.
	ask(body("three", count, plan, price), false)
	ask(body("three", plan, count), false)
	ask(strings.TrimSuffix(body("three", plan, count, price), "}")+`,"transient":true}`, false)
	require.Equal(t, 400, h.post("identities/", body("three", plan, count, price)+"x").status)
	require.Equal(t, 400, h.post("identities/", strings.TrimSuffix(body("three", plan, count, price), "}")).status)

	require.False(t, repeats(body("three", plan, count)+" "))
	require.False(t, repeats(body("three", plan, count)))
	require.False(t, repeats(body("sly", item(`"x"`, "1"), item(`"y"`, "2"))))

	// Not the same traits.
	ask(body("sly", item(`"x"`, "1"), item(`"y"`, "2")), true)
	ask(body("three", plan, item(`"count"`, "77"), price), true)
	ask(body("three", plan, item(`"count"`, "7"), price), true)
	ask(body("three", plan, count, price, item(`"more"`, "1")), true)
	ask(body("three", plan, count, price, item(`"more"`, "null")), true)
	require.Contains(t, ask(body("three", plan, count, price), false), `"segment"`)

	// A new View has other slots, a key of another identity another number.
	h.segment("t", "count", "7", f, str("by count"))
	ask(body("other", item(`"fresh"`, "1")), true)
	ask(body("other", item(`"fresh"`, "1")), false)
	ask(body("counted", count), true)
	require.Contains(t, ask(body("counted", count), false), `"by count"`)

	// Traits that a key may not bring are none.
	h.set(func(e *fsm.Environment) { e.AllowClientTraits = false })
	require.Equal(t, ask(body("three", plan, count, price), false), ask(body("three"), false))

	// The answer's other forms.
	h.set(func(e *fsm.Environment) { e.AllowClientTraits, e.HideSensitiveData = true, true })
	require.Contains(t, ask(body("three", plan, count, price), false), `"traits":[],`)
	h.set(func(e *fsm.Environment) { e.HideSensitiveData = false })
	h.sdk.Format = fsm.FormatEdge
	again := ask(body("three", plan, count, price), false)
	require.Contains(t, again, `"traits":[`+plan+","+count+","+price+"]")
	require.Equal(t, again, ask(" "+body("three", plan, count, price), false))
}

// Ids of traits follow one another mostly.
func TestSuccessor(t *testing.T) {
	var s successor
	for i, n := range []uint64{0, 1, 2, 8, 9, 10, 11, 19, 20, 99, 100, 7, 8, 8, 1<<64 - 2, 1<<64 - 1, 0, 1} {
		want := `{"id":` + strconv.FormatUint(n, 10) + ","
		require.Equal(t, want, string(s.appendTo(nil, n, true)))
		if i > 0 {
			want = `,"transient":false},` + want
		}
		require.Equal(t, want, string(s.appendTo(nil, n, i == 0)), "once more")
	}
}
