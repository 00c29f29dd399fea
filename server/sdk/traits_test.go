package sdk

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
)

func TestTraits(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"identity":{"identifier":"bob"},"trait_key":"plan","trait_value":"pro"}`, 200, `{"identity":{"identifier":"bob"},"trait_value":"pro","trait_key":"plan"}`},
		{`{"identity":{"identifier":"bob"},"trait_key":"o","trait_value":{"a":1}}`, 200, `{"identity":{"identifier":"bob"},"trait_value":"{'a': 1}","trait_key":"o"}`},
		{`{"identity":{"identifier":"bob"},"trait_key":"b","trait_value":null}`, 400, `{"trait_value":["This field may not be null."]}`},
		{`{"trait_key":"b","trait_value":1}`, 400, `{"identity":["This field is required."]}`},
		{`{"identity":{"identifier":"bob"},"trait_key":"l","trait_value":"` + strings.Repeat("x", 2001) + `"}`, 400, `{"trait_value":["Value string is too long. Must be less than 2000 character"]}`},
	} {
		r := h.post("traits/", c.body)
		require.Equal(t, c.status, r.status, r.body)
		require.Equal(t, c.want, r.body)
	}
	require.Contains(t, h.get("identities/?identifier=bob").body, `"trait_value":"pro"`)
}

func TestTraitsBulk(t *testing.T) {
	h := newHouse(t)
	put := func(body string) answer { return h.do("PUT", "/api/v1/traits/bulk/", clientKey, body) }
	h.post("identities/", `{"identifier":"bulk1","traits":[{"trait_key":"old","trait_value":1},{"trait_key":"z","trait_value":2}]}`)
	r := put(`[{"identity":{"identifier":"bulk1"},"trait_key":"a","trait_value":1},{"identity":{"identifier":"bulk2"},"trait_key":"b","trait_value":"x"},{"identity":{"identifier":"bulk1"},"trait_key":"z","trait_value":null}]`)
	require.Equal(t, 200, r.status, r.body)
	require.Equal(t, `[{"identity":{"identifier":"bulk1"},"trait_value":1,"trait_key":"old"},{"identity":{"identifier":"bulk1"},"trait_value":1,"trait_key":"a"},{"identity":{"identifier":"bulk2"},"trait_value":"x","trait_key":"b"}]`, r.body)
	r = put(`[{"identity":{"identifier":"bulk1"},"trait_key":"a"}]`)
	require.Equal(t, 200, r.status)
	require.Equal(t, `[]`, r.body)
	for body, want := range map[string]string{
		`{"a":1}`:                                `{"detail":"Invalid request data"}`,
		`[1]`:                                    `{"detail":"Invalid request data"}`,
		`[{"trait_key":"a","trait_value":null}]`: `[{"identity":["This field is required."]}]`,
		`[{"identity":{"identifier":"x"},"trait_key":"a","trait_value":1},{"identity":{},"trait_key":"a"}]`:   `[{},{"identity":{"identifier":["This field is required."]}}]`,
		`[{"identity":{"identifier":"x"},"trait_key":"a","trait_value":"` + strings.Repeat("y", 2001) + `"}]`: `[{"trait_value":["Value string is too long. Must be less than 2000 character"]}]`,
	} {
		r := put(body)
		require.Equal(t, 400, r.status, body)
		require.Equal(t, want, r.body)
	}
	require.Equal(t, 2, h.FSM.State().Identities().Environment(h.env.ID).Count())
}

func TestIncrement(t *testing.T) {
	h := newHouse(t)
	r := h.post("traits/increment-value/", `{"identifier":"b","trait_key":"counter","increment_by":5}`)
	require.Equal(t, `{"trait_key":"counter","trait_value":5,"identifier":"b"}`, r.body)
	r = h.post("traits/increment-value/", `{"identifier":"b","trait_key":"counter","increment_by":-2}`)
	require.Equal(t, `{"trait_key":"counter","trait_value":3,"identifier":"b"}`, r.body)
	h.post("traits/", `{"identity":{"identifier":"b"},"trait_key":"s","trait_value":"x"}`)
	r = h.post("traits/increment-value/", `{"identifier":"b","trait_key":"s","increment_by":1}`)
	require.Equal(t, 400, r.status)
	require.Equal(t, `["Trait is not an integer."]`, r.body)
}

func TestBulkIdentities(t *testing.T) {
	h := newHouse(t)
	for _, path := range []string{"bulk-identities", "bulk-identities/"} {
		r := h.post(path, `{"data":[{"identifier":"a","traits":[{"trait_key":"k","trait_value":1},{"trait_key":"n","trait_value":2,"transient":true}]},{"identifier":"b"},{"identifier":"c","transient":true}]}`)
		require.Equal(t, 200, r.status, r.body)
		require.Equal(t, "{}", r.body)
	}
	require.Equal(t, 2, h.FSM.State().Identities().Environment(h.env.ID).Count())
	require.Equal(t, `[{"id":1,"trait_key":"k","trait_value":1,"transient":false}]`, traits(t, h.get("identities/?identifier=a")))
	h.post("bulk-identities", `{"data":[{"identifier":"a","traits":[{"trait_key":"k","trait_value":null}]}]}`)
	require.Equal(t, `[]`, traits(t, h.get("identities/?identifier=a")))
	many := strings.TrimSuffix(strings.Repeat(`{"identifier":"m"},`, 101), ",")
	require.Equal(t, 400, h.post("bulk-identities", `{"data":[`+many+`]}`).status)
	require.Equal(t, 200, h.post("bulk-identities", `{"data":[`+strings.Replace(many, `{"identifier":"m"},`, "", 1)+`]}`).status)
	for _, body := range []string{`{}`, `[]`, `{"data":[{"identifier":""}]}`, `{"data":{}}`} {
		require.Equal(t, 400, h.post("bulk-identities", body).status, body)
	}
}

// usage records what is counted.
type usage struct {
	counts map[[2]uint64]int64
	agent  string // of the last request
}

func (u *usage) Add(_ uint64, kind fsm.UsageKind, feature uint64, _ string, n int64) {
	u.counts[[2]uint64{uint64(kind), feature}] += n
}

func (u *usage) Request(environment uint64, kind fsm.UsageKind, client fsm.RequestClient) {
	u.Add(environment, kind, 0, "", 1)
	u.agent = string(client.Agent)
}

func TestAnalytics(t *testing.T) {
	u := &usage{counts: map[[2]uint64]int64{}}
	h := newHouse(t, func(c *Config) { c.Usage = u })
	f, _ := h.feature(fsm.Feature{Name: "str_flag"}, true, str("v"))
	r := h.post("analytics/flags/", `{"str_flag":3,"unknown":2,"other":"a"}`)
	require.Equal(t, 200, r.status)
	require.Empty(t, r.body)
	require.Equal(t, 200, h.post("analytics/flags/", `{"str_flag":"a"}`).status)
	require.Equal(t, 200, h.post("analytics/flags/", `{"str_flag":1.5}`).status)
	require.Equal(t, 200, h.post("analytics/flags/", `{"str_flag":9223372036854775807}`).status, "sums of such counts would wrap")
	require.Equal(t, 200, h.post("analytics/flags/", `{"str_flag":-2147483649}`).status)
	require.Equal(t, 204, h.do("POST", "/api/v2/analytics/flags/", clientKey,
		`{"evaluations":[{"feature_name":"str_flag","enabled_when_evaluated":true,"count":2147483648}]}`).status)
	require.Equal(t, 204, h.do("POST", "/api/v2/analytics/flags/", clientKey,
		`{"evaluations":[{"feature_name":"str_flag","identity_identifier":"bob","enabled_when_evaluated":true,"count":4},{"feature_name":"unknown","enabled_when_evaluated":true,"count":1}]}`).status)
	require.Equal(t, map[[2]uint64]int64{{uint64(fsm.UsageEvaluation), f.ID}: 7}, u.counts)
	r = h.post("analytics/flags/", `[1]`)
	require.Equal(t, `{"non_field_errors":["Expected a JSON object."]}`, r.body)
	r = h.post("analytics/flags/", `{"str_flag":1}`, "Content-Type", "text/plain;charset=UTF-8")
	require.Equal(t, 415, r.status)
	r = h.do("POST", "/api/v2/analytics/flags/", clientKey, `{"evaluations":[{"feature_name":"str_flag"}]}`)
	require.Equal(t, 400, r.status)
	require.Equal(t, `{"evaluations":[{"enabled_when_evaluated":["This field is required."],"count":["This field is required."]}]}`, r.body)
	h.get("flags/")
	h.get("identities/?identifier=a")
	h.document()
	h.post("traits/", `{"identity":{"identifier":"bob"},"trait_key":"b","trait_value":1}`)
	for _, kind := range []fsm.UsageKind{fsm.UsageFlags, fsm.UsageIdentities, fsm.UsageEnvironmentDocument, fsm.UsageTraits} {
		require.EqualValues(t, 1, u.counts[[2]uint64{uint64(kind), 0}], kind)
	}
	const trait = `{"identity":{"identifier":"bob"},"trait_key":"b","trait_value":1}`
	h.post("traits/", trait, "User-Agent", "flagsmith-java-sdk/8.0")
	require.Equal(t, "flagsmith-java-sdk/8.0", u.agent)
	h.post("traits/", trait, "User-Agent", "Mozilla/5.0", "Flagsmith-SDK-User-Agent", "flagsmith-js-sdk/12.0")
	require.Equal(t, "flagsmith-js-sdk/12.0", u.agent)
}

func TestDeprecatedRoutes(t *testing.T) {
	h := newHouse(t)
	f, state := h.feature(fsm.Feature{Name: "f"}, true, str("v"))
	_, over := h.segment("pro", "plan", "pro", f, str("for pros"))
	r := h.do("POST", "/api/v1/identities/al%20ice/traits/plan", clientKey, `{"trait_value":"pro"}`)
	require.Equal(t, 200, r.status, r.body)
	require.Equal(t, `{"id":1,"trait_key":"plan","trait_value":"pro","transient":false}`, r.body)
	r = h.get("identities/al%20ice/")
	require.Contains(t, r.body, `{"flags":[{"id":`)
	require.Contains(t, r.body, `"feature_state_value":"for pros"`)
	require.NotContains(t, r.body, "variant")
	require.True(t, strings.HasSuffix(r.body, `"traits":[{"id":1,"trait_key":"plan","trait_value":"pro","transient":false}],"segments":[{"id":1,"name":"pro","description":null}]}`), r.body)
	r = h.get("flags/somebody")
	require.Contains(t, r.body, `"feature_state_value":"v"`)
	require.NotEqual(t, state.ID, over.ID)
	require.Equal(t, 2, h.FSM.State().Identities().Environment(h.env.ID).Count())
	require.Equal(t, 200, h.do("POST", "/api/v1/analytics/telemetry/", "", `{}`).status)
}

// forgetful loses the results, as when a batch had been applied by an attempt whose answer was lost.
type forgetful struct{ IdentityWriter }

func (w forgetful) Write(ctx context.Context, ops []identity.Op) (uint64, []identity.Result, error) {
	index, _, err := w.IdentityWriter.Write(ctx, ops)
	return index, nil, err
}

func TestIncrementWhoseResultIsLost(t *testing.T) {
	h := newHouse(t, func(c *Config) { c.Identities = forgetful{c.Identities} })
	h.post("identities/", `{"identifier":"b","traits":[{"trait_key":"text","trait_value":"x"}]}`)
	one := func(key string) answer {
		return h.post("traits/increment-value/", `{"identifier":"b","trait_key":"`+key+`","increment_by":1}`)
	}
	require.Equal(t, `{"trait_key":"n","trait_value":1,"identifier":"b"}`, one("n").body)
	r := one("text")
	require.Equal(t, 400, r.status, r.body)
	require.Equal(t, `["Trait is not an integer."]`, r.body)
	for i := range 300 { // until the identity takes no more
		h.post("traits/", fmt.Sprintf(`{"identity":{"identifier":"b"},"trait_key":"fill%d","trait_value":"%s"}`, i, strings.Repeat("x", max(1, 2000-50*(i/5)))))
	}
	r = one(strings.Repeat("k", 200))
	require.Equal(t, 503, r.status, r.body)
	require.Equal(t, `{"detail":"`+msgIncrement+`"}`, r.body)
}
