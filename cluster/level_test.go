package cluster

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheLevelRisesOnlyWhenEveryMemberKnowsIt has one member of the first level, as a binary of before would be, and replaces it.
func TestTheLevelRisesOnlyWhenEveryMemberKnowsIt(t *testing.T) {
	t.Parallel()
	members := trio(t, func(i int, c *Config) {
		if i > 0 {
			c.Level = 2
		}
	})
	for _, m := range members {
		m.start()
	}
	waitReady(t, members...)
	old := members[0]
	// raise tells whether the leader would have proposed, and why not.
	raise := func() (proposed bool, why string) {
		err := leaderOf(t, members...).node.RaiseLevel(patient(t), 2, func(context.Context) error { proposed = true; return nil })
		if err != nil {
			why = err.Error()
		}
		return proposed, why
	}
	if leaderOf(t, members...) == old {
		require.NoError(t, old.node.TransferLeadership(patient(t)))
		eventually(t, func() bool { return !old.node.IsLeader() })
	}
	eventually(t, func() bool {
		proposed, why := raise()
		require.False(t, proposed, "a member knows less")
		return strings.Contains(why, old.node.ID()+" (version test) knows format level 1")
	})
	old.stop()
	eventually(t, func() bool {
		proposed, why := raise()
		require.False(t, proposed, "a member is gone and knew less")
		return strings.Contains(why, "is silent")
	})
	old.cfg.Level = 2
	old.start()
	waitReady(t, old)
	eventually(t, func() bool {
		proposed, _ := raise()
		return proposed
	})
	eventually(t, func() bool {
		for _, m := range leaderOf(t, members...).node.Members() {
			if m.Level != 2 {
				return false
			}
		}
		return true
	})
}

// TestASilentMemberHoldsTheLevel wants nobody to be passed over.
func TestASilentMemberHoldsTheLevel(t *testing.T) {
	t.Parallel()
	members := trio(t, func(_ int, c *Config) { c.Level = 2 })
	for _, m := range members {
		m.start()
	}
	waitReady(t, members...)
	leader := leaderOf(t, members...)
	eventually(t, func() bool {
		return leader.node.RaiseLevel(patient(t), 2, func(context.Context) error { return nil }) == nil
	})
	followersOf(leader, members...)[0].crash()
	eventually(t, func() bool {
		err := leader.node.RaiseLevel(patient(t), 2, func(context.Context) error { return nil })
		return err != nil && strings.Contains(err.Error(), "is silent")
	})
}

func TestANodeBelowTheLevelIsRefused(t *testing.T) {
	t.Parallel()
	var required atomic.Uint32
	required.Store(1)
	first := newMember(t, func(c *Config) {
		c.Level, c.RequiredLevel = 2, func() uint8 { return uint8(required.Load()) }
	}).start()
	waitReady(t, first)
	second := newMember(t, func(c *Config) { c.Join = []string{first.cfg.ClusterAddr} }).start()
	waitReady(t, second)

	required.Store(2)
	third := newMember(t, func(c *Config) { c.Join = []string{first.cfg.ClusterAddr} }).start()
	_, err := first.node.serveJoin(t.Context(), "", joinRequest{ID: "x", Address: "127.0.0.1:1", ClusterID: first.node.ClusterID()})
	require.ErrorContains(t, err, "the cluster is at format level 2, node x knows 1")
	pause(t.Context(), 300*time.Millisecond)
	require.Len(t, first.node.Members(), 2)
	require.False(t, third.node.Ready())

	third.stop()
	third.cfg.Level = 2
	third.start()
	waitReady(t, third)
	require.Len(t, first.node.Members(), 3)
}
