package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// recover makes a stopped member, and others like it, a cluster of their own.
func (m *member) recover(list []RecoveryMember) {
	m.t.Helper()
	stopped, err := OpenStopped(m.cfg.DataDir, testLog())
	require.NoError(m.t, err)
	state := newJournal()
	require.NoError(m.t, stopped.Recover(list, state, state.at))
	require.NoError(m.t, stopped.Close())
}

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
	mistaken.recover([]RecoveryMember{{ID: id, Address: mistaken.cfg.ClusterAddr}})
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

// TestAFreshNodeJoinsNoClusterByChance: one that is told of two would end in either, with all that it acknowledges.
func TestAFreshNodeJoinsNoClusterByChance(t *testing.T) {
	t.Parallel()
	gossiping := func(c *Config) { c.GossipAddr = "127.0.0.1:0" }
	one, two := newMember(t, gossiping).start(), newMember(t, gossiping).start()
	waitReady(t, one, two)
	for range 3 { // which one would be chance
		book := &logBook{}
		fresh := joiner(t, []*member{one, two}, func(c *Config) { gossiping(c); c.Logger = book.logger() }).start()
		book.says(t, "nodes of 2 clusters answer")
		book.says(t, one.node.ClusterID())
		book.says(t, two.node.ClusterID())
		require.Equal(t, "forming", fresh.node.Status().State)
		fresh.stop()
		fresh.cfg.Join = []string{one.cfg.ClusterAddr}
		fresh.start()
		waitReady(t, fresh)
		sameCluster(t, one, fresh)
	}
}

// TestClustersThatNameEachOtherStayApart: the nodes of one are not told to those who ask the other.
func TestClustersThatNameEachOtherStayApart(t *testing.T) {
	t.Parallel()
	book := &logBook{}
	one := newMember(t, nil)
	two := newMember(t, nil).start()
	waitReady(t, two)
	one.start()
	waitReady(t, one)
	one.stop()
	one.cfg.Join, one.cfg.Logger = []string{two.cfg.ClusterAddr}, book.logger() // by mistake
	one.start()
	book.says(t, "a node of another cluster answers")
	require.Empty(t, one.node.helloMessage().Known)
	require.Empty(t, two.node.helloMessage().Known)
	fresh := joiner(t, []*member{one}, nil).start()
	waitReady(t, fresh)
	sameCluster(t, one, fresh)
}

// TestTwoRecoveredWhileTheOthersRunStop: together they are no sole voter, and the leader of the others would write over what they acknowledged.
func TestTwoRecoveredWhileTheOthersRunStop(t *testing.T) {
	t.Parallel()
	withoutRaceDetector(t)
	all := group(t, 5, 5, steady)
	for _, m := range all {
		m.start()
	}
	waitReady(t, all...)
	leader := leaderOf(t, all...)
	index := leader.propose("before").Index
	mistaken := followersOf(leader, all...)[:2]
	var list []RecoveryMember
	for _, m := range mistaken {
		m.fsm.wait(t, index)
		list = append(list, RecoveryMember{ID: m.node.ID(), Address: m.cfg.ClusterAddr})
		m.crash()
	}
	others := followersOf(nil, all...)
	for _, m := range mistaken {
		m.recover(list)
	}
	meanwhile := leaderOf(t, others...).propose("meanwhile")

	for _, m := range mistaken {
		m.start()
	}
	for _, m := range mistaken {
		select {
		case err := <-m.fatal:
			require.ErrorIs(t, err, ErrRival)
			require.ErrorContains(t, err, m.cfg.DataDir)
		case <-time.After(patience):
			t.Fatal("two clusters go on")
		}
		require.Less(t, m.fsm.at(), meanwhile.Index, "nothing of the others was taken over")
		m.stop()
	}
	leaderOf(t, others...).propose("after")
}

// TestWhomRecoveryLeftOutStopsNobody as long as it does not lead a majority: it asks for votes until it knows that it is out.
func TestWhomRecoveryLeftOutStopsNobody(t *testing.T) {
	t.Parallel()
	withoutRaceDetector(t)
	members := startTrio(t, steady)
	leader := leaderOf(t, members...)
	survivors := followersOf(leader, members...)
	index := leader.propose("before").Index
	var list []RecoveryMember
	for _, m := range survivors {
		m.fsm.wait(t, index)
		list = append(list, RecoveryMember{ID: m.node.ID(), Address: m.cfg.ClusterAddr})
	}
	for _, m := range members {
		m.crash()
	}
	for _, m := range survivors {
		m.recover(list)
		m.start()
	}
	waitReady(t, survivors...)
	leaderOf(t, survivors...).propose("two")
	lost := leader.start()
	id := lost.node.ID()
	for _, m := range survivors {
		require.False(t, m.node.hearsRaft(id), "it may still ask")
		require.True(t, m.node.hearsRaft(list[0].ID))
	}
	eventually(t, lost.node.Removed)
	for _, m := range survivors {
		eventually(t, func() bool { return !m.node.rival.Load() })
	}

	// Whoever lists it again has it back.
	for _, m := range survivors {
		m.stop()
	}
	stopped, err := OpenStopped(survivors[0].cfg.DataDir, testLog())
	require.NoError(t, err)
	state := newJournal()
	require.NoError(t, stopped.Recover(append(list, RecoveryMember{ID: id, Address: lost.cfg.ClusterAddr}), state, state.at))
	ids, err := readLeftOut(stopped.store)
	require.NoError(t, err)
	require.Empty(t, ids)
	require.NoError(t, stopped.Close())
	for _, m := range survivors {
		require.Empty(t, m.fatal)
	}
}
