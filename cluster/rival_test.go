package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRecoveredWhileTheOthersRunStops: it would lead beside the others, and then hold another history under their leader for good.
func TestRecoveredWhileTheOthersRunStops(t *testing.T) {
	t.Parallel()
	withoutRaceDetector(t)
	members := startTrio(t, steady)
	leader := leaderOf(t, members...)
	mistaken := followersOf(leader, members...)[0]
	mistaken.fsm.wait(t, leader.propose("before").Index)
	id := mistaken.node.ID()
	mistaken.crash()
	stopped, err := OpenStopped(mistaken.cfg.DataDir, testLog())
	require.NoError(t, err)
	state := newJournal()
	require.NoError(t, stopped.Recover([]RecoveryMember{{ID: id, Address: mistaken.cfg.ClusterAddr}}, state, state.at))
	require.NoError(t, stopped.Close())
	leader.propose("meanwhile") // a majority lives

	mistaken.start()
	select {
	case err := <-mistaken.fatal:
		require.ErrorIs(t, err, ErrRival)
		require.ErrorContains(t, err, mistaken.cfg.DataDir)
	case <-time.After(patience):
		t.Fatal("two leaders go on")
	}
	require.True(t, mistaken.node.votesAlone(), "nothing of the others was taken over")
	mistaken.stop()
	leaderOf(t, members...).propose("after")
}

// TestARemovedVoterDoesNotStopTheLastOne: it asks for votes until it knows that it is out.
func TestARemovedVoterDoesNotStopTheLastOne(t *testing.T) {
	t.Parallel()
	withoutRaceDetector(t)
	last := newMember(t, func(c *Config) { c.Secret = "a secret that is long enough" }).start()
	waitReady(t, last)
	out := joiner(t, []*member{last}, func(c *Config) { c.Secret = last.cfg.Secret }).start()
	waitReady(t, out)
	reader := joiner(t, []*member{last}, func(c *Config) { c.Secret, c.NonVoter = last.cfg.Secret, true }).start()
	waitReady(t, reader)
	all := []*member{last, out, reader}
	votersAre(t, []*member{last, out}, all...)
	require.NoError(t, leaderOf(t, all...).node.TransferTo(patient(t), last.node.ID()))
	eventually(t, last.node.IsLeader)
	require.NoError(t, last.node.Remove(patient(t), out.node.ID()))
	last.node.hearsRaft(out.node.ID()) // it may still ask
	eventually(t, func() bool { return !last.node.rival.Load() })
	reader.fsm.wait(t, last.propose("alone").Index)
	require.Empty(t, last.fatal)
}
