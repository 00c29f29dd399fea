package e2e

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestWithoutDescriptors takes a node's file descriptors away while it runs: connections wait, and are served when there are some again.
func TestWithoutDescriptors(t *testing.T) {
	c, ctx := start(t, 1)
	n := c.Nodes[0]
	p := project(t, ctx, n)
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.PID()))
	require.NoError(t, err)
	few := unix.Rlimit{Cur: uint64(len(entries) + 10), Max: uint64(len(entries) + 10)}
	require.NoError(t, unix.Prlimit(n.PID(), unix.RLIMIT_NOFILE, &few, nil))
	idle := make([]net.Conn, 50)
	for i := range idle {
		idle[i], err = net.Dial("tcp", n.API)
		require.NoError(t, err, "the system takes it, if nobody else")
	}
	printed := func() string {
		log, err := os.ReadFile(n.Log)
		require.NoError(t, err)
		return string(log)
	}
	require.Eventually(t, func() bool { return strings.Contains(printed(), "too many open files") }, time.Minute, 10*time.Millisecond)
	for _, conn := range idle {
		require.NoError(t, conn.Close())
	}
	_, err = n.Client().With("X-Environment-Key", p.EnvironmentKey).Must(ctx, "GET", "/api/v1/flags/", nil, 200)
	require.NoError(t, err)
	n.Terminate()
	require.Zero(t, n.ExitCode())
}
