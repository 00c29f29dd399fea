package ofrep_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
)

func TestValues(t *testing.T) {
	h := newHouse(t)
	for i, c := range []struct {
		enabled bool
		value   fsm.FeatureValue
		want    string
	}{
		{true, none, `"reason":"STATIC","variant":"enabled","metadata":{"enabled":true,"featureId":1},"value":true}`},
		{false, none, `"reason":"DISABLED","variant":"disabled","metadata":{"enabled":false,"featureId":2},"value":false}`},
		{true, str(""), `"reason":"STATIC","variant":"enabled","metadata":{"enabled":true,"featureId":3},"value":true}`},
		{true, str("hello"), `"reason":"STATIC","variant":"enabled","metadata":{"enabled":true,"featureId":4},"value":"hello"}`},
		{false, str("hello"), `"reason":"DISABLED","variant":"disabled","metadata":{"enabled":false,"featureId":5}}`},
		{true, integer(42), `"reason":"STATIC","variant":"enabled","metadata":{"enabled":true,"featureId":6},"value":42}`},
		{true, boolean(false), `"reason":"STATIC","variant":"enabled","metadata":{"enabled":true,"featureId":7},"value":false}`},
		{true, str(` {"a": [1, 2]}`), `"reason":"STATIC","variant":"enabled","metadata":{"enabled":true,"featureId":8},"value": {"a": [1, 2]}}`},
		{true, str(`[1]`), `"reason":"STATIC","variant":"enabled","metadata":{"enabled":true,"featureId":9},"value":[1]}`},
		{true, str(`{no json`), `"reason":"STATIC","variant":"enabled","metadata":{"enabled":true,"featureId":10},"value":"{no json"}`},
		{true, str(`3.14`), `"reason":"STATIC","variant":"enabled","metadata":{"enabled":true,"featureId":11},"value":"3.14"}`},
		{true, str("é\"\n"), `"reason":"STATIC","variant":"enabled","metadata":{"enabled":true,"featureId":12},"value":"\u00e9\"\n"}`},
	} {
		name := fmt.Sprint("flag", i)
		h.feature(fsm.Feature{Name: name}, c.enabled, c.value)
		a := h.sdk().Do("POST", all+"/"+name, `{}`)
		require.Equal(t, 200, a.Status)
		require.Equal(t, "application/json", a.Header.Get("Content-Type"))
		require.Equal(t, `{"key":"`+name+`",`+c.want, a.Raw)
		require.Contains(t, h.sdk().Do("POST", all, `{}`).Raw, a.Raw, "the same in bulk")
	}
}

