package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/faults/disk"
	"github.com/flagraft/flagraft/e2e/mutant"
	"github.com/flagraft/flagraft/e2e/nodes"
	"github.com/flagraft/flagraft/fsm"
)

// lastOfLevelOne is the last commit whose binary knows only format level 1.
const lastOfLevelOne = "61518be8c85daa3b4d00a8c0dd289d2c212a28d5"

// oldBinary builds flagraft as of a commit, with edits; FLAGRAFT_OLD_BINARY names one without edits that is built already.
func oldBinary(t *testing.T, commit string, edits ...mutant.Edit) string {
	t.Helper()
	if bin := os.Getenv("FLAGRAFT_OLD_BINARY"); bin != "" && len(edits) == 0 {
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
	return mutant.BuildAt(t, src, edits...)
}

// TestUpgradeUnderLoad replaces the binaries of three nodes of the last version of format level 1, followers first, while clients write and
// read. Nothing acknowledged is lost, no read of a node that is up fails, the level stays until the last one and then rises, and the old
// binary is refused afterwards: on the data of a node, and when it joins anew.
func TestUpgradeUnderLoad(t *testing.T) {
	current := nodes.Binary(t)
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
		return err == nil && strings.Contains(string(log), fmt.Sprintf("start it with a version that knows level %d", fsm.FormatLevel))
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

// TestCopiesLeadBackToLevelOne: the last version of level 1 cannot restore a backup. Copies of its data directories, each made when its node
// stopped for the upgrade, lead back to all that was acknowledged before the last one stopped, if that one is in the first majority.
func TestCopiesLeadBackToLevelOne(t *testing.T) {
	current := nodes.Binary(t)
	old := oldBinary(t, lastOfLevelOne)
	t.Setenv("FLAGRAFT_BINARY", old)
	c, ctx := start(t, 3)
	admin, err := c.Nodes[0].Client().Login(ctx)
	require.NoError(t, err)
	leader, err := c.Leader(ctx)
	require.NoError(t, err)
	order := slices.DeleteFunc(slices.Clone(c.Nodes), func(n *nodes.Node) bool { return n == leader })
	order = append(order, leader)
	for i, n := range order {
		_, err := at(leader, admin).Must(ctx, "POST", "/api/v1/organisations/", map[string]any{"name": fmt.Sprint("before ", i)}, 201)
		require.NoError(t, err)
		n.Terminate()
		require.NoError(t, os.CopyFS(n.Dir+".copy", os.DirFS(n.Dir)))
		n.Use(current)
		require.NoError(t, n.Start())
		require.NoError(t, n.WaitReady(ctx))
	}
	risen(t, ctx, c)
	for _, n := range c.Nodes {
		n.Terminate()
		require.NoError(t, n.Wipe())
		require.NoError(t, os.Rename(n.Dir+".copy", n.Dir))
		n.Use(old)
	}
	for _, some := range [][]*nodes.Node{{order[2], order[0]}, {order[1]}} {
		for _, n := range some {
			require.NoError(t, n.Start())
		}
		for _, n := range some {
			require.NoError(t, n.WaitReady(ctx))
		}
	}
	_, err = c.OneState(ctx)
	require.NoError(t, err)
	a, err := admin.Must(ctx, "GET", "/api/v1/organisations/", nil, 200)
	require.NoError(t, err)
	for i := range order {
		require.Contains(t, string(a.Body), fmt.Sprint("before ", i))
	}
}

// TestSnapshotsBetweenVersions: while versions are mixed, a node of either version that lags too far for the log gets a snapshot from a
// leader of the other, and the level stays.
func TestSnapshotsBetweenVersions(t *testing.T) {
	current := nodes.Binary(t)
	// The old version has no settings for it, and does not mind these.
	t.Setenv("FLAGRAFT_SNAPSHOT_LOG_BYTES", strconv.Itoa(64<<10))
	t.Setenv("FLAGRAFT_TRAILING_LOG_BYTES", strconv.Itoa(16<<10))
	old := oldBinary(t, lastOfLevelOne,
		mutant.Edit{File: "cluster/config.go", Old: "orDefault(&c.SnapshotThresholdBytes, 64<<20)", New: "orDefault(&c.SnapshotThresholdBytes, 64<<10)"},
		mutant.Edit{File: "cluster/config.go", Old: "orDefault(&c.TrailingBytes, 64<<20)", New: "orDefault(&c.TrailingBytes, 16<<10)"})
	t.Setenv("FLAGRAFT_BINARY", old)
	c, ctx := start(t, 3)
	l, err := disk.NewLoad(ctx, c, 5000, 1600)
	require.NoError(t, err)
	_, err = c.OneState(ctx)
	require.NoError(t, err)
	leader, err := c.Leader(ctx)
	require.NoError(t, err)
	i := slices.Index(c.Nodes, leader)
	first, last := c.Nodes[(i+1)%3], c.Nodes[(i+2)%3]

	getsSnapshot(t, ctx, c, l, first, current) // whoever leads is old
	leader.Terminate()
	leader.Use(current)
	require.NoError(t, leader.Start())
	require.NoError(t, leader.WaitReady(ctx))
	getsSnapshot(t, ctx, c, l, last, old) // whoever leads is new

	last.Terminate()
	last.Use(current)
	require.NoError(t, last.Start())
	risen(t, ctx, c)
}

// getsSnapshot kills a node, writes until the others have let go of the log that it lacks, and starts it with a binary.
func getsSnapshot(t *testing.T, ctx context.Context, c *nodes.Cluster, l *disk.Load, n *nodes.Node, binary string) {
	t.Helper()
	before, err := c.OneState(ctx)
	require.NoError(t, err)
	n.Kill()
	writing, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Go(func() { l.Run(writing) })
	for _, m := range c.Nodes {
		if m == n {
			continue
		}
		require.Eventually(t, func() bool {
			s, err := m.Status(ctx)
			return err == nil && s.SnapshotIndex > before.CommitIndex+300 // 256 entries at least are kept behind a snapshot
		}, time.Minute, 20*time.Millisecond, "no snapshot")
	}
	stop()
	wait.Wait()
	logged, err := os.ReadFile(n.Log)
	require.NoError(t, err)
	n.Use(binary)
	require.NoError(t, n.Start())
	require.NoError(t, n.WaitReady(ctx))
	_, err = c.OneState(ctx)
	require.NoError(t, err)
	log, err := os.ReadFile(n.Log)
	require.NoError(t, err)
	require.Contains(t, string(log[len(logged):]), "Installed remote snapshot")
	for _, m := range c.Nodes {
		s, err := m.Status(ctx)
		require.NoError(t, err)
		require.LessOrEqual(t, s.FormatLevel, uint8(1)) // the old version tells none
		lost, err := l.Lost(ctx, m)
		require.NoError(t, err)
		require.Empty(t, lost)
	}
}

// risen waits until every node is at the newest level.
func risen(t *testing.T, ctx context.Context, c *nodes.Cluster) {
	t.Helper()
	for _, n := range c.Nodes {
		require.Eventually(t, func() bool { s, err := n.Status(ctx); return err == nil && s.FormatLevel == fsm.FormatLevel }, 30*time.Second, 20*time.Millisecond)
	}
}
