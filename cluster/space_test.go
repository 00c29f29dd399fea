package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDefaultMinFree(t *testing.T) {
	const mb, gb = 1 << 20, 1 << 30
	for total, want := range map[uint64]uint64{
		100 * mb: 10 * mb, 2 * gb: 2 * gb / 10, 8 * gb: 512 * mb, 20 * gb: gb, 100 * gb: 2 * gb, 4000 * gb: 2 * gb,
	} {
		require.Equal(t, want, defaultMinFree(total), "volume of %d MB", total/mb)
	}
}

func TestSpaceComesBackALittleAboveTheLimit(t *testing.T) {
	free, full := uint64(1000), time.Time{}
	var failure error
	w := &spaceWatch{min: 500, full: func() time.Time { return full },
		stat: func(string) (uint64, uint64, error) { return free, 10_000, failure }}
	for _, step := range []struct {
		free    uint64
		full    time.Time
		low     bool
		changed bool
	}{
		{free: 1000}, {free: 500}, {free: 499, low: true, changed: true}, {free: 549, low: true}, {free: 550, changed: true},
		{free: 5000, full: time.Now(), low: true, changed: true}, // a write found no space all the same
		{free: 5000, full: time.Now().Add(-fullMemory), changed: true},
	} {
		free, full = step.free, step.full
		changed, err := w.look()
		require.NoError(t, err)
		require.Equal(t, step.changed, changed, "%+v", step)
		require.Equal(t, step.low, w.space().Low, "%+v", step)
	}
	failure = errors.New("gone")
	_, err := w.look()
	require.ErrorIs(t, err, failure)
}

// setSpace makes a member's disk look full, or not.
func setSpace(members ...*member) []*atomic.Bool {
	full := make([]*atomic.Bool, len(members))
	for i, m := range members {
		full[i] = &atomic.Bool{}
		m.cfg.statSpace = func(string) (uint64, uint64, error) {
			if full[i].Load() {
				return 1 << 20, 1 << 40, nil
			}
			return 1 << 39, 1 << 40, nil
		}
	}
	return full
}

// trioWithSpace is three nodes that are ready, and how to fill the disk of each.
func trioWithSpace(t *testing.T) (members []*member, full []*atomic.Bool) {
	members = trio(t, nil)
	full = setSpace(members...)
	for _, m := range members {
		m.start()
	}
	waitReady(t, members...)
	return members, full
}

func TestLeaderWithoutSpaceHandsOverAndAMajorityWithoutSpaceStopsWrites(t *testing.T) {
	t.Parallel()
	members, full := trioWithSpace(t)
	committedIndex(t, "before", members...)

	first := leaderOf(t, members...)
	for i, m := range members {
		full[i].Store(m == first)
	}
	eventually(t, func() bool { // for a moment without news of the others' disks a full leader refuses writes, and its heir goes on with that
		l := leaderOf(t, members...)
		return l != first && !first.node.IsLeader() && !l.node.ReadOnly()
	})
	committedIndex(t, "one full disk is borne", members...)
	for _, m := range members {
		require.False(t, m.node.ReadOnly())
	}

	for i, m := range members {
		full[i].Store(m != first) // now the two others
	}
	eventually(t, func() bool {
		return members[0].node.ReadOnly() && members[1].node.ReadOnly() && members[2].node.ReadOnly()
	})
	leader := leaderOf(t, members...)
	_, err := leader.node.Propose(t.Context(), []byte("refused"))
	require.ErrorIs(t, err, ErrReadOnly)
	require.NotErrorIs(t, err, ErrUnknownOutcome)
	require.NoError(t, leader.node.TransferLeadership(patient(t)))
	eventually(t, func() bool {
		for _, m := range followersOf(leader, members...) { // whoever it is starts with what the last leader said
			if m.node.IsLeader() {
				m.node.desk.reset(m.node.LeaderTerm()) // nobody told of disks yet
				m.node.lookAtSpace(t.Context())
				_, err = m.node.Propose(t.Context(), []byte("refused"))
				return true
			}
		}
		return false
	})
	require.ErrorIs(t, err, ErrReadOnly)

	for i := range members {
		full[i].Store(false)
	}
	eventually(t, func() bool {
		return !members[0].node.ReadOnly() && !members[1].node.ReadOnly() && !members[2].node.ReadOnly()
	})
	committedIndex(t, "after", members...)
}