func TestReasonsAndVariants(t *testing.T) {
	h := newHouse(t)
	plain := h.feature(fsm.Feature{Name: "plain"}, true, str("default"))
	h.segment("plan", "pro", plain, true, str("pro"), 1)
	h.segment("banned", "true", plain, false, str("off"), 0)
	personal := h.feature(fsm.Feature{Name: "personal"}, false, none)
	h.override("vip", personal, true, integer(7))
	h.feature(fsm.Feature{Name: "mv"}, true, str("own"), option("red", str("r"), 100))
	h.feature(fsm.Feature{Name: "unkeyed"}, true, str("own"), option("", str("x"), 0), option("", str("y"), 100))
	h.feature(fsm.Feature{Name: "control"}, true, str("own"), option("red", str("r"), 0))
	h.feature(fsm.Feature{Name: "static"}, true, none)

	bob, vip := map[string]any{"targetingKey": "bob"}, map[string]any{"targetingKey": " vip "}
	for _, c := range []struct {
		key             string
		context         map[string]any
		reason, variant string
		value           any
	}{
		{key: "static", reason: "STATIC", variant: "enabled", value: true},
		{key: "static", context: bob, reason: "STATIC", variant: "enabled", value: true},
		{key: "plain", reason: "DEFAULT", variant: "enabled", value: "default"},
		{key: "plain", context: bob, reason: "DEFAULT", variant: "enabled", value: "default"},
		{key: "plain", context: map[string]any{"targetingKey": "bob", "plan": "pro"}, reason: "TARGETING_MATCH", variant: "enabled", value: "pro"},
		{key: "plain", context: map[string]any{"plan": "pro"}, reason: "TARGETING_MATCH", variant: "enabled", value: "pro"},
		{key: "plain", context: map[string]any{"targetingKey": "bob", "traits": map[string]any{"plan": "pro"}}, reason: "TARGETING_MATCH", variant: "enabled", value: "pro"},
		{key: "plain", context: map[string]any{"targetingKey": "bob", "plan": "free", "traits": map[string]any{"plan": "pro"}}, reason: "TARGETING_MATCH", variant: "enabled", value: "pro"},
		{key: "plain", context: map[string]any{"targetingKey": "bob", "plan": []string{"pro"}, "banned": nil}, reason: "DEFAULT", variant: "enabled", value: "default"},
		{key: "plain", context: map[string]any{"targetingKey": "bob", "plan": "pro", "banned": true}, reason: "DISABLED", variant: "disabled"},
		{key: "personal", reason: "DISABLED", variant: "disabled", value: false},
		{key: "personal", context: vip, reason: "TARGETING_MATCH", variant: "enabled", value: 7.0},
		{key: "mv", reason: "DEFAULT", variant: "control", value: "own"},
		{key: "mv", context: bob, reason: "SPLIT", variant: "red", value: "r"},
		{key: "unkeyed", context: bob, reason: "SPLIT", variant: "option-2", value: "y"},
		{key: "control", context: bob, reason: "SPLIT", variant: "control", value: "own"},
	} {
		if c.context == nil {
			c.context = map[string]any{}
		}
		f := h.flag(c.key, c.context)
		require.Equal(t, []any{c.key, c.reason, c.variant, c.value}, []any{f.Key, f.Reason, f.Variant, f.Value}, "%v", c)
		require.Equal(t, f, h.flags(c.context)[c.key])
	}
	_, created := h.State().Identities().Environment(h.env.ID).Lookup([]byte("bob"))
	require.False(t, created, "nobody is created")
}

// TestStoredTraits: they count, the context lies over them and is not stored.
func TestStoredTraits(t *testing.T) {
	h := newHouse(t)
	f := h.feature(fsm.Feature{Name: "f"}, true, str("default"))
	h.segment("plan", "pro", f, true, str("pro"), 1)
	h.identify("bob", map[string]any{"plan": "pro"})
	require.Equal(t, "pro", h.flag("f", map[string]any{"targetingKey": "bob"}).Value)
	require.Equal(t, "default", h.flag("f", map[string]any{"targetingKey": "bob", "plan": "free"}).Value)
	require.Equal(t, "pro", h.flag("f", map[string]any{"targetingKey": "bob", "plan": nil}).Value)
	require.Equal(t, "pro", h.flag("f", map[string]any{"targetingKey": "bob"}).Value)
}

func TestVisibility(t *testing.T) {
	h := newHouse(t)
	h.feature(fsm.Feature{Name: "secret", IsServerKeyOnly: true}, true, none)
	f := h.feature(fsm.Feature{Name: "off"}, false, none)
	h.segment("plan", "pro", f, true, none, 0)
	server := h.Client(t).With("Authorization", "bearer "+serverKey)

	require.Equal(t, `{"key":"secret","errorCode":"FLAG_NOT_FOUND","errorDetails":"The environment has no such flag, or this key may not see it."}`,
		h.sdk().Do("POST", all+"/secret", `{}`).Raw)
	require.Equal(t, 404, h.sdk().Do("POST", all+"/secret", `{}`).Status)
	require.NotContains(t, h.flags(nil), "secret")
	require.Equal(t, 200, server.Do("POST", all+"/secret", `{}`).Status)
	require.Contains(t, server.Do("POST", all, `{}`).Raw, `"key":"secret"`)

	require.Equal(t, 200, h.sdk().Do("POST", all+"/off", `{}`).Status)
	hide := true
	h.set(func(e *fsm.Environment) { e.HideDisabledFlags = &hide })
	require.Equal(t, 404, h.sdk().Do("POST", all+"/off", `{}`).Status)
	require.NotContains(t, h.flags(nil), "off")
	require.Equal(t, true, h.flag("off", map[string]any{"plan": "pro"}).Value)
	require.Equal(t, true, h.flag("off", map[string]any{"targetingKey": "new", " plan ": "pro"}).Value, "names as they are stored")

	h.set(func(e *fsm.Environment) { e.AllowClientTraits = false })
	require.Equal(t, 404, h.sdk().Do("POST", all+"/off", `{"context":{"plan":"pro"}}`).Status, "a client-side key's attributes do not count")
	require.Equal(t, 200, server.Do("POST", all+"/off", `{"context":{"plan":"pro"}}`).Status)
}

