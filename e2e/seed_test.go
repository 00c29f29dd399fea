package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// TestInterface walks every endpoint of the interface specification on a single
// node and, unchanged, through each of three nodes, with and without the
// trailing slash.
func TestInterface(t *testing.T) {
	for _, size := range []int{1, 3} {
		c, ctx := start(t, size)
		for i, n := range c.Nodes {
			for _, slash := range []bool{true, false} {
				t.Run(fmt.Sprintf("node %d of %d, slash %v", i+1, size, slash), func(t *testing.T) {
					walk(t, ctx, n, slash)
				})
			}
		}
	}
}

// walker sends requests to one node, in one form of paths.
type walker struct {
	t     *testing.T
	ctx   context.Context
	slash bool
}

func (w walker) path(p string) string {
	p, query, found := strings.Cut(p, "?")
	p = strings.TrimSuffix(p, "/")
	if w.slash {
		p += "/"
	}
	if found {
		p += "?" + query
	}
	return p
}

func (w walker) do(c *nodes.Client, method, path string, body any, want int) *nodes.Answer {
	w.t.Helper()
	a, err := c.Must(w.ctx, method, w.path(path), body, want)
	require.NoError(w.t, err)
	return a
}

type object = map[string]any

func walk(t *testing.T, ctx context.Context, n *nodes.Node, slash bool) {
	w := walker{t, ctx, slash}
	anonymous := n.Client()

	login := w.do(anonymous, "POST", "/api/v1/auth/login/", object{"email": nodes.Email, "password": nodes.Password}, 200)
	require.Len(t, login.Text("key"), 40)
	p, err := anonymous.NewProject(ctx, "Interface")
	require.NoError(t, err)
	token := at(n, p.Admin)
	master := anonymous.With("Authorization", "Api-Key "+p.Master)
	sdk := anonymous.With("X-Environment-Key", p.EnvironmentKey)
	server := anonymous.With("X-Environment-Key", p.ServerKey)

	environment := w.do(token, "POST", "/api/v1/environments/", object{"name": "Staging", "project": p.ID}, 201)
	require.NotEmpty(t, environment.Text("api_key"), "a key is generated")

	features := fmt.Sprintf("/api/v1/projects/%d/features/", p.ID)
	feature := w.do(master, "POST", features, object{"name": "button", "initial_value": "blue"}, 201)
	require.Equal(t, "STANDARD", feature.Text("type"))
	require.NotZero(t, feature.ID("id"))

	states := "/api/v1/environments/" + p.EnvironmentKey + "/featurestates/"
	list := w.do(token, "GET", states+"?feature_name=button", nil, 200)
	results := list.Get("results").([]any)
	require.Len(t, results, 1)
	stateID := results[0].(object)["id"].(json.Number).String()
	for _, value := range []any{"red", 7, true} {
		w.do(master, "PATCH", states+stateID+"/", object{"enabled": true, "feature_state_value": value}, 200)
		shown := flag(t, w.do(sdk, "GET", "/api/v1/flags/", nil, 200), "button")
		require.Equal(t, true, shown["enabled"])
		require.Equal(t, fmt.Sprint(value), fmt.Sprint(shown["feature_state_value"]))
	}

	segments := fmt.Sprintf("/api/v1/projects/%d/segments/", p.ID)
	rules := func(plan string) []object {
		return []object{{"type": "ALL", "conditions": []any{}, "rules": []object{{"type": "ANY", "rules": []any{},
			"conditions": []object{{"property": "plan", "operator": "EQUAL", "value": plan}}}}}}
	}
	segment := w.do(token, "POST", segments, object{"name": "premium", "feature": nil, "project": p.ID, "rules": rules("gold")}, 201)
	w.do(token, "PATCH", fmt.Sprintf("%s%d/", segments, segment.ID("id")), object{"rules": rules("premium")}, 200)

	featureSegment := w.do(token, "POST", "/api/v1/features/feature-segments/",
		object{"feature": feature.ID("id"), "segment": segment.ID("id"), "environment": p.EnvironmentID}, 201)
	require.NotZero(t, featureSegment.ID("id"))
	w.do(token, "POST", "/api/v1/features/featurestates/", object{
		"feature": feature.ID("id"), "feature_segment": featureSegment.ID("id"), "environment": p.EnvironmentID, "enabled": true,
		"feature_state_value": object{"type": "unicode", "string_value": "for premium"},
	}, 201)

	identify := w.do(sdk, "POST", "/api/v1/identities/", object{"identifier": "ann",
		"traits": []object{{"trait_key": "plan", "trait_value": "premium"}, {"trait_key": "age", "trait_value": 40}}}, 200)
	require.Equal(t, "ann", identify.Text("identifier"))
	require.NotEmpty(t, identify.Header.Get("X-Flagsmith-Document-Updated-At"))
	require.Equal(t, "for premium", identityFlag(t, identify, "button")["feature_state_value"])

	w.do(sdk, "POST", "/api/v1/bulk-identities", object{"data": []object{
		{"identifier": "bob", "traits": []object{{"trait_key": "plan", "trait_value": "premium"}}},
		{"identifier": "ann", "traits": []object{{"trait_key": "plan", "trait_value": nil}}},
	}}, 200)
	require.Equal(t, true, identityFlag(t, w.do(sdk, "GET", "/api/v1/identities/?identifier=ann", nil, 200), "button")["feature_state_value"],
		"null deletes the trait")
	require.Equal(t, "for premium", identityFlag(t, w.do(sdk, "GET", "/api/v1/identities/?identifier=bob", nil, 200), "button")["feature_state_value"])

	edge := "/api/v1/environments/" + p.EnvironmentKey + "/edge-identities/"
	found := w.do(token, "GET", edge+"?page_size=10", nil, 200).Get("results").([]any)
	require.Len(t, found, 2)
	ann, bob := found[0].(object)["identity_uuid"].(string), found[1].(object)["identity_uuid"].(string)
	all := w.do(token, "GET", edge+bob+"/edge-featurestates/all/", nil, 200).JSON().([]any)
	require.Equal(t, "for premium", all[0].(object)["feature_state_value"])
	require.Equal(t, "SEGMENT", all[0].(object)["overridden_by"])

	document := w.do(server, "GET", "/api/v1/environment-document", nil, 200)
	checkDocument(t, document, p)
	w.do(sdk, "GET", "/api/v1/environment-document", nil, 403) // needs a server-side key
	w.do(server.With("If-None-Match", document.Header.Get("ETag")), "GET", "/api/v1/environment-document", nil, 304)

	w.do(token, "DELETE", edge+ann+"/", nil, 204)
	core := w.do(token, "GET", "/api/v1/environments/"+p.EnvironmentKey+"/identities/", nil, 200)
	require.EqualValues(t, 1, core.ID("count"))
	id := core.Get("results").([]any)[0].(object)["id"].(json.Number).String()
	w.do(token, "DELETE", "/api/v1/environments/"+p.EnvironmentKey+"/identities/"+id+"/", nil, 204)
	require.Empty(t, w.do(token, "GET", edge+"?page_size=10", nil, 200).Get("results"))

	for path, kind := range map[string]string{
		"/api/v1/swagger.json": "application/vnd.oai.openapi+json", "/api/v1/swagger.yaml": "application/vnd.oai.openapi", "/api/v1/docs/": "text/html",
	} {
		a, err := anonymous.Must(ctx, "GET", path, nil, 200)
		require.NoError(t, err)
		require.Contains(t, a.Header.Get("Content-Type"), kind)
	}
}

