package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/nodes"
)

// lastOfLevelOne is the last commit whose binary knows only format level 1.
const lastOfLevelOne = "61518be8c85daa3b4d00a8c0dd289d2c212a28d5"

// oldBinary builds flagraft as of a commit; FLAGRAFT_OLD_BINARY names one that is built already.
func oldBinary(t *testing.T, commit string) string {
	t.Helper()
	if bin := os.Getenv("FLAGRAFT_OLD_BINARY"); bin != "" {
		return bin
	}
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Skipf("no git history: %v", err)
	}
	top := strings.TrimSpace(string(root))
	if exec.Command("git", "-C", top, "cat-file", "-e", commit+"^{commit}").Run() != nil {
		t.Skipf("commit %s is not in this clone: its history is shallow", commit)
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "old.tar")
	out, err := exec.Command("git", "-C", top, "archive", "-o", archive, commit).CombinedOutput()
	require.NoError(t, err, string(out))
	src := filepath.Join(dir, "src")
	require.NoError(t, os.Mkdir(src, 0o755))
	out, err = exec.Command("tar", "xf", archive, "-C", src).CombinedOutput()
	require.NoError(t, err, string(out))
	bin := filepath.Join(dir, "flagraft")
	build := exec.Command("go", "build", "-o", bin, "./cmd/flagraft")
	build.Dir = src
	out, err = build.CombinedOutput()
	require.NoError(t, err, string(out))
	return bin
}

// TestUpgradeUnderLoad replaces the binaries of three nodes of the last version of format level 1, followers first, while clients write and
// read. Nothing acknowledged is lost, no read of a node that is up fails, the level stays until the last one and then rises, and the old
// binary is refused afterwards: on the data of a node, and when it joins anew.
func TestUpgradeUnderLoad(t *testing.T) {
	current := binary(t)
	old := oldBinary(t, lastOfLevelOne)
	t.Setenv("FLAGRAFT_BINARY", old)
	c, ctx := start(t, 3)
	p := everywhere(t, ctx, c)
	schedule := map[string]any{"name": "nightly", "when": "0 3 * * *", "target": "here"}
	const schedules = "/api/flagraft/v1/backups/schedules/"

	var down atomic.Pointer[nodes.Node]
	l := startLoad(ctx, p, c, func(n *nodes.Node) bool { return n != down.Load() })
	time.Sleep(time.Second)
	leader, err := c.Leader(ctx)
	require.NoError(t, err)
	order := []*nodes.Node{}
	for _, n := range c.Nodes {
		if n != leader {
			order = append(order, n)
		}
	}
	for i, n := range append(order, leader) {
		if i > 0 {
			a, err := at(order[0], p.Admin).Do(ctx, "POST", schedules, schedule)
			require.NoError(t, err)
			require.Equal(t, 409, a.Status, "a table of level 2 before all nodes know it: %s", a.Body)
			require.Contains(t, string(a.Body), "needs format level 2")
			s, err := order[0].Status(ctx)
			require.NoError(t, err)
			require.Equal(t, uint8(1), s.FormatLevel)
		}
		down.Store(n)
		n.Terminate()
		n.Use(current)
		require.NoError(t, n.Start())
		require.NoError(t, n.WaitReady(ctx))
		down.Store(nil)
		time.Sleep(500 * time.Millisecond)
	}
	risen(t, ctx, c)
	time.Sleep(500 * time.Millisecond)
	l.end()
	require.Positive(t, l.writes.Load())
	require.Zero(t, l.failedReads.Load(), "%v", l.lastReadFail.Load())
	_, err = c.OneState(ctx)
	require.NoError(t, err)
	for _, n := range c.Nodes {
		l.check(t, ctx, n)
	}
	t.Logf("%d writes, %d reads, longest gap between writes of one client %v", l.writes.Load(), l.reads.Load(), time.Duration(l.gap.Load()))
	_, err = at(order[0], p.Admin).Must(ctx, "POST", schedules, schedule, 201)
	require.NoError(t, err)

	back := order[1]
	back.Terminate()
	back.Use(old)
	require.NoError(t, back.Start())
	require.Eventually(t, func() bool { return !back.Running() }, 30*time.Second, 50*time.Millisecond, "the old binary runs on newer data")
	log, err := os.ReadFile(back.Log)
	require.NoError(t, err)
	require.Contains(t, string(log), "the log of node")
	require.NoError(t, os.Rename(back.Dir, back.Dir+".kept"))
	require.NoError(t, back.Start())
	require.Eventually(t, func() bool {
		log, err := os.ReadFile(back.Log)
		return err == nil && strings.Contains(string(log), "start it with a version that knows level 2")
	}, 30*time.Second, 50*time.Millisecond, "an old binary joins")
	back.Kill()
	require.NoError(t, os.RemoveAll(back.Dir))
	require.NoError(t, os.Rename(back.Dir+".kept", back.Dir))
	back.Use(current)
	require.NoError(t, back.Start())
	require.NoError(t, back.WaitReady(ctx))
	_, err = c.OneState(ctx)
	require.NoError(t, err)
}

// risen waits until every node is at level 2.
func risen(t *testing.T, ctx context.Context, c *nodes.Cluster) {
	t.Helper()
	for _, n := range c.Nodes {
		require.Eventually(t, func() bool { s, err := n.Status(ctx); return err == nil && s.FormatLevel == 2 }, 30*time.Second, 20*time.Millisecond)
	}
}