func TestFaults(t *testing.T) {
	h := newHouse(t)
	h.feature(fsm.Feature{Name: "f"}, true, none)
	for _, c := range []struct {
		path, body   string
		header       []string
		status       int
		code, detail string
	}{
		{"/nope", `{}`, nil, 404, "FLAG_NOT_FOUND", "no such flag"},
		{"/F", `{}`, nil, 404, "FLAG_NOT_FOUND", "no such flag"},
		{"/f", `{`, nil, 400, "PARSE_ERROR", "JSON parse error - Expecting property name"},
		{"/f", `[]`, nil, 400, "PARSE_ERROR", "must be a JSON object"},
		{"/f", "{\"context\":\"\xff\"}", nil, 400, "PARSE_ERROR", "utf-8"},
		{"/f", `{"context":[]}`, nil, 400, "INVALID_CONTEXT", "must be an object"},
		{"/f", `{"context":{"targetingKey":1}}`, nil, 400, "INVALID_CONTEXT", "must be a string"},
		{"/f", `{"context":{"targetingKey":"a\u0000"}}`, nil, 400, "INVALID_CONTEXT", "Null characters"},
		{"/f", `{"context":{"targetingKey":"bob","plan":"cut \ud83d"}}`, nil, 400, "INVALID_CONTEXT", "plan: Surrogate"},
		{"/f", `{"context":{"targetingKey":"bob","traits":{"plan":"a\u0000"}}}`, nil, 400, "INVALID_CONTEXT", "plan: Null characters"},
		{"/f", `{"context":{"targetingKey":"bob","a\u0000":1}}`, nil, 400, "INVALID_CONTEXT", "The name of an attribute: Null characters"},
		{"/f", `{"context":{"targetingKey":"bob","plan":1e400}}`, nil, 400, "INVALID_CONTEXT", "plan: A valid number"},
		{"/f", `{"context":{"targetingKey":"` + strings.Repeat("x", 2001) + `"}}`, nil, 400, "INVALID_CONTEXT", "2000"},
		{"/f", `{}`, []string{"Content-Type", "text/plain"}, 400, "PARSE_ERROR", "Content-Type"},
		{"/f", `{}`, []string{"X-Environment-Key", ""}, 401, "GENERAL", "No environment key"},
		{"/f", `{}`, []string{"X-Environment-Key", "", "Authorization", "Token " + clientKey}, 401, "GENERAL", "No environment key"},
		{"/f", `{}`, []string{"X-Environment-Key", "nobody"}, 401, "GENERAL", "Unknown"},
		{"/f", `{}`, []string{"X-Environment-Key", expired}, 403, "GENERAL", "expired"},
		{"/f", `{}`, []string{"Flagraft-Consistency", "strong"}, 400, "GENERAL", "Flagraft-Consistency"},
	} {
		for _, path := range []string{c.path, ""} {
			if path == "" && c.status == 404 {
				continue
			}
			client := h.sdk()
			for i := 0; i < len(c.header); i += 2 {
				client = client.With(c.header[i], c.header[i+1])
			}
			a := client.Do("POST", all+path, c.body)
			require.Equal(t, c.status, a.Status, a.Raw)
			require.Equal(t, "application/json", a.Header.Get("Content-Type"))
			key := ""
			if path != "" {
				key = `"key":"` + path[1:] + `",`
			}
			require.True(t, strings.HasPrefix(a.Raw, `{`+key+`"errorCode":"`+c.code+`","errorDetails":"`), a.Raw)
			require.Contains(t, a.Raw, c.detail)
		}
	}
	h.write(func(tx *fsm.Tx) {
		o, _ := fsm.Organisations.Get(tx, h.org.ID)
		o.StopServingFlags = true
		fsm.Organisations.Put(tx, o)
	})
	require.Equal(t, 403, h.sdk().Do("POST", all, `{}`).Status)
}

