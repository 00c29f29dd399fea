package cluster

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// The followers' own timers would take a minute.
func TestHeirsOfADeadProcessDoNotWaitForTheirTimers(t *testing.T) {
	t.Parallel()
	for _, count := range []int{3, 5} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			t.Parallel()
			members := group(t, count, count, nil)
			for _, m := range members {
				m.start()
			}
			waitReady(t, members...)
			leader := leaderOf(t, members...)
			leader.propose("x")
			heirs := followersOf(leader, members...)
			for _, m := range heirs {
				m.node.setElection(time.Minute)
			}
			leader.crash()
			next := leaderOf(t, heirs...)
			index := next.propose("y").Index
			for _, m := range heirs {
				m.fsm.wait(t, index)
				eventually(t, func() bool { // and nobody keeps the short timers
					return m.node.raft.ReloadableConfig().HeartbeatTimeout > m.node.cfg.Timing.Lease
				})
			}
		})
	}
}

func TestALeaderThatIsHeardIsNotSucceeded(t *testing.T) {
	t.Parallel()
	members := startTrio(t, steady)
	leader := leaderOf(t, members...)
	refused := fmt.Errorf("%w: %w", ErrUnavailable, syscall.ECONNREFUSED)
	for range 50 {
		for _, m := range followersOf(leader, members...) {
			require.False(t, m.node.missesLeader(refused), "last contact %s", time.Since(m.node.raft.LastContact()))
		}
		require.False(t, leader.node.missesLeader(refused))
		pause(t.Context(), 10*time.Millisecond)
	}
	require.Equal(t, raft.Leader, leader.node.raft.State())
}

func TestOnlyARefusedConnectionMeansThatTheProcessIsGone(t *testing.T) {
	t.Parallel()
	members := startTrio(t, nil)
	leader := leaderOf(t, members...)
	heirs := followersOf(leader, members...)
	ctx := patient(t)
	addr := leader.cfg.ClusterAddr
	leader.crash()
	_, err := heirs[0].node.mux.dial(ctx, addr, purposeCall, "")
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.False(t, heirs[0].node.missesLeader(ctx.Err()))
	require.False(t, heirs[0].node.missesLeader(ErrUnknownOutcome))
}
