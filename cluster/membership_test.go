package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// joiner makes a member that joins by way of the others; it is not started.
func joiner(t *testing.T, others []*member, change func(*Config)) *member {
	return newMember(t, func(c *Config) {
		for _, o := range others {
			c.Join = append(c.Join, o.cfg.ClusterAddr)
		}
		if change != nil {
			change(c)
		}
	})
}

// votersAre waits until the leader's configuration has exactly these voters.
func votersAre(t *testing.T, voters []*member, members ...*member) {
	t.Helper()
	var want []string
	for _, m := range voters {
		want = append(want, m.node.ID())
	}
	slices.Sort(want)
	eventually(t, func() bool {
		got := leaderOf(t, members...).node.voters()
		slices.Sort(got)
		return slices.Equal(want, got)
	})
}

func remove(t *testing.T, via *member, id string) {
	t.Helper()
	ctx := patient(t)
	for {
		err := via.node.Remove(ctx, id)
		var refused *Error
		switch {
		case err == nil || errors.As(err, &refused) && refused.Code == CodeUnknownMember:
			return
		case errors.Is(err, ErrUnknownOutcome), errors.Is(err, ErrUnavailable): // the leader was lost meanwhile: this machine is busy
			require.True(t, pause(ctx, 20*time.Millisecond), "%v", err)
		default:
			require.NoError(t, err)
		}
	}
}

func TestGrowFromOneToFiveAndBack(t *testing.T) {
	t.Parallel()
	members := []*member{newMember(t, nil).start()}
	waitReady(t, members...)
	write := func(entry string) {
		index := committedIndex(t, entry, members...)
		for _, m := range members {
			m.fsm.wait(t, index)
		}
	}
	write("one")
	for _, size := range []int{3, 5} {
		var fresh []*member
		for len(members)+len(fresh) < size {
			fresh = append(fresh, joiner(t, members, nil).start())
		}
		members = append(members, fresh...)
		waitReady(t, members...)
		votersAre(t, members, members...)
		write(fmt.Sprint("grown to ", size))
	}
	sameCluster(t, members...)
	all := members[0].fsm.all()
	for len(members) > 1 {
		gone := members[0] // also when it leads
		members = members[1:]
		remove(t, members[0], gone.node.ID())
		votersAre(t, members, members...)
		eventually(t, gone.node.Removed)
		gone.stop()
		write(fmt.Sprint("shrunk to ", len(members)))
	}
	require.Equal(t, all, members[0].fsm.all()[:len(all)])
	err := members[0].node.Remove(patient(t), members[0].node.ID())
	var refused *Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, CodeUnsafe, refused.Code)
}

func TestNewMemberWaitsForItsVote(t *testing.T) {
	t.Parallel()
	first := newMember(t, func(c *Config) { c.Timing.Stable = time.Hour }).start()
	waitReady(t, first)
	second := joiner(t, []*member{first}, func(c *Config) { c.Timing.Stable = time.Hour }).start()
	waitReady(t, second)
	second.fsm.wait(t, first.propose("x").Index)
	eventually(t, func() bool { // seen and healthy, still without a vote
		o := second.node.Overview(t.Context())
		return o.FromLeader && o.Healthy && len(o.Members) == 2 && !o.Members[1].StableSince.IsZero()
	})
	require.Equal(t, []string{first.node.ID()}, first.node.voters())
	first.stop()
	first.cfg.Timing.Stable = 300 * time.Millisecond
	first.start()
	votersAre(t, []*member{first, second}, first, second)
}

func TestReadReplicaGetsNoVote(t *testing.T) {
	t.Parallel()
	members := startTrio(t, nil)
	replica := joiner(t, members, func(c *Config) { c.NonVoter = true }).start()
	voter := joiner(t, members, nil).start()
	waitReady(t, replica, voter)
	votersAre(t, append(members, voter), members...)
	leader := leaderOf(t, members...)
	o := leader.node.Overview(t.Context())
	require.Len(t, o.Members, 5)
	for _, m := range o.Members {
		require.Equal(t, m.ID == replica.node.ID(), m.ReadReplica)
		require.Equal(t, m.ID != replica.node.ID(), m.Voter)
	}
	err := replica.node.TransferTo(patient(t), replica.node.ID())
	var refused *Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, CodeBadTarget, refused.Code)
	// One that was a voter gives its vote back when it is started as a replica.
	voter.stop()
	voter.cfg.NonVoter = true
	voter.start()
	votersAre(t, members, members...)
	index := committedIndex(t, "x", members...)
	replica.fsm.wait(t, index)
	voter.fsm.wait(t, index)
}

