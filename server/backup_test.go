package server_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server/servertest"
)

const backupPath = "/api/flagraft/v1/backup/"

// TestBackupFromAnyNode takes a backup from a follower: everything acknowledged before is in it.
func TestBackupFromAnyNode(t *testing.T) {
	t.Parallel()
	nodes := servertest.Cluster(t, 3)
	follower := nodes[2]
	admin := follower.Admin(t)
	organisation := admin.Object("POST", "/api/v1/organisations/", map[string]any{"name": "o"}, 201)["id"]
	project := admin.Object("POST", "/api/v1/projects/", map[string]any{"name": "p", "organisation": organisation}, 201)
	a := admin.Do("GET", backupPath, nil)
	require.Equal(t, 200, a.Status)
	require.Equal(t, "linearizable", a.Header.Get("Flagraft-Consistency"))
	require.Contains(t, a.Header.Get("Content-Disposition"), ".backup")
	h, err := fsm.VerifyBackup(strings.NewReader(a.Raw))
	require.NoError(t, err)
	require.Equal(t, follower.State().Genesis.Cluster.String(), h.Installation)
	require.NotEmpty(t, h.Cluster)
	require.NotEmpty(t, h.Node)
	require.NotZero(t, h.Term)
	rows := map[string]uint64{}
	for _, c := range h.Tables {
		rows[c.Name] = c.Rows
	}
	require.Equal(t, uint64(1), rows["Project"])
	require.NotNil(t, project["id"])

	require.Equal(t, "local", admin.With("Flagraft-Consistency", "local").Do("GET", backupPath, nil).Header.Get("Flagraft-Consistency"))
	require.Equal(t, 400, admin.With("Flagraft-Consistency", "perhaps").Do("GET", backupPath, nil).Status)
}

// TestBackupIsForSuperusers refuses everybody else.
func TestBackupIsForSuperusers(t *testing.T) {
	n := servertest.Start(t)
	require.Equal(t, 401, n.Client(t).Do("GET", backupPath, nil).Status)
	user := n.Client(t).Object("POST", "/api/v1/auth/users/", map[string]any{"email": "a@example.com", "password": "long-Enough-1!",
		"first_name": "A", "last_name": "B"}, 201)
	require.Equal(t, 403, n.Client(t).With("Authorization", "Token "+user["key"].(string)).Do("GET", backupPath, nil).Status)
}

// TestBackupToSomebodyWhoLeaves gives the place of a broken download back.
func TestBackupToSomebodyWhoLeaves(t *testing.T) {
	n := servertest.Start(t)
	token := n.Token(t)
	for range 6 {
		req, err := http.NewRequestWithContext(t.Context(), "GET", n.Base+backupPath, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Token "+token)
		resp, err := http.DefaultTransport.RoundTrip(req)
		require.NoError(t, err)
		_, err = io.ReadFull(resp.Body, make([]byte, 4))
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
	}
	require.Eventually(t, func() bool { return n.Admin(t).Do("GET", backupPath, nil).Status == 200 }, 10*time.Second, 10*time.Millisecond)
	for {
		before := n.State().Hash()
		var buf bytes.Buffer
		h, err := n.WriteBackup(&buf)
		require.NoError(t, err)
		if before == n.State().Hash() { // the node itself wrote nothing meanwhile
			require.Equal(t, before, h.StateHash)
			return
		}
	}
}