// checkDocument wants every field that the specification lists.
func checkDocument(t *testing.T, a *nodes.Answer, p *nodes.Project) {
	t.Helper()
	d := a.JSON().(object)
	for _, k := range []string{"id", "api_key", "project", "feature_states", "identity_overrides", "name", "allow_client_traits", "updated_at",
		"hide_sensitive_data", "hide_disabled_flags", "use_identity_composite_key_for_hashing", "amplitude_config", "dynatrace_config",
		"heap_config", "mixpanel_config", "rudderstack_config", "segment_config", "webhook_config"} {
		require.Contains(t, d, k)
	}
	require.Equal(t, p.EnvironmentKey, d["api_key"])
	project := d["project"].(object)
	for _, k := range []string{"id", "name", "organisation", "hide_disabled_flags", "segments", "enable_realtime_updates", "server_key_only_feature_ids"} {
		require.Contains(t, project, k)
	}
	for _, k := range []string{"id", "name", "feature_analytics", "stop_serving_flags", "persist_trait_data"} {
		require.Contains(t, project["organisation"], k)
	}
	state := d["feature_states"].([]any)[0].(object)
	for _, k := range []string{"feature", "enabled", "feature_state_value", "django_id", "feature_segment", "featurestate_uuid", "multivariate_feature_state_values"} {
		require.Contains(t, state, k)
	}
	segment := project["segments"].([]any)[0].(object)
	require.Equal(t, "for premium", segment["feature_states"].([]any)[0].(object)["feature_state_value"])
}

func flag(t *testing.T, a *nodes.Answer, name string) object {
	t.Helper()
	flags, ok := a.JSON().([]any)
	require.True(t, ok, "%s", a.Body)
	return named(t, flags, name)
}

func identityFlag(t *testing.T, a *nodes.Answer, name string) object {
	t.Helper()
	flags, ok := a.Get("flags").([]any)
	require.True(t, ok, "%s", a.Body)
	return named(t, flags, name)
}

