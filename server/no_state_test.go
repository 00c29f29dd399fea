package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server/servertest"
	"github.com/flagraft/flagraft/server/settings"
)

// TestANodeWithoutStateJudgesNoToken: it knows none, and says so rather than that the token is wrong.
func TestANodeWithoutStateJudgesNoToken(t *testing.T) {
	t.Parallel()
	n := servertest.Launch(t, func(st *settings.Settings) { st.BootstrapExpect = 0 })
	c := n.Client(t).With("Authorization", "Token of-the-cluster")
	for _, path := range []string{backupPath, exportPath, "/api/v1/organisations/", "/api/flagraft/v1/nodes/", "/api/flagraft/v1/cluster/load/", "/api/flagraft/v1/events/"} {
		a := c.Do("GET", path, nil)
		require.Equal(t, 503, a.Status, "%s: %s", path, a.Raw)
		require.Contains(t, a.Raw, "no state yet", path)
	}
}