func TestDeadMembersAreRemovedDownToTheMinimum(t *testing.T) {
	t.Parallel()
	change := func(c *Config) { c.Timing.DeadAfter = 1500 * time.Millisecond }
	members := group(t, 5, 3, func(_ int, c *Config) { change(c) })
	for _, m := range members {
		m.start()
	}
	waitReady(t, members...)
	votersAre(t, members, members...)
	alive := func() (list []*member) {
		for _, m := range members {
			if m.node != nil {
				list = append(list, m)
			}
		}
		return list
	}
	for range 2 { // five to three
		dead := followersOf(leaderOf(t, members...), members...)[0]
		dead.crash()
		votersAre(t, alive(), members...)
	}
	dead := followersOf(leaderOf(t, members...), members...)[0]
	id := dead.node.ID()
	dead.crash() // three stay three: nobody took its place
	pause(t.Context(), 4*time.Second)
	leader := leaderOf(t, members...)
	require.Len(t, leader.node.voters(), 3)
	require.Contains(t, leader.node.voters(), id)
	// A replacement votes first, then the dead one goes.
	fresh := joiner(t, members, change).start()
	members = append(members, fresh)
	votersAre(t, alive(), members...)
	committedIndex(t, "x", members...)
}

func TestNobodyIsRemovedWhileAMemberRestarts(t *testing.T) {
	t.Parallel()
	members := group(t, 5, 3, func(_ int, c *Config) { c.Timing.DeadAfter = 2 * time.Second })
	for _, m := range members {
		m.start()
	}
	waitReady(t, members...)
	votersAre(t, members, members...)
	leader := leaderOf(t, members...)
	others := followersOf(leader, members...)
	others[0].node.Drain()
	eventually(t, func() bool { p := leader.node.pilot.Load(); return p == nil || p.draining() })
	others[1].crash()
	pause(t.Context(), 4*time.Second)
	require.Len(t, leaderOf(t, members...).node.voters(), 5)
	others[0].node.draining.Store(false)
	eventually(t, func() bool { return len(leaderOf(t, members...).node.voters()) == 4 })
}

func TestRemovedMemberFindsOutAndStaysOut(t *testing.T) {
	t.Parallel()
	members := startTrio(t, steady)
	leader := leaderOf(t, members...)
	gone := followersOf(leader, members...)[0]
	rest := append([]*member{leader}, followersOf(leader, members...)[1])
	gone.crash() // it does not hear that it is removed
	id := ""
	for _, m := range leader.node.Members() {
		if m.ID != rest[0].node.ID() && m.ID != rest[1].node.ID() {
			id = m.ID
		}
	}
	remove(t, leader, id)
	term := leaderOf(t, rest...).node.LeaderTerm()
	told := make(chan struct{})
	gone.cfg.Timing.Election, gone.cfg.Timing.Lease = time.Second, time.Second // it would stand soon
	gone.start()
	gone.node.OnRemoved(func() { close(told) })
	<-told
	require.Equal(t, "removed", gone.node.Status().State)
	require.False(t, gone.node.Ready())
	gone.stop()
	gone.start() // it knows it from now on
	require.True(t, gone.node.Removed())
	pause(t.Context(), 3*gone.cfg.Timing.Election)
	require.Equal(t, "removed", gone.node.Status().State)
	require.Len(t, leaderOf(t, rest...).node.Members(), 2)
	require.Equal(t, term, leaderOf(t, rest...).node.LeaderTerm(), "the cluster was disturbed")
	gone.stop()
	gone.cfg.DataDir = t.TempDir()
	gone.start()
	votersAre(t, append(rest, gone), rest...)
}

// TestTheLastVoterIsNotRemoved, and whoever tries is told what to do.
func TestTheLastVoterIsNotRemoved(t *testing.T) {
	t.Parallel()
	m := newMember(t, nil).start()
	waitReady(t, m)
	var refused *Error
	require.ErrorAs(t, m.node.Remove(patient(t), m.node.ID()), &refused)
	require.Equal(t, CodeUnsafe, refused.Code)
	require.Contains(t, refused.Text, "the only one that votes")
	require.Contains(t, refused.Text, "Let another one join")
}

func TestLeadershipGoesWhereItIsSent(t *testing.T) {
	t.Parallel()
	members := startTrio(t, nil)
	for _, target := range members {
		for range 20 { // a transfer may fail on a busy machine
			if members[0].node.TransferTo(patient(t), target.node.ID()) == nil && leaderOf(t, members...) == target {
				break
			}
		}
		require.Equal(t, target, leaderOf(t, members...))
	}
	err := members[0].node.TransferTo(patient(t), "nobody")
	var refused *Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, CodeUnknownMember, refused.Code)
}

