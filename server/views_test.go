package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
)

// someEnvironment makes a project with an environment and a feature, and gives the key and the id of the feature.
func someEnvironment(t *testing.T, admin *servertest.Client) (project float64, key string, feature float64) {
	t.Helper()
	organisation := admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "O"}, 201)["id"]
	project = admin.Object("POST", "/api/v1/projects/", map[string]any{"name": "P", "organisation": organisation}, 201)["id"].(float64)
	key = admin.Object("POST", "/api/v1/environments/", map[string]any{"name": "E", "project": project}, 201)["api_key"].(string)
	feature = admin.Object("POST", fmt.Sprintf("/api/v1/projects/%v/features/", project), map[string]any{"name": "f"}, 201)["id"].(float64)
	return project, key, feature
}

func TestReachedViews(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3)
	follower := nodes[0]
	if follower.IsLeader() {
		follower = nodes[1]
	}
	admin := follower.Admin(t)
	_, key, feature := someEnvironment(t, admin)
	views := "/api/flagraft/v1/environments/" + key + "/views/"
	switched := admin.Do("PATCH", fmt.Sprintf("/api/__future__/environments/%s/features/%v/", key, feature), map[string]any{"environment_default": map[string]any{"enabled": true}})
	require.Equal(t, 200, switched.Status, switched.Raw)
	index := switched.Header.Get("Flagraft-Index")
	for _, n := range nodes {
		got := n.Admin(t).Object("GET", views+"?index="+index, nil, 200)
		require.Equal(t, true, got["reached"], got)
		require.Equal(t, 3.0, got["ready_nodes"])
		require.GreaterOrEqual(t, got["everywhere"], got["index"])
		for _, other := range nodes { // what it says is true of every node
			flags := other.Client(t).With("X-Environment-Key", key).Do("GET", "/api/v1/flags/", nil)
			require.Contains(t, flags.Raw, `"enabled":true`)
		}
	}
	epoch, _, _ := strings.Cut(index, "-")
	far := admin.Object("GET", views+"?index="+epoch+"-999999999", nil, 200)
	require.Equal(t, false, far["reached"])
	require.Equal(t, 999999999.0, far["index"])
	require.Equal(t, true, admin.Object("GET", views+"?index=zzz-999999999", nil, 200)["reached"], "of another epoch")
	require.Equal(t, 404, admin.Do("GET", "/api/flagraft/v1/environments/nowhere/views/", nil).Status)
	require.Equal(t, 401, follower.Client(t).Do("GET", views, nil).Status)
}

// follow opens a stream of events and gives its lines.
func follow(t *testing.T, n *servertest.Node, token string) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", n.Base+"/api/flagraft/v1/events/", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", token)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	require.Equal(t, 200, resp.StatusCode)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			if s.Text() != "" {
				lines <- s.Text()
			}
		}
	}()
	first := <-lines
	require.Equal(t, ": "+n.State().Genesis.Epoch, first)
	return lines
}

// TestEventsAfterAQuietTime: the change log may have lost its last entry since the stream began, or before.
func TestEventsAfterAQuietTime(t *testing.T) {
	t.Parallel()
	n := servertest.Start(t)
	admin := n.Admin(t)
	early := follow(t, n, "Token "+n.Token(t))
	require.NoError(t, n.Update(t.Context(), func(tx *fsm.Tx) error { // as retention does
		for entry := range fsm.ChangeLog.All(tx) {
			fsm.ChangeLog.Delete(tx, entry.ID)
		}
		return nil
	}))
	late := follow(t, n, "Token "+n.Token(t))
	admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "O"}, 201)
	models(t, late, "Organisation")
	models(t, early, "Organisation")
}

// models waits for an event that names the model.
func models(t *testing.T, lines <-chan string, model string) map[string]any {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case line, open := <-lines:
			require.True(t, open, "the stream ended")
			var e map[string]any
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			require.NoError(t, json.Unmarshal([]byte(data), &e), line)
			for _, m := range e["models"].([]any) {
				if m == model {
					return e
				}
			}
		case <-deadline:
			require.Fail(t, "no event", model)
		}
	}
}

