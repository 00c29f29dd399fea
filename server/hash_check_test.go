package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/servertest"
)

// TestANodeWithAnotherStateStops corrupts one of three nodes, a follower and then the leader: that one stops, and the others go on without it.
func TestANodeWithAnotherStateStops(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]int{"follower": 1, "leader": 0} {
		t.Run(name, func(t *testing.T) {
			stopped := make(chan *server.Node, 3)
			nodes := servertest.ClusterOf(t, 3, func(n *server.Node) {
				n.HashChecks = fsm.HashCheckPolicy{Entries: 10, Interval: time.Hour, Patience: 5 * time.Second}
				n.OnFatal = func(err error) {
					require.ErrorIs(t, err, fsm.ErrDiverged)
					stopped <- n
				}
			})
			admin := nodes[0].Admin(t)
			project := admin.Object("POST", "/api/v1/projects/", map[string]any{"name": "P", "organisation": 1}, 201)
			tags := fmt.Sprintf("/api/v1/projects/%v/tags/", project["id"])
			write := func(c *servertest.Client, n int) {
				for i := range n {
					c.Object("POST", tags, map[string]any{"label": fmt.Sprint(i), "color": "#fff"}, 201)
				}
			}
			agreed := func(n *servertest.Node, differ int) func() bool {
				return func() bool {
					v := n.Machine().Verdict()
					return v.Mark > 0 && v.Agreed+len(v.Differ) == 3 && len(v.Differ) == differ
				}
			}
			require.Eventually(t, func() bool { return nodes[0].State().Level() == fsm.FormatLevel }, 20*time.Second, time.Millisecond)
			write(admin, 12)
			for _, n := range nodes {
				require.Eventually(t, agreed(n, 0), 20*time.Second, 5*time.Millisecond, "no comparison")
			}
			require.Empty(t, stopped, "nothing is wrong yet")

			nodes[wrong].Corrupt(t)
			write(admin, 12) // the leader still answers; a check is due
			select {
			case n := <-stopped:
				require.Same(t, nodes[wrong].Node, n)
				require.NoError(t, n.Stop(t.Context()))
			case <-time.After(20 * time.Second):
				t.Fatal("the wrong node goes on")
			}
			for i, n := range nodes {
				if i != wrong {
					require.Eventually(t, agreed(n, 1), 20*time.Second, 5*time.Millisecond)
				}
			}
			survivor := nodes[2].Admin(t)
			write(survivor, 12)
			require.NotZero(t, nodes[2].Metric(t, "flagraft_hash_mismatches_total")) // more than once where another check was due before the node was stopped
			for range len(stopped) {                                                 // another verdict may have been there before the node was stopped
				require.Same(t, nodes[wrong].Node, <-stopped, "one of the majority stopped")
			}
		})
	}
}
