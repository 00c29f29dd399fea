package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
