package disk

import (
	"context"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/mutant"
	"github.com/flagraft/flagraft/e2e/nodes"
)

// under runs f while the load runs, then checks that nothing is lost.
func (c *cluster) under(t *testing.T, ctx context.Context, l *Load, f func()) {
	t.Helper()
	writing, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { l.Run(writing); close(done) }()
	defer func() { stop(); <-done }()
	pause(ctx, time.Second)
	f()
	stop()
	<-done
	c.requireNothingLost(t, ctx, l)
}

func (c *cluster) leader(t *testing.T, ctx context.Context) (int, *nodes.Node) {
	t.Helper()
	leader, err := c.Leader(ctx)
	require.NoError(t, err)
	for i, n := range c.Nodes {
		if n == leader {
			return i, n
		}
	}
	t.Fatal("no leader")
	return 0, nil
}

// settled waits, for a minute at most, until one term has lasted for five seconds.
func (c *cluster) settled(t *testing.T, ctx context.Context) {
	t.Helper()
	var term uint64
	for since, end := time.Now(), time.Now().Add(time.Minute); time.Since(since) < 5*time.Second && time.Now().Before(end); pause(ctx, 200*time.Millisecond) {
		_, leader := c.leader(t, ctx)
		if s, err := leader.Status(ctx); err != nil || s.Term != term {
			term, since = s.Term, time.Now()
		}
	}
}

func (c *cluster) other(than *nodes.Node) *nodes.Node {
	for _, n := range c.Nodes {
		if n != than {
			return n
		}
	}
	return nil
}

// onFailingDisks runs f on three nodes under load; what f does to their disks loses nothing.
func onFailingDisks(t *testing.T, f func(ctx context.Context, c *cluster, l *Load)) {
	t.Helper()
	needsNodes(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := startOnVolumes(t, ctx, mutant.Build(t), 1<<30)
	l, err := NewLoad(ctx, c.Cluster, 1000, fewPeople)
	require.NoError(t, err)
	c.under(t, ctx, l, func() { f(ctx, c, l) })
}

// TestHungDisk freezes the leader's file system: a write to it never returns. The
// node leaves, the others go on, and it comes back with the disk.
func TestHungDisk(t *testing.T) {
	onFailingDisks(t, func(ctx context.Context, c *cluster, l *Load) {
		i, leader := c.leader(t, ctx)
		require.NoError(t, c.volumes[i].Freeze(ctx))
		began := time.Now()
		alive := c.other(leader)
		within(t, healing, "another node takes writes", func() bool {
			s, err := alive.Status(ctx)
			if err != nil || s.Leader == "" || s.Leader == before(ctx, leader) {
				return false
			}
			status, _ := l.writes(ctx, alive)
			return status == http.StatusOK
		})
		t.Logf("writes were back %v after the disk froze", time.Since(began).Round(10*time.Millisecond))
		require.NoError(t, c.volumes[i].Thaw())
		within(t, healing, "the node ended", func() bool { return !leader.Running() })
		log, err := os.ReadFile(leader.Log)
		require.NoError(t, err)
		require.Contains(t, string(log), "the disk does not answer")
		require.NoError(t, leader.Start())
		require.NoError(t, leader.WaitReady(ctx))
	})
}

func before(ctx context.Context, leader *nodes.Node) string {
	s, err := leader.Status(ctx)
	if err != nil {
		return "gone"
	}
	return s.NodeID
}

// TestFailingSync makes a sync of the leader's log fail: the node stops instead of
// acknowledging, and nothing is lost.
func TestFailingSync(t *testing.T) {
	onFailingDisks(t, func(ctx context.Context, c *cluster, l *Load) {
		for _, when := range []string{"1", "4"} {
			_, leader := c.leader(t, ctx)
			end := injectSync(t, ctx, leader, "error=EIO:when="+when)
			took := within(t, healing, "the node stops", func() bool { return !leader.Running() })
			end()
			log, err := os.ReadFile(leader.Log)
			require.NoError(t, err)
			require.Contains(t, string(log), "a write to the disk failed")
			took2 := within(t, healing, "another node takes writes", func() bool {
				s, _ := l.writes(ctx, c.other(leader))
				return s == http.StatusOK
			})
			t.Logf("sync %s fails: the node stopped after %v, writes were back %v later", when, took, took2)
			require.NoError(t, leader.Start())
			require.NoError(t, leader.WaitReady(ctx))
		}
	})
}

func injectSync(t *testing.T, ctx context.Context, n *nodes.Node, how string) (end func()) {
	t.Helper()
	end, err := InjectSync(ctx, n.PID(), how)
	if errors.Is(err, ErrUnusable) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return end
}

// TestSlowSync gives all disks 150 ms more for each sync: the cluster is slower,
// and the leader stays.
func TestSlowSync(t *testing.T) {
	onFailingDisks(t, func(ctx context.Context, c *cluster, l *Load) {
		for _, n := range c.Nodes {
			defer injectSync(t, ctx, n, "delay_exit=150000")()
		}
		c.settled(t, ctx) // attaching stopped each process for a moment
		_, leader := c.leader(t, ctx)
		before, err := leader.Status(ctx)
		require.NoError(t, err)
		identities, admin := l.Acknowledged()
		pause(ctx, 15*time.Second)
		after, err := leader.Status(ctx)
		require.NoError(t, err)
		identities2, admin2 := l.Acknowledged()
		t.Logf("with 150 ms a sync: %d identities and %d admin writes a second, %d elections in 15 s",
			(identities2-identities)/15, (admin2-admin)/15, after.Term-before.Term)
		require.Greater(t, identities2, identities)
		require.Greater(t, admin2, admin)
		require.LessOrEqual(t, after.Term, before.Term+1, "slow disks are no reason for elections")
	})
}
