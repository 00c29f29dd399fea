package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// edgeProxy plays the part of a Flagsmith edge-proxy: it keeps one environment's
// document and polls for it with a date made from the document's own updated_at.
type edgeProxy struct {
	client   *nodes.Client
	document object
	updated  time.Time
}

func newEdgeProxy(n *nodes.Node, serverKey string) *edgeProxy {
	return &edgeProxy{client: n.Client().With("X-Environment-Key", serverKey).With("User-Agent", "python-httpx/0.27.2")}
}

// poll asks once and keeps the document of a 200; other answers leave the old one.
func (e *edgeProxy) poll(t *testing.T, ctx context.Context) int {
	t.Helper()
	c := e.client
	if e.document != nil {
		c = c.With("If-Modified-Since", e.updated.UTC().Format(http.TimeFormat))
	}
	a, err := c.Do(ctx, "GET", "/api/v1/environment-document/", nil)
	require.NoError(t, err)
	switch a.Status {
	case http.StatusOK:
		document, ok := a.JSON().(object)
		require.True(t, ok, "%.200s", a.Body)
		updated, err := time.Parse(time.RFC3339Nano, document["updated_at"].(string))
		require.NoError(t, err)
		require.False(t, updated.Before(e.updated), "a document older than the one before: %v < %v", updated, e.updated)
		require.Equal(t, updated.UTC().Format(http.TimeFormat), a.Header.Get("Last-Modified"))
		e.document, e.updated = document, updated
	case http.StatusNotModified:
		require.Empty(t, a.Body)
	}
	return a.Status
}

// value is what the proxy would serve for the flag.
func (e *edgeProxy) value(name string) any {
	for _, s := range e.document["feature_states"].([]any) {
		if s.(object)["feature"].(object)["name"] == name {
			return s.(object)["feature_state_value"]
		}
	}
	return nil
}

// settled makes one change in a second of its own: the version before it is of an
// earlier second, so a date tells the two apart.
func settled(t *testing.T, change func()) {
	t.Helper()
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1050 * time.Millisecond)))
	change()
}

// TestEdgeProxy polls the document as an edge-proxy does: 200, then 304 until
// something changes, and the change at the next poll.
func TestEdgeProxy(t *testing.T) {
	c, ctx := start(t, 3)
	p := everywhere(t, ctx, c)
	n := c.Nodes[1]
	admin := at(n, p.Admin)
	features := fmt.Sprintf("/api/v1/projects/%d/features/", p.ID)
	made, err := admin.Must(ctx, "POST", features, object{"name": "banner", "initial_value": "v0"}, 201)
	require.NoError(t, err)
	list, err := admin.Must(ctx, "GET", "/api/v1/environments/"+p.EnvironmentKey+"/featurestates/?feature_name=banner", nil, 200)
	require.NoError(t, err)
	state := fmt.Sprintf("/api/v1/environments/%s/featurestates/%v/", p.EnvironmentKey, list.Get("results").([]any)[0].(object)["id"])
	set := func(value string) {
		_, err := admin.Must(ctx, "PATCH", state, object{"feature_state_value": value}, 200)
		require.NoError(t, err)
	}
	settled(t, func() { set("v1") })

	proxy := newEdgeProxy(n, p.ServerKey)
	require.Equal(t, http.StatusOK, proxy.poll(t, ctx))
	require.Equal(t, "v1", proxy.value("banner"))
	require.Equal(t, p.EnvironmentKey, proxy.document["api_key"])
	require.Contains(t, proxy.document["project"], "server_key_only_feature_ids")
	for range 3 {
		require.Equal(t, http.StatusNotModified, proxy.poll(t, ctx))
	}

	var identity int64
	for name, change := range map[string]func(){
		"value": func() { set("v2") },
		"new feature": func() {
			_, err := admin.Must(ctx, "POST", features, object{"name": "later"}, 201)
			require.NoError(t, err)
		},
		"identity override": func() {
			a, err := admin.Must(ctx, "POST", "/api/v1/environments/"+p.EnvironmentKey+"/identities/", object{"identifier": "vip"}, 201)
			require.NoError(t, err)
			identity = a.ID("id")
			_, err = admin.Must(ctx, "POST", fmt.Sprintf("/api/v1/environments/%s/identities/%d/featurestates/", p.EnvironmentKey, identity),
				object{"feature": made.ID("id"), "enabled": true, "feature_state_value": "vip"}, 201)
			require.NoError(t, err)
		},
	} {
		settled(t, change)
		require.Equal(t, http.StatusOK, proxy.poll(t, ctx), "%s shows at the next poll", name)
		require.Equal(t, http.StatusNotModified, proxy.poll(t, ctx), "after %s", name)
	}
	require.Len(t, proxy.document["identity_overrides"], 1)

	// Traits are no part of the document.
	_, err = n.Client().With("X-Environment-Key", p.EnvironmentKey).Must(ctx, "POST", "/api/v1/identities/",
		object{"identifier": "someone", "traits": []object{{"trait_key": "k", "trait_value": 1}}}, 200)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotModified, proxy.poll(t, ctx))

	// Two changes within one second: the proxy polls between them and ends on the second.
	for i := range 5 {
		first, second := fmt.Sprintf("first-%d", i), fmt.Sprintf("second-%d", i)
		settled(t, func() { set(first) })
		proxy.poll(t, ctx)
		require.Equal(t, first, proxy.value("banner"))
		set(second)
		proxy.poll(t, ctx)
		require.Equal(t, second, proxy.value("banner"))
	}

	// A wrong key is refused and the old document stays.
	wrong := newEdgeProxy(n, p.EnvironmentKey)
	require.Equal(t, http.StatusForbidden, wrong.poll(t, ctx))
	require.Nil(t, wrong.document)

	// Its node restarts: the same document, so a 304 once the last change stands alone in its second.
	settled(t, func() { set("last") })
	require.Equal(t, http.StatusOK, proxy.poll(t, ctx))
	n.Terminate()
	require.NoError(t, n.Start())
	require.NoError(t, n.WaitReady(ctx))
	require.Equal(t, http.StatusNotModified, proxy.poll(t, ctx))
	require.Equal(t, "last", proxy.value("banner"))

	// Through the other nodes it is the same document.
	for _, other := range c.Nodes {
		moved := *proxy
		moved.client = newEdgeProxy(other, p.ServerKey).client
		require.Equal(t, http.StatusNotModified, moved.poll(t, ctx))
	}
}