func named(t *testing.T, flags []any, name string) object {
	t.Helper()
	for _, f := range flags {
		if f.(object)["feature"].(object)["name"] == name {
			return f.(object)
		}
	}
	t.Fatalf("no flag %s", name)
	return nil
}

// TestBadInput sends what no client should: each gets a clear error in
// Flagsmith's shape, nothing is stored, and the node goes on.
func TestBadInput(t *testing.T) {
	c, ctx := start(t, 1)
	n := c.Nodes[0]
	p := project(t, ctx, n)
	sdk := n.Client().With("X-Environment-Key", p.EnvironmentKey)
	feature := fmt.Sprintf("/api/v1/projects/%d/features/", p.ID)
	segment := fmt.Sprintf("/api/v1/projects/%d/segments/", p.ID)
	deep := strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	trait := func(v string) []byte {
		return []byte(`{"identifier":"bad","traits":[{"trait_key":"k","trait_value":` + v + `}]}`)
	}
	for _, c := range []struct {
		name, method, path string
		client             *nodes.Client
		body               []byte
		status             int
	}{
		{"malformed JSON", "POST", feature, p.Admin, []byte(`{"name":`), 400},
		{"malformed JSON, identities", "POST", "/api/v1/identities/", sdk, []byte(`{"identifier":`), 400},
		{"wrong type", "POST", feature, p.Admin, []byte(`{"name":["x"],"default_enabled":"perhaps"}`), 400},
		{"array for object", "POST", feature, p.Admin, []byte(`[1]`), 400},
		{"10 MB body", "POST", feature, p.Admin, []byte(`{"name":"` + strings.Repeat("x", 10<<20) + `"}`), 413},
		{"10 MB body, identities", "POST", "/api/v1/identities/", sdk, trait(`"` + strings.Repeat("x", 10<<20) + `"`), 413},
		{"unknown environment key", "GET", "/api/v1/flags/", n.Client().With("X-Environment-Key", "nope"), nil, 403},
		{"no environment key", "GET", "/api/v1/flags/", n.Client(), nil, 403},
		{"unknown token", "GET", "/api/v1/organisations/", n.Client().With("Authorization", "Token nope"), nil, 401},
		{"deep nesting", "POST", feature, p.Admin, []byte(deep), 400},
		{"deep nesting, identities", "POST", "/api/v1/identities/", sdk, []byte(deep), 400},
		{"invalid UTF-8", "POST", feature, p.Admin, []byte("{\"name\":\"\xff\xfe\"}"), 400},
		{"invalid UTF-8, identities", "POST", "/api/v1/identities/", sdk, []byte("{\"identifier\":\"\xff\"}"), 400},
		{"NUL", "POST", feature, p.Admin, []byte(`{"name":"a\u0000b"}`), 400},
		{"NUL, identities", "POST", "/api/v1/identities/", sdk, []byte(`{"identifier":"a\u0000b"}`), 400},
		{"2,001-character trait", "POST", "/api/v1/identities/", sdk, trait(`"` + strings.Repeat("x", 2001) + `"`), 400},
		{"201-character trait key", "POST", "/api/v1/identities/", sdk,
			[]byte(`{"identifier":"bad","traits":[{"trait_key":"` + strings.Repeat("k", 201) + `","trait_value":1}]}`), 400},
		{"unknown operator", "POST", segment, p.Admin,
			[]byte(`{"name":"s","rules":[{"type":"ALL","rules":[],"conditions":[{"property":"a","operator":"FOO","value":"1"}]}]}`), 400},
		{"wrong method", "PUT", "/api/v1/flags/", sdk, nil, 405},
		{"unknown path", "GET", "/api/v1/nothing/", p.Admin, nil, 404},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := c.client.Do(ctx, c.method, c.path, c.body)
			require.NoError(t, err)
			require.Equal(t, c.status, a.Status, "%.300s", a.Body)
			require.Equal(t, "application/json", a.Header.Get("Content-Type"))
			require.NotNil(t, a.JSON(), "an error has a JSON body: %.200s", a.Body)
		})
	}
	list, err := p.Admin.Must(ctx, "GET", feature, nil, 200)
	require.NoError(t, err)
	require.Zero(t, list.ID("count"), "nothing was stored")
	ids, err := p.Admin.Must(ctx, "GET", "/api/v1/environments/"+p.EnvironmentKey+"/identities/", nil, 200)
	require.NoError(t, err)
	require.Zero(t, ids.ID("count"), "nothing was stored")
	slowClients(t, n, p)
	_, err = sdk.Must(ctx, http.MethodGet, "/api/v1/flags/", nil, 200)
	require.NoError(t, err)
}
