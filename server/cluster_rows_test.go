package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

const clusterPath = "/api/flagraft/v1/cluster/"

func TestClusterIsForSuperusers(t *testing.T) {
	n := servertest.Start(t)
	admin := n.Admin(t)
	s := admin.Object("GET", clusterPath, nil, 200)
	require.Equal(t, true, s["from_leader"])
	require.Len(t, s["members"], 1)
	id := s["leader"].(string)
	require.Equal(t, id, admin.Object("GET", clusterPath+"members/"+id+"/", nil, 200)["id"])
	require.Equal(t, http.StatusNotFound, admin.Do("GET", clusterPath+"members/nobody/", nil).Status)
	require.Equal(t, http.StatusConflict, admin.Do("DELETE", clusterPath+"members/"+id+"/", nil).Status, "the only member")
	require.Equal(t, http.StatusConflict, admin.Do("POST", clusterPath+"transfer/", nil).Status)
	other := n.Client(t).Object("POST", "/api/v1/auth/users/", map[string]any{
		"email": "other@example.com", "first_name": "O", "last_name": "T", "password": servertest.AdminPassword}, 201)
	plain := n.Client(t).With("Authorization", "Token "+other["key"].(string))
	for _, do := range [][2]string{{"GET", ""}, {"GET", "members/"}, {"DELETE", "members/" + id + "/"}, {"POST", "transfer/"}} {
		require.Equal(t, http.StatusForbidden, plain.Do(do[0], clusterPath+do[1], nil).Status)
	}
}

func TestEveryNodeTellsHowBusyItIs(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3)
	admin := nodes[1].Admin(t)
	loads := func() map[string]map[string]any {
		byID := map[string]map[string]any{}
		for _, l := range admin.List("GET", clusterPath+"load/", nil, 200) {
			load := l.(map[string]any)
			byID[load["id"].(string)] = load
		}
		return byID
	}
	before := loads()
	require.Len(t, before, 3)
	id := nodes[2].Client(t).Do("GET", "/version/", nil).Header.Get("Flagraft-Node")
	for range 50 {
		nodes[2].Client(t).Do("GET", "/api/v1/flags/", nil)
	}
	after := loads()
	for _, l := range after {
		require.Empty(t, l["error"])
		require.Positive(t, l["memory_bytes"])
		require.Greater(t, l["disk_total_bytes"], l["disk_free_bytes"])
	}
	require.GreaterOrEqual(t, after[id]["requests"].(float64)-before[id]["requests"].(float64), 50.0)
	durations := after[id]["durations"].([]any)
	longest := durations[len(durations)-1].(map[string]any)
	require.Equal(t, 10.0, longest["seconds"])
	require.Equal(t, after[id]["requests"], longest["count"])

	require.NoError(t, nodes[2].Stop(t.Context()))
	require.NotEmpty(t, loads()[id]["error"], "it does not answer, and stays in the list")
}

// Leadership may be back where it was before the first one asks who has it.
func TestHandoverEndsWhereItBegan(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3)
	admin := nodes[0].Admin(t)
	leader := func() (id string) {
		require.Eventually(t, func() bool { id, _ = admin.Object("GET", clusterPath, nil, 200)["leader"].(string); return id != "" }, 30*time.Second, 5*time.Millisecond)
		return id
	}
	handOver := func(body any) func() bool {
		return func() bool { return admin.Do("POST", clusterPath+"transfer/", body).Status == 200 }
	}
	first, term := leader(), nodes[0].Term()
	require.Eventually(t, handOver(nil), 30*time.Second, 5*time.Millisecond)
	require.Eventually(t, handOver(map[string]any{"node": first}), 30*time.Second, 5*time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	now, ok := nodes[0].HandedOver(ctx, term, "")
	require.True(t, ok)
	require.NotEmpty(t, now)
}

func TestRemovedNodeSaysWhyAndLeadershipIsHandedOver(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3)
	admin := nodes[1].Admin(t)
	before := admin.Object("GET", clusterPath, nil, 200)["leader"].(string)
	after := admin.Object("POST", clusterPath+"transfer/", nil, 200)["leader"]
	require.NotEqual(t, before, after)

	env := admin.Object("GET", clusterPath, nil, 200)
	require.Len(t, env["members"], 3)
	console := follow(t, nodes[0], "Token "+nodes[1].Token(t))
	a := admin.Do("DELETE", clusterPath+"members/"+before+"/", nil)
	require.Equal(t, http.StatusNoContent, a.Status, a.Raw)
	gone := nodes[0] // it led before
	require.Eventually(t, func() bool { return !gone.Ready() }, 20*time.Second, 10*time.Millisecond)
	for range console { // to its end
	}
	for _, path := range []string{"/api/v1/flags/", "/api/v1/projects/", clusterPath, "/nowhere/"} {
		a = gone.Client(t).Do("GET", path, nil)
		require.Equal(t, http.StatusServiceUnavailable, a.Status)
		require.Contains(t, a.Raw, "removed from its cluster")
		require.NotEmpty(t, a.Header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusOK, gone.Client(t).Do("GET", "/version/", nil).Status)
	require.Len(t, admin.Object("GET", clusterPath, nil, 200)["members"], 2)
	admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "written by two"}, 201)
}

func TestFreshNodeIsToldOnItsManagementPort(t *testing.T) {
	first := servertest.Start(t)
	fresh := servertest.Launch(t, func(st *settings.Settings) { st.BootstrapExpect = 0 })
	tell := func(contentType, body string) int {
		resp, err := http.Post("http://"+fresh.ManagementAddr()+"/join", contentType, bytes.NewBufferString(body))
		require.NoError(t, err)
		resp.Body.Close()
		return resp.StatusCode
	}
	require.Equal(t, http.StatusUnsupportedMediaType, tell("text/plain", "{}"))
	for _, bad := range []string{"", "{", "{}", `{"addresses":[]}`, `{"addresses":"x"}`} {
		require.Equal(t, http.StatusBadRequest, tell("application/json", bad))
	}
	body, err := json.Marshal(map[string][]string{"addresses": {first.ClusterAddr()}})
	require.NoError(t, err)
	require.Equal(t, http.StatusAccepted, tell("application/json", string(body)))
	require.Eventually(t, fresh.Ready, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, http.StatusConflict, tell("application/json", string(body)))
}