func TestEvents(t *testing.T) {
	n := servertest.Start(t)
	admin := n.Admin(t)
	register := func(name string) (id float64, token string) {
		u := n.Client(t).Object("POST", "/api/v1/auth/users/", map[string]any{"email": name + "@example.com", "password": "Sesame-open-2!", "first_name": name, "last_name": "x"}, 201)
		return u["id"].(float64), "Token " + u["key"].(string)
	}
	annID, annToken := register("ann")
	_, bobToken := register("bob")
	ann := n.Client(t).With("Authorization", annToken)
	organisation := ann.Object("POST", "/api/v1/organisations/", map[string]any{"name": "Ann's"}, 201)["id"]
	super, hers, his := follow(t, n, "Token "+n.Token(t)), follow(t, n, annToken), follow(t, n, bobToken)

	project := ann.Object("POST", "/api/v1/projects/", map[string]any{"name": "P", "organisation": organisation}, 201)["id"]
	event := models(t, hers, "Project")
	require.Equal(t, []any{annID}, event["users"])
	require.NotContains(t, fmt.Sprint(event), "P ", "nothing of what is in the rows")
	models(t, super, "Project")
	ann.Object("POST", fmt.Sprintf("/api/v1/projects/%v/tags/", project), map[string]any{"label": "a"}, 201)
	models(t, hers, "Tag")

	admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "For all"}, 201)
	first := models(t, his, "Organisation") // a superuser's change is everybody's; of Ann's, Bob heard nothing
	require.NotContains(t, first["models"], "Project")
	require.NotContains(t, first["models"], "Tag")
	require.Equal(t, 204, ann.Do("POST", "/api/v1/auth/logout/", nil).Status)
	admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "More"}, 201)
	for range hers { // ends with the token
	}
	require.Equal(t, 401, n.Client(t).Do("GET", "/api/flagraft/v1/events/", nil).Status)
}

func TestFeatureHistory(t *testing.T) {
	n := servertest.Start(t)
	admin := n.Admin(t)
	project, key, feature := someEnvironment(t, admin)
	flag := fmt.Sprintf("/api/__future__/environments/%s/features/%v/", key, feature)
	history := fmt.Sprintf("/api/flagraft/v1/environments/%s/features/%v/history/", key, feature)
	admin.Object("PATCH", flag, map[string]any{"environment_default": map[string]any{"enabled": true, "value": map[string]any{"type": "string", "value": "new"}}}, 200)
	segment := admin.Object("POST", fmt.Sprintf("/api/v1/projects/%v/segments/", project), map[string]any{"name": "vip", "rules": []any{map[string]any{
		"type": "ALL", "rules": []any{map[string]any{"type": "ANY", "conditions": []any{map[string]any{"operator": "EQUAL", "property": "p", "value": "1"}}}}}}}, 201)["id"]
	admin.Object("PATCH", flag, map[string]any{"segment_overrides": []any{map[string]any{"segment": map[string]any{"id": segment}, "enabled": false}}}, 200)
	admin.Object("POST", fmt.Sprintf("/api/v1/projects/%v/features/", project), map[string]any{"name": "other"}, 201)

	events := admin.Object("GET", history, nil, 200)["results"].([]any)
	require.Len(t, events, 3)
	change := func(event, i int) map[string]any {
		return events[event].(map[string]any)["changes"].([]any)[i].(map[string]any)
	}
	for i := range 2 {
		require.Equal(t, []any{"segment", "vip", segment}, []any{change(0, i)["scope"], change(0, i)["name"], change(0, i)["target"]})
	}
	switched := change(1, 0)
	require.Equal(t, "default", switched["scope"])
	require.Equal(t, "UPDATE", switched["change_type"])
	require.Contains(t, switched["changes"], map[string]any{"field": "enabled", "old": false, "new": true})
	require.Contains(t, switched["changes"], map[string]any{"field": "value", "old": nil, "new": "new"})
	require.Equal(t, servertest.AdminEmail, events[1].(map[string]any)["author"].(map[string]any)["name"])

	page := admin.Object("GET", history+"?limit=1", nil, 200)
	require.Equal(t, events[0], page["results"].([]any)[0])
	next := strings.TrimPrefix(page["next"].(string), n.Base)
	require.Equal(t, events[1], admin.Object("GET", next, nil, 200)["results"].([]any)[0])
	require.Equal(t, 403, admin.Do("GET", strings.Replace(history, key, "nowhere", 1), nil).Status)
}