// TestOneFullAndOneDeadDoNotStopWrites: neither a majority's disks are full, nor is nobody left to lead. That writes were
// refused before, for want of reports, makes no difference for long.
func TestOneFullAndOneDeadDoNotStopWrites(t *testing.T) {
	t.Parallel()
	members, full := trioWithSpace(t)
	leader := leaderOf(t, members...)
	others := followersOf(leader, members...)
	others[0].crash()
	leader.node.space.denied.Store(true)
	for i, m := range members {
		full[i].Store(m == leader)
	}
	eventually(t, func() bool { return others[1].node.IsLeader() && !others[1].node.ReadOnly() })
	committedIndex(t, "with one full and one dead", leader, others[1])
}

func TestWithSpace(t *testing.T) {
	d := newHeartbeatDesk(nil, time.Hour)
	d.accept(report{ID: "b", Applied: 7})
	d.accept(report{ID: "c", Applied: 9})
	d.accept(report{ID: "d", LowDisk: true, Applied: 10})
	d.accept(report{ID: "guest", Applied: 11})
	voters := []string{"a", "b", "c", "d", "silent"}
	for selfLow, want := range map[bool]int{false: 1, true: 2} {
		spare, low := d.withSpace("a", voters, selfLow)
		require.Equal(t, "c", spare)
		require.Equal(t, want, low)
	}
	d.period = 0 // all reports are old
	spare, low := d.withSpace("a", voters, false)
	require.Empty(t, spare)
	require.Equal(t, 1, low)
}

func TestErrReadOnlySurvivesACall(t *testing.T) {
	_, err := answerFrame(1, nil, fmt.Errorf("refused: %w", ErrReadOnly)).answer()
	require.ErrorIs(t, err, ErrReadOnly)
	require.NotErrorIs(t, err, &Error{Code: "other"})
}

// A sole voter waits for space, until it is to stop.
func TestStopOnAFullDisk(t *testing.T) {
	t.Parallel()
	m := newMember(t, nil).start()
	waitReady(t, m)
	full := fmt.Errorf("write: %w", errDiskFull)
	m.node.store.bolt.broken.Store(&full)
	answered := make(chan error, 1)
	go func() {
		_, err := m.node.Propose(t.Context(), []byte("waits"))
		answered <- err
	}()
	eventually(t, func() bool { return !m.node.store.lastFull().IsZero() })
	require.Empty(t, answered)
	m.node.Drain()
	require.Error(t, receive(t, answered))
	node := m.node
	m.node = nil
	stopped := make(chan error, 1)
	go func() { stopped <- node.Stop(context.Background()) }()
	_ = receive(t, stopped) // the commit index is not kept
}

func TestNodeWithoutSpaceStandsLater(t *testing.T) {
	t.Parallel()
	m := newMember(t, nil)
	full := setSpace(m)
	m.start()
	waitReady(t, m)
	timeout := func() time.Duration { return m.node.raft.ReloadableConfig().ElectionTimeout }
	full[0].Store(true)
	eventually(t, func() bool { return timeout() == slowLow*m.cfg.Timing.Election })
	full[0].Store(false)
	eventually(t, func() bool { return timeout() == m.cfg.Timing.Election })

	full[0].Store(true)
	eventually(t, func() bool { return m.node.Space().Low })
	for _, l := range m.node.loops { // the heartbeat's owns the succession
		l.Stop()
	}
	m.node.succession.since = time.Now() // a leader's process had ended, and another one leads
	m.node.proceed(nil)
	require.Equal(t, slowLow*m.cfg.Timing.Election, timeout())
}

// TestAFullDiskIsForgottenWhateverTheClockSays: without its monotonic reading the moment would be in the future once the wall clock is set
// back, and the node full for as long.
func TestAFullDiskIsForgottenWhateverTheClockSays(t *testing.T) {
	s, _ := openTestStore(t, 1)
	require.ErrorIs(t, s.settle(errDiskFull), errDiskFull)
	require.Contains(t, s.lastFull().String(), " m=", "it has a monotonic reading")
}
