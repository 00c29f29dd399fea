package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mcpPlace is where the tools work: made before, since no tool makes projects or environments.
type mcpPlace struct {
	organisation, project    int64
	environment, versioned   int64
	key, versionedKey, title string
}

// TestMCP plays the MCP server: every tool with a master key, as it runs for one user, and again with the header
// that a signed-in program sends, as it runs for many.
func TestMCP(t *testing.T) {
	in, ctx := install(t)
	t.Run("stdio", func(t *testing.T) {
		m := &mcp{in.tool(t, ctx, "Api-Key "+in.master), map[string]bool{}}
		everyTool(m, in)
	})
	t.Run("http", func(t *testing.T) {
		x := in.tool(t, ctx, "")
		bearer := register(x, in.tool(t, ctx, "Token "+in.token))
		x.client = x.client.With("Authorization", "Bearer "+bearer).With("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").With("tracestate", "a=b")
		everyTool(&mcp{x, map[string]bool{}}, in)
	})
	t.Run("description", func(t *testing.T) { describedAsBundled(in.tool(t, ctx, "")) })
}

// register is what a program does that an MCP server sends to the API for its tokens.
func register(x, account *tool) string {
	md := discover(x)
	l := newLogin(x, "", "mcp")
	made := x.send("POST", parse(x, md.Registration).RequestURI(), object{"client_name": "Assistant", "redirect_uris": []string{l.address}, "scope": "mcp",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"}, "token_endpoint_auth_method": "none"}, 201)
	l.client = made.Text("client_id")
	require.NotEmpty(x, l.client)
	require.Nil(x, made.Get("client_secret"))
	first := l.tokens(l.redeem(l.browse(account, true).Get("code"), 200))
	return l.tokens(l.refresh(first.Refresh, 200)).Access
}

// everyTool calls every tool with real input.
func everyTool(m *mcp, in *installation) {
	p := place(m, in)
	organisationTools(m, p)
	projectTools(m, p)
	feature := featureTools(m, p)
	optionTools(m, p, feature)
	segment := segmentTools(m, p)
	stateTools(m, p, feature, segment)
	versionTools(m, p, feature, segment)
	for name := range mcpTools {
		require.True(m, m.called[name], "%s was not called", name)
	}
	for name, operation := range mcpAbsent {
		method, path, body := request(operation, object{"organisation_pk": p.organisation, "project_pk": p.project, "environment_api_key": p.key,
			"feature_pk": feature, "id": 1, "experiment_id": 1})
		a, err := m.client.Do(m.ctx, method, path, body)
		require.NoError(m, err)
		require.Equal(m, 404, a.Status, name)
	}
}

// place makes a project with an environment of each kind.
func place(m *mcp, in *installation) mcpPlace {
	p := mcpPlace{organisation: in.organisation, title: m.Name()}
	account := in.tool(m.T, m.ctx, "Token "+in.token)
	p.project = account.send("POST", "/api/v1/projects/", object{"name": p.title, "organisation": p.organisation}, 201).ID("id")
	plain := account.send("POST", "/api/v1/environments/", object{"name": "Plain", "project": p.project}, 201)
	versioned := account.send("POST", "/api/v1/environments/", object{"name": "Versioned", "project": p.project}, 201)
	p.environment, p.key = plain.ID("id"), plain.Text("api_key")
	p.versioned, p.versionedKey = versioned.ID("id"), versioned.Text("api_key")
	account.send("POST", "/api/v1/environments/"+p.versionedKey+"/enable-v2-versioning/", nil, 202)
	return p
}

func organisationTools(m *mcp, p mcpPlace) {
	require.Contains(m, names(m.page("list_organizations", nil)), "Acme")
	require.Contains(m, names(m.list("list_projects_in_organization", object{"id": p.organisation})), p.title)
	require.Empty(m, m.page("list_organization_groups", object{"organisation_pk": p.organisation}))
	email := p.key + "@example.com"
	made := m.call("create_organization_invite", object{"organisation_pk": p.organisation, "email": email, "role": "USER"}, 201)
	require.Equal(m, "USER", made.Text("role"))
	var invited []any
	for _, i := range m.page("list_organization_invites", object{"organisation_pk": p.organisation}) {
		invited = append(invited, i["email"])
	}
	require.Contains(m, invited, made.Get("email"))
}

func names(rows []object) (out []any) {
	for _, r := range rows {
		out = append(out, r["name"])
	}
	return out
}

func projectTools(m *mcp, p mcpPlace) {
	got := m.call("update_project", object{"id__path": p.project, "id": p.project, "name": p.title, "organisation": p.organisation, "hide_disabled_flags": true}, 200)
	require.Equal(m, true, got.Get("hide_disabled_flags"))
	got = m.call("get_project", object{"id": p.project}, 200)
	require.Equal(m, true, got.Get("hide_disabled_flags"))
	require.Equal(m, p.title, got.Text("name"))
	require.EqualValues(m, "0", got.Get("total_features"))
	require.Equal(m, []any{"Plain", "Versioned"}, names(m.list("list_project_environments", object{"id": p.project})))
	environments := m.page("list_environments", object{"project": p.project})
	require.Equal(m, []any{"Plain", "Versioned"}, names(environments))
	require.Equal(m, p.key, environments[0]["api_key"])
}

func featureTools(m *mcp, p mcpPlace) int64 {
	made := m.call("create_feature", object{"project_pk": p.project, "name": "chat", "initial_value": "hello", "default_enabled": false, "description": "Made by an assistant"}, 201)
	feature := made.ID("id")
	require.Equal(m, "STANDARD", made.Text("type"))
	got := m.call("update_feature", object{"project_pk": p.project, "id__path": feature, "id": feature, "name": "chat", "description": ""}, 200)
	require.Contains(m, string(got.Body), `"description":""`)
	got = m.call("get_feature_flag", object{"project_pk": p.project, "id": feature}, 200)
	require.Equal(m, "chat", got.Text("name"))
	require.Equal(m, "hello", got.Text("initial_value"))
	require.Contains(m, string(got.Body), `"description":""`)
	state := m.page("list_project_features", object{"project_pk": p.project, "environment": p.environment, "search": "cha", "page_size": 10})[0]["environment_feature_state"].(object)
	require.Equal(m, "hello", state["feature_state_value"])
	require.Equal(m, false, state["enabled"])
	require.Empty(m, m.page("list_project_features", object{"project_pk": p.project, "is_archived": true}))

	require.Empty(m, m.list("get_feature_evaluation_data", object{"project_pk": p.project, "id": feature, "environment_id": p.environment, "period": 30}))
	require.Empty(m, m.list("get_feature_code_references", object{"project_pk": p.project, "feature_pk": feature}))
	require.JSONEq(m, `{"results":[]}`, string(m.call("get_feature_external_resources", object{"project_pk": p.project, "feature_pk": feature}, 200).Body))
	require.Empty(m, m.list("get_feature_health_events", object{"project_pk": p.project}))
	counts := decode[map[string]int](m.tool, m.call("get_feature_lifecycle_counts", object{"environment_pk": p.environment}, 200))
	require.Equal(m, map[string]int{"new": 1, "live": 0, "stale": 0, "permanent": 0, "needs_monitoring": 0, "to_remove": 0}, counts)
	return feature
}

func optionTools(m *mcp, p mcpPlace, feature int64) {
	of := object{"project_pk": p.project, "feature_pk": feature}
	with := func(more object) object {
		for k, v := range of {
			more[k] = v
		}
		return more
	}
	option := m.call("create_feature_multivariate_option", with(object{"feature": feature, "type": "unicode", "string_value": "hi", "default_percentage_allocation": 25.5}), 201).ID("id")
	require.Equal(m, "MULTIVARIATE", m.call("get_feature_flag", object{"project_pk": p.project, "id": feature}, 200).Text("type"))
	got := m.call("update_feature_multivariate_option", with(object{"id__path": option, "id": option, "feature": feature, "type": "int", "integer_value": 3,
		"default_percentage_allocation": 50}), 200)
	require.Equal(m, json.Number("3"), got.Get("integer_value"))
	rows := m.page("list_feature_multivariate_options", of)
	require.Len(m, rows, 1)
	require.InDelta(m, 50, rows[0]["default_percentage_allocation"], 0)
	m.call("delete_feature_multivariate_option", with(object{"id": option}), 204)
	require.Empty(m, m.page("list_feature_multivariate_options", of))
}

func segmentTools(m *mcp, p mcpPlace) int64 {
	rules := func(plan string) []object {
		return []object{{"type": "ALL", "conditions": []object{}, "rules": []object{{"type": "ANY", "conditions": []object{{"property": "plan", "operator": "EQUAL", "value": plan}}}}}}
	}
	segment := m.call("create_project_segment", object{"project_pk": p.project, "name": "gold", "project": p.project, "rules": rules("gold")}, 201).ID("id")
	m.call("update_project_segment", object{"project_pk": p.project, "id__path": segment, "id": segment, "name": "silver", "project": p.project, "rules": rules("silver")}, 200)
	got := m.call("get_project_segment", object{"project_pk": p.project, "id": segment}, 200)
	require.Equal(m, "silver", got.Text("name"))
	require.Contains(m, string(got.Body), `"value":"silver"`)
	require.Equal(m, []any{"silver"}, names(m.page("list_project_segments", object{"project_pk": p.project, "q": "ilve"})))
	return segment
}

// stateTools change what a feature does in an environment without versions.
func stateTools(m *mcp, p mcpPlace, feature, segment int64) {
	id := number(m.page("list_project_features", object{"project_pk": p.project, "environment": p.environment})[0]["environment_feature_state"].(object)["id"])
	got := m.call("update_environment_feature_state", object{"environment_api_key": p.key, "id__path": id, "id": id, "feature": feature, "enabled": true, "feature_state_value": 42}, 200)
	require.Equal(m, json.Number("42"), got.Get("feature_state_value"))
	require.Equal(m, id, got.ID("id"))

	made := m.call("create_segment_override", object{"environment_api_key": p.key, "feature_pk": feature, "enabled": true,
		"feature_state_value": object{"type": "unicode", "string_value": "for silver"}, "feature_segment": object{"segment": segment, "priority": 0}}, 201)
	require.Equal(m, "for silver", made.Get("feature_state_value").(object)["string_value"])
	links := m.page("list_feature_segments", object{"environment": p.environment, "feature": feature})
	require.Len(m, links, 1)
	require.Equal(m, "silver", links[0]["segment_name"])
	got = m.call("update_feature_state", object{"id__path": made.ID("id"), "id": made.ID("id"), "feature": feature, "environment": p.environment, "feature_segment": links[0]["id"],
		"enabled": false, "feature_state_value": object{"type": "bool", "boolean_value": true}}, 200)
	require.Equal(m, true, got.Get("feature_state_value").(object)["boolean_value"])
	require.Equal(m, false, got.Get("enabled"))
	m.call("delete_feature_segment", object{"id": number(links[0]["id"])}, 204)
	require.Empty(m, m.page("list_feature_segments", object{"environment": p.environment, "feature": feature}))
}

// versionTools do the same where features have versions.
func versionTools(m *mcp, p mcpPlace, feature, segment int64) {
	of := func(more object) object {
		more["environment_pk"], more["feature_pk"] = p.versioned, feature
		return more
	}
	require.Len(m, m.page("get_environment_feature_versions", of(object{})), 1)
	version := m.call("create_environment_feature_version", of(object{"description": "try"}), 201).Text("uuid")
	inVersion := func(more object) object {
		more["environment_feature_version_pk"] = version
		return of(more)
	}
	states := m.list("get_environment_feature_version_states", inVersion(object{}))
	require.Len(m, states, 1)
	id := number(states[0]["id"])
	m.call("update_environment_feature_version_state", inVersion(object{"id__path": id, "id": id, "feature": feature, "enabled": true,
		"feature_state_value": object{"type": "int", "integer_value": 9}}), 200)
	m.call("create_environment_feature_version_state", inVersion(object{"feature": feature, "enabled": true,
		"feature_state_value": object{"type": "unicode", "string_value": "silver"}, "feature_segment": object{"segment": segment, "priority": 0}}), 201)
	require.Len(m, m.list("get_environment_feature_version_states", inVersion(object{})), 2)
	m.call("publish_environment_feature_version", of(object{"id": version}), 200)
	versions := m.page("get_environment_feature_versions", of(object{}))
	require.Len(m, versions, 2)
	require.Equal(m, version, versions[0]["uuid"])
	require.Equal(m, true, versions[0]["is_live"])
	live := m.page("list_project_features", object{"project_pk": p.project, "environment": p.versioned})[0]["environment_feature_state"].(object)
	require.InDelta(m, 9, live["feature_state_value"], 0)
}

// sameOperation writes method and path alike.
func sameOperation(operation string) string {
	method, path, _ := strings.Cut(operation, " ")
	return strings.ToUpper(method) + " " + path
}

// number is an id out of generic JSON.
func number(v any) int64 { return int64(v.(float64)) }

// describedAsBundled: the API's own description has each operation under the same name, as far as it is served.
func describedAsBundled(x *tool) {
	served := map[string]string{}
	a, err := x.client.Must(x.ctx, "GET", "/api/v1/swagger.json", nil, 200)
	require.NoError(x, err)
	document := decode[struct {
		Paths map[string]map[string]json.RawMessage
	}](x, a)
	for path, operations := range document.Paths {
		for method, raw := range operations {
			var operation struct{ OperationID string }
			if json.Unmarshal(raw, &operation) == nil && operation.OperationID != "" {
				served[operation.OperationID] = method + " " + path
			}
		}
	}
	for name, operation := range mcpTools {
		require.Equal(x, sameOperation(operation), sameOperation(served[name]), name)
	}
	for name := range mcpAbsent {
		require.NotContains(x, served, name)
	}
}
