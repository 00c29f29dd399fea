package servertest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/server"
	"github.com/flagraft/flagraft/server/settings"
)

// Cluster starts several nodes that form a cluster, and returns them with the leader first. All are ready.
func Cluster(t testing.TB, size int, change ...func(*settings.Settings)) []*Node {
	t.Helper()
	return ClusterOf(t, size, nil, change...)
}

// ClusterOf is Cluster with a function that sets up each node before it starts.
func ClusterOf(t testing.TB, size int, setUp func(*server.Node), change ...func(*settings.Settings)) []*Node {
	t.Helper()
	addrs := freeAddrs(t, size)
	nodes := make([]*Node, size)
	for i := range nodes {
		nodes[i] = launch(t, calmTiming(), setUp, append([]func(*settings.Settings){func(st *settings.Settings) {
			st.ClusterAddr, st.Join, st.BootstrapExpect, st.ClusterSecret = addrs[i], addrs, size, "secret"
		}}, change...)...)
	}
	for _, n := range nodes {
		require.Eventually(t, n.Ready, 20*time.Second, 5*time.Millisecond, "a node does not become ready")
	}
	require.Eventually(t, func() bool {
		for i, n := range nodes {
			if n.IsLeader() && n.Founded() {
				nodes[0], nodes[i] = nodes[i], nodes[0]
				return true
			}
		}
		return false
	}, 20*time.Second, 5*time.Millisecond, "no leader")
	return nodes
}

// freeAddrs picks loopback addresses that nobody listens on. Their ports are below those that the system gives to connections, one of which
// might have it before the node does.
func freeAddrs(t testing.TB, n int) []string {
	t.Helper()
	var out []string
	for range 100 * n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err != nil {
			continue // taken
		}
		defer func() { _ = l.Close() }() // held until all are picked
		if out = append(out, fmt.Sprint(l.Addr())); len(out) == n {
			return out
		}
	}
	require.Fail(t, "no free ports")
	return nil
}