func TestAllMembersMoveToOtherAddressesAtOnce(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	members := startTrio(t, nil)
	index := leaderOf(t, members...).propose("x").Index
	var addrs []string
	for _, m := range members {
		m.fsm.wait(t, index)
	}
	for _, m := range members {
		m.stop()
		m.cfg.ClusterAddr = freeAddr(t)
		addrs = append(addrs, m.cfg.ClusterAddr)
	}
	for _, m := range members {
		m.cfg.Join = addrs
		m.start()
	}
	waitReady(t, members...)
	eventually(t, func() bool {
		for _, m := range leaderOf(t, members...).node.Members() {
			if !slices.Contains(addrs, m.Address) {
				return false
			}
		}
		return true
	})
	index = committedIndex(t, "y", members...)
	for _, m := range members {
		m.fsm.wait(t, index)
		require.Len(t, m.node.Members(), 3)
	}
}

func TestFreshNodeIsToldWhereToJoin(t *testing.T) {
	t.Parallel()
	first := newMember(t, nil).start()
	waitReady(t, first)
	fresh := newMember(t, func(c *Config) { c.BootstrapExpect = -1 }).start()
	pause(t.Context(), 200*time.Millisecond)
	require.Equal(t, "forming", fresh.node.Status().State)
	require.NoError(t, fresh.node.JoinVia([]string{first.cfg.ClusterAddr}))
	waitReady(t, fresh)
	sameCluster(t, first, fresh)
	var refused *Error
	require.ErrorAs(t, first.node.JoinVia([]string{fresh.cfg.ClusterAddr}), &refused)
	require.Equal(t, CodeHasCluster, refused.Code)
}

func TestRecoverAfterTheMajorityWasLost(t *testing.T) {
	t.Parallel()
	members := startTrio(t, nil)
	for i := range 20 {
		committedIndex(t, fmt.Sprint(i), members...)
	}
	survivor := followersOf(leaderOf(t, members...), members...)[0]
	survivor.fsm.wait(t, committedIndex(t, "last", members...))
	want := survivor.fsm.all()
	id, clusterID := survivor.node.ID(), survivor.node.ClusterID()
	_, err := OpenStopped(survivor.cfg.DataDir, testLog())
	require.ErrorContains(t, err, "in use by another process")
	for _, m := range members {
		m.crash()
	}
	stopped, err := OpenStopped(survivor.cfg.DataDir, testLog())
	require.NoError(t, err)
	survey, err := stopped.Survey()
	require.NoError(t, err)
	require.Equal(t, id, survey.NodeID)
	require.Equal(t, clusterID, survey.ClusterID)
	require.Len(t, survey.Members, 3)
	state := newJournal()
	for _, bad := range [][]RecoveryMember{
		nil, {{ID: "other", Address: "a:1"}}, {{ID: id, Address: "a:1", NonVoter: true}},
		{{ID: id, Address: "a:1"}, {ID: id, Address: "a:2"}}, {{ID: id}},
	} {
		require.Error(t, stopped.Recover(bad, state, state.at))
	}
	require.NoError(t, stopped.Recover([]RecoveryMember{{ID: id, Address: survivor.cfg.ClusterAddr}}, state, state.at))
	require.NoError(t, stopped.Close())

	survivor.start()
	waitReady(t, survivor)
	require.Equal(t, want, survivor.fsm.all())
	require.Equal(t, clusterID, survivor.node.ClusterID())
	survivor.propose("alone")
	// The others come back with empty directories.
	var fresh []*member
	for _, m := range members {
		if m != survivor {
			fresh = append(fresh, joiner(t, []*member{survivor}, nil).start())
		}
	}
	all := append(fresh, survivor)
	waitReady(t, all...)
	votersAre(t, all, all...)
	index := committedIndex(t, "three again", all...)
	for _, m := range all {
		m.fsm.wait(t, index)
		require.Equal(t, survivor.fsm.all(), m.fsm.all())
	}
}

func TestNothingIsRecoveredThatNeverWas(t *testing.T) {
	t.Parallel()
	_, err := OpenStopped(t.TempDir(), testLog())
	require.ErrorContains(t, err, "is not the data directory of a node")
	fresh := newMember(t, func(c *Config) { c.BootstrapExpect = -1 }).start()
	fresh.stop()
	stopped, err := OpenStopped(fresh.cfg.DataDir, testLog())
	require.NoError(t, err)
	defer stopped.Close()
	state := newJournal()
	survey, err := stopped.Survey()
	require.NoError(t, err)
	err = stopped.Recover([]RecoveryMember{{ID: survey.NodeID, Address: "a:1"}}, state, state.at)
	require.ErrorContains(t, err, "never was in a cluster")
}

