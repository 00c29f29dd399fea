package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/tracing/tracingtest"
)

const clientTrace = "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef"

// clientSpan continues clientTrace.
const clientSpan = "00-0123456789abcdef0123456789abcdef-1111111111111111-01"

// TestAWriteIsOneTraceOverAllNodes has a write forwarded by a follower, and looks for all its steps in what an OTLP receiver got.
func TestAWriteIsOneTraceOverAllNodes(t *testing.T) {
	c := tracingtest.Start(t)
	nodes := servertest.Cluster(t, 3)
	leader, follower := nodes[0], nodes[1]
	features := strings.Replace(project(t, leader), "/tags/", "/features/", 1)
	follower.Admin(t).With("traceparent", clientSpan).Object("POST", features, map[string]any{"name": "traced"}, 201)

	const request = "POST /api/v1/projects/{project_pk}/features/"
	got := c.Wait(t, clientTrace, map[string]int{request: 1, "forward": 1, "write": 1, "wait": 1, "propose": 1, "apply": 2, "view": 1})
	one := func(name string) tracingtest.Span { return got[name][0] }
	require.Equal(t, strings.Repeat("\x11", 8), string(one(request).ParentSpanId), "the client's span")
	require.Equal(t, one(request).SpanId, one("forward").ParentSpanId)
	require.Equal(t, one("forward").SpanId, one("write").ParentSpanId)
	require.Equal(t, one("write").SpanId, one("propose").ParentSpanId)
	require.Equal(t, one(request).SpanId, one("view").ParentSpanId)
	require.Equal(t, one("forward").Node, one(request).Node)
	require.Equal(t, one("view").Node, one(request).Node)
	require.NotEqual(t, one("write").Node, one(request).Node, "the leader's part is told by the leader")
	appliedBy(t, got["apply"], one("write"), one(request))
}

// appliedBy fails unless applies were told by the nodes of two spans.
func appliedBy(t *testing.T, applies []tracingtest.Span, one, other tracingtest.Span) {
	t.Helper()
	applied, both := []string{applies[0].Node, applies[1].Node}, []string{one.Node, other.Node}
	slices.Sort(applied)
	slices.Sort(both)
	require.Equal(t, both, applied)
}

// TestWhatIsStoredOfIdentitiesIsOneTraceOverAllNodes is the same for the ways in which SDKs store identities.
func TestWhatIsStoredOfIdentitiesIsOneTraceOverAllNodes(t *testing.T) {
	c := tracingtest.Start(t)
	nodes := servertest.Cluster(t, 3)
	admin := nodes[1].Admin(t) // what it answered it shows
	org := admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "acme"}, 201)
	proj := admin.Object("POST", "/api/v1/projects/", map[string]any{"name": "shop", "organisation": org["id"]}, 201)
	env := admin.Object("POST", "/api/v1/environments/", map[string]any{"name": "live", "project": proj["id"]}, 201)
	traits := []map[string]any{{"trait_key": "plan", "trait_value": "gold"}}

	for i, call := range []struct {
		path string
		body any
	}{
		{"/api/v1/identities/", map[string]any{"identifier": "ann", "traits": traits}},
		{"/api/v1/bulk-identities/", map[string]any{"data": []any{map[string]any{"identifier": "bob", "traits": traits}, map[string]any{"identifier": "cid", "traits": traits}}}},
		{"/api/v1/traits/", map[string]any{"identity": map[string]any{"identifier": "dan"}, "trait_key": "plan", "trait_value": "gold"}},
	} {
		sdk := nodes[1].Client(t).With("X-Environment-Key", env["api_key"].(string)).With("traceparent", fmt.Sprintf("00-%032x-%016x-01", i+1, 0x22))
		answer := sdk.Do("POST", call.path, call.body)
		require.Equal(t, 200, answer.Status, answer.Raw)
		request := "POST " + call.path
		trace := strings.Repeat("\x00", 15) + string(rune(i+1))
		got := c.Wait(t, trace, map[string]int{request: 1, "store": 1, "batch": 1, "forward": 1, "write": 1, "wait": 2, "propose": 1, "apply": 2})
		one := func(name string) tracingtest.Span { return got[name][0] }
		within := func(name, parent string) { require.Equal(t, one(parent).SpanId, one(name).ParentSpanId, name) }
		within("store", request)
		within("batch", "store")
		within("forward", "batch")
		within("write", "forward")
		within("propose", "write")
		parents := []string{string(got["wait"][0].ParentSpanId), string(got["wait"][1].ParentSpanId)}
		require.ElementsMatch(t, []string{string(one("store").SpanId), string(one("write").SpanId)}, parents, "until it is sent, and on the leader")
		for _, name := range []string{"store", "batch", "forward"} {
			require.Equal(t, one(request).Node, one(name).Node, name)
		}
		require.NotEqual(t, one("write").Node, one(request).Node, "the leader's part is told by the leader")
		appliedBy(t, got["apply"], one("write"), one(request))
	}

	leader := nodes[0].Client(t).With("X-Environment-Key", env["api_key"].(string)).With("traceparent", clientSpan)
	require.Equal(t, 200, leader.Do("POST", "/api/v1/identities/", map[string]any{"identifier": "eve"}).Status)
	c.Wait(t, clientTrace, map[string]int{"POST /api/v1/identities/": 1, "store": 1, "batch": 1, "forward": 1, "write": 1, "wait": 2, "propose": 1, "apply": 1})

	require.Equal(t, 200, leader.Do("POST", "/api/v1/identities/", map[string]any{"identifier": "eve"}).Status, "nothing new: nothing is stored")
	got := c.Wait(t, clientTrace, map[string]int{"POST /api/v1/identities/": 2, "store": 1, "batch": 1, "forward": 1, "write": 1, "wait": 2, "propose": 1, "apply": 1})
	require.Len(t, got["store"], 1)
}

// TestALeaderThatKnowsNoTracesOfIdentities is one of an older version, during an upgrade.
func TestALeaderThatKnowsNoTracesOfIdentities(t *testing.T) {
	c := tracingtest.Start(t)
	nodes := servertest.Cluster(t, 3)
	nodes[0].ForgetTraces()
	admin := nodes[1].Admin(t)
	org := admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "acme"}, 201)
	proj := admin.Object("POST", "/api/v1/projects/", map[string]any{"name": "shop", "organisation": org["id"]}, 201)
	env := admin.Object("POST", "/api/v1/environments/", map[string]any{"name": "live", "project": proj["id"]}, 201)
	sdk := nodes[1].Client(t).With("X-Environment-Key", env["api_key"].(string)).With("traceparent", clientSpan)
	answer := sdk.Do("POST", "/api/v1/identities/", map[string]any{"identifier": "ann", "traits": []map[string]any{{"trait_key": "plan", "trait_value": "gold"}}})
	require.Equal(t, 200, answer.Status, answer.Raw)
	require.NotEqual(t, "false", answer.Header.Get("Flagraft-Traits-Persisted"))
	c.Wait(t, clientTrace, map[string]int{"POST /api/v1/identities/": 1, "store": 1, "batch": 1, "wait": 1, "forward": 1, "apply": 1})
}