func TestETag(t *testing.T) {
	h := newHouse(t)
	f := h.feature(fsm.Feature{Name: "f"}, true, str("default"))
	h.segment("plan", "pro", f, true, str("pro"), 1)
	tag := func(body string) string {
		a := h.sdk().Do("POST", all, body)
		require.Equal(t, 200, a.Status)
		require.Regexp(t, `^"[0-9a-f]{24}"$`, a.Header.Get("ETag"))
		return a.Header.Get("ETag")
	}
	bob := `{"context":{"targetingKey":"bob","a":1,"b":"x"}}`
	first := tag(bob)
	require.Equal(t, first, tag(`{"context":{"b":"x","a":1,"targetingKey":"bob"}}`), "the order does not matter")
	for _, other := range []string{`{}`, `{"context":{"targetingKey":"eve","a":1,"b":"x"}}`, `{"context":{"targetingKey":"bob","a":1}}`,
		`{"context":{"targetingKey":"bob","a":"1","b":"x"}}`} {
		require.NotEqual(t, first, tag(other), other)
	}
	again := h.sdk().With("If-None-Match", `"other", W/`+first)
	a := again.Do("POST", all, bob)
	require.Equal(t, http.StatusNotModified, a.Status)
	require.Empty(t, a.Raw)
	require.Equal(t, first, a.Header.Get("ETag"))
	require.Equal(t, 200, again.Do("POST", all, `{}`).Status)

	h.feature(fsm.Feature{Name: "new"}, true, none)
	require.Equal(t, http.StatusOK, again.Do("POST", all, bob).Status)
}

func TestCORS(t *testing.T) {
	h := newHouse(t)
	h.feature(fsm.Feature{Name: "f"}, true, none)
	browser := h.sdk().With("Origin", "https://example.com")
	a := browser.Do("POST", all, `{}`)
	require.Equal(t, "*", a.Header.Get("Access-Control-Allow-Origin"))
	require.Contains(t, a.Header.Get("Access-Control-Expose-Headers"), "ETag")
	a = browser.With("Access-Control-Request-Method", "POST").Do("OPTIONS", all+"/f", nil)
	require.Equal(t, 200, a.Status)
	for _, name := range []string{"content-type", "authorization", "x-environment-key", "if-none-match"} {
		require.Contains(t, a.Header.Get("Access-Control-Allow-Headers"), name)
	}
}