func TestOverviewWithoutALeaderIsTheNodesOwn(t *testing.T) {
	t.Parallel()
	m := newMember(t, func(c *Config) { c.Join = []string{freeAddr(t)} }).start()
	o := m.node.Overview(context.Background())
	require.False(t, o.FromLeader)
	require.Equal(t, m.node.ID(), o.Node)
	require.Empty(t, o.Members)
}

func TestMemberRemovedWhileItWasDownStaysOutElsewhere(t *testing.T) {
	t.Parallel()
	members := startTrio(t, nil)
	leader := leaderOf(t, members...)
	gone := followersOf(leader, members...)[0]
	gone.fsm.wait(t, committedIndex(t, "x", members...))
	id := gone.node.ID()
	gone.stop()
	require.NoError(t, leader.node.Remove(patient(t), id))
	gone.cfg.ClusterAddr = freeAddr(t)
	gone.start()
	eventually(t, gone.node.Removed)
	require.Len(t, leaderOf(t, members...).node.Members(), 2)
}

func TestMembersThatExchangeAddresses(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	for _, together := range []bool{true, false} {
		t.Run(fmt.Sprintf("together=%v", together), func(t *testing.T) {
			t.Parallel()
			members := startTrio(t, nil)
			leader := leaderOf(t, members...)
			index := committedIndex(t, "x", members...)
			f := followersOf(leader, members...)
			for _, m := range f {
				m.fsm.wait(t, index)
				m.stop()
			}
			f[0].cfg.ClusterAddr, f[1].cfg.ClusterAddr = f[1].cfg.ClusterAddr, f[0].cfg.ClusterAddr
			f[0].start()
			if !together { // the other one is silent until its place is taken
				eventually(t, func() bool { return memberAt(leaderOf(t, leader, f[0]), f[0]) })
			}
			f[1].start()
			eventually(t, func() bool { return memberAt(leaderOf(t, members...), f[0]) && memberAt(leaderOf(t, members...), f[1]) })
			votersAre(t, members, members...)
			_, err := leaderOf(t, members...).node.ReadIndex(patient(t))
			require.NoError(t, err)
		})
	}
}

// memberAt tells whether the leader's configuration has a member at the address it listens on.
func memberAt(leader, m *member) bool {
	s, ok := leader.node.server(m.node.ID())
	return ok && string(s.Address) == m.cfg.ClusterAddr
}

func TestNothingIsRecoveredFromAnOlderSnapshot(t *testing.T) {
	t.Parallel()
	m := newMember(t, func(c *Config) { c.TrailingBytes = 1 }).start()
	waitReady(t, m)
	for range 2 {
		for i := range 300 {
			m.propose(fmt.Sprint(i))
		}
		require.NoError(t, m.node.Snapshot())
	}
	m.stop()
	metas, err := filepath.Glob(filepath.Join(m.cfg.DataDir, "snapshots", "*", "meta.json"))
	require.NoError(t, err)
	require.Len(t, metas, 2)
	slices.Sort(metas)
	require.NoError(t, os.WriteFile(metas[1], []byte("?"), 0o600))
	_, err = OpenStopped(m.cfg.DataDir, testLog())
	require.ErrorIs(t, err, ErrCorrupt)
}

// TestACopyOfARunningNodeStops: both would vote as one, and take the place in the configuration from each other for ever.
func TestACopyOfARunningNodeStops(t *testing.T) {
	t.Parallel()
	withoutRaceDetector(t)
	three := startTrio(t, nil)
	leader := leaderOf(t, three...)
	leader.propose("before")
	original := three[slices.IndexFunc(three, func(m *member) bool { return m != leader })]
	waitReady(t, original)
	original.stop()
	dir := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(dir, os.DirFS(original.cfg.DataDir)))
	original.start()
	waitReady(t, original)

	twin := newMember(t, func(c *Config) {
		c.DataDir, c.Join, c.BootstrapExpect, c.Secret = dir, original.cfg.Join, original.cfg.BootstrapExpect, original.cfg.Secret
	}).start()
	select {
	case err := <-twin.fatal:
		require.ErrorIs(t, err, ErrTwin)
		require.ErrorContains(t, err, original.node.Addr())
	case <-time.After(patience):
		t.Fatal("the copy goes on")
	}
	place, ok := leaderOf(t, three...).node.server(original.node.ID())
	require.True(t, ok)
	require.Equal(t, original.node.Addr(), string(place.Address), "the original keeps its place")
	twin.stop()
	original.fsm.wait(t, leaderOf(t, three...).propose("after").Index)
	require.Empty(t, original.fatal)

	// Alone, the copy is a member that moved.
	original.stop()
	twin.start()
	waitReady(t, twin)
	twin.fsm.wait(t, leaderOf(t, append(three[:0:0], leader, twin)...).propose("moved").Index)
	require.Empty(t, twin.fatal)
}