// TestAgreesWithIdentities: for random contexts the two APIs serve the same.
func TestAgreesWithIdentities(t *testing.T) {
	for _, composite := range []bool{true, false} {
		t.Run(fmt.Sprint("composite ", composite), func(t *testing.T) {
			h := newHouse(t)
			h.set(func(e *fsm.Environment) { e.UseCompositeKeyForHashing = composite })
			values := []fsm.FeatureValue{str("a"), integer(5), boolean(true), str("b")}
			for i, v := range values {
				f := h.feature(fsm.Feature{Name: fmt.Sprint("f", i)}, true, v)
				h.segment("plan", "pro", f, i%2 == 0, str("pro"), int64(i))
				h.segment("age", fmt.Sprint(i), f, true, integer(int64(i)), 2)
			}
			mv := h.feature(fsm.Feature{Name: "mv"}, true, str("own"), option("one", str("1"), 30), option("two", integer(2), 30))
			h.segment("plan", "free", mv, true, str("free"), 1)
			for i := range 5 {
				h.override(fmt.Sprint("user", i), mv, i > 0, str(fmt.Sprint("own", i)))
			}
			random := rand.New(rand.NewPCG(1, 2))
			for range 150 {
				context, traits := map[string]any{}, []map[string]any{}
				add := func(key string, value any) {
					context[key] = value
					traits = append(traits, map[string]any{"trait_key": key, "trait_value": value, "transient": true})
				}
				if random.IntN(3) > 0 {
					add("plan", []any{"pro", "free", true, "x"}[random.IntN(4)])
				}
				if random.IntN(3) > 0 {
					add("age", []any{0, 1, 2, "3", 2.0, 1e3}[random.IntN(6)])
				}
				body := map[string]any{"traits": traits, "transient": true}
				if random.IntN(4) > 0 || len(traits) == 0 {
					context["targetingKey"] = fmt.Sprint("user", random.IntN(30))
					body["identifier"] = context["targetingKey"]
				}
				want, got := h.identities(body), h.flags(context)
				require.Len(t, got, len(want))
				for name, w := range want {
					f := got[name]
					require.Equal(t, w.Enabled, f.Metadata["enabled"], name)
					if w.Enabled {
						require.Equal(t, w.Value, f.Value, "%s %v", name, context)
					} else {
						require.Nil(t, f.Value)
					}
					if w.Variant != nil {
						require.Equal(t, *w.Variant, f.Variant, "%s %v", name, context)
					}
					require.Equal(t, f, h.flag(name, context))
				}
			}
		})
	}
}

// TestConsistency: a request sees what its token says, or is told that it cannot.
func TestConsistency(t *testing.T) {
	h := newHouse(t)
	h.feature(fsm.Feature{Name: "f"}, true, none)
	token := h.sdk().Do("POST", all, `{}`).Header.Get("Flagraft-Index")
	epoch, _, _ := strings.Cut(token, "-")
	for _, c := range []struct {
		header, value string
		status        int
	}{
		{"Flagraft-Min-Index", token, 200},
		{"Flagraft-Min-Index", "another-99999999", 200},
		{"Flagraft-Consistency", "linearizable", 200},
		{"Flagraft-Consistency", "local", 200},
	} {
		a := h.sdk().With(c.header, c.value).Do("POST", all, `{}`)
		require.Equal(t, c.status, a.Status, a.Raw)
	}
	a := h.sdk().With("Flagraft-Min-Index", epoch+"-99999999").Do("POST", all, `{}`)
	require.Equal(t, 503, a.Status)
	require.Equal(t, `{"errorCode":"GENERAL","errorDetails":"This node has not reached the requested index in time."}`, a.Raw)
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	require.Equal(t, 200, h.sdk().Do("POST", all+"?flagConfigEtag=%22"+token+"%22", `{}`).Status)
	require.Equal(t, 200, h.sdk().Do("POST", all+"?flagConfigEtag="+epoch+"-99999999", `{}`).Status, "only waited for")
}

// TestEventStream: the stream that a bulk answer names exists, and its first event's tag is one that a refetch may wait for.
func TestEventStream(t *testing.T) {
	h := newHouse(t)
	a := h.sdk().Do("POST", all, `{}`)
	require.Equal(t, `{"flags":[],"eventStreams":[{"type":"sse","endpoint":{"requestUri":"/sse/environments/`+clientKey+`/ofrep"},"inactivityDelaySec":120}]}`, a.Raw)
	require.NotContains(t, h.sdk().Do("POST", all+"/f", `{}`).Raw, "eventStreams")

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.Base+"/sse/environments/"+clientKey+"/ofrep", nil)
	require.NoError(t, err)
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, 200, resp.StatusCode)
	lines := bufio.NewScanner(resp.Body)
	var data struct{ Type, Etag string }
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			require.NoError(t, json.Unmarshal([]byte(text), &data))
			break
		}
	}
	require.Equal(t, "refetchEvaluation", data.Type)
	require.Equal(t, 200, h.sdk().Do("POST", all+"?flagConfigEtag="+data.Etag, `{}`).Status)
	require.Equal(t, 200, h.sdk().With("Flagraft-Min-Index", data.Etag).Do("POST", all, `{}`).Status)
}
