package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

func TestSingleNodeProposesAndServesBeforeALeaderAfterRestart(t *testing.T) {
	t.Parallel()
	m := newMember(t, nil).start()
	waitReady(t, m)
	for i := range 10 {
		require.Equal(t, i+1, m.propose(fmt.Sprint(i)).Response)
	}
	want := m.fsm.all()
	id, cluster := m.node.ID(), m.node.ClusterID()
	require.NotEmpty(t, cluster)
	m.stop()
	m.start()
	require.Equal(t, want, m.fsm.all(), "the log is replayed before Start returns")
	leaderOf(t, m)
	want = append(want, "next to last", "last")
	m.propose("next to last")
	m.propose("last")
	m.crash()
	m.start()
	require.Contains(t, m.fsm.all(), "next to last", "the entry behind it told that it is committed")
	require.Equal(t, id, m.node.ID())
	require.Equal(t, cluster, m.node.ClusterID())
	leaderOf(t, m)
	m.propose("after")
	require.Equal(t, append(want, "after"), m.fsm.all())
}

// An election timeout beyond the test's patience: whoever leads did not wait for it.
func TestWhomNobodyIsAheadOfStandsAtOnce(t *testing.T) {
	t.Parallel()
	slow := func(c *Config) { c.Timing.Election, c.Timing.Lease = 2*patience, time.Second }
	alone := newMember(t, slow).start()
	leaderOf(t, alone)
	alone.propose("made")
	alone.stop()
	alone.start()
	leaderOf(t, alone)
	alone.propose("again")

	three := startTrio(t, func(_ int, c *Config) { slow(c) })
	leaderOf(t, three...).propose("made by three")
	for _, m := range three {
		m.crash() // handing leadership over would wait as long
	}
}

func TestReplayGoesToTheCommitIndexOnly(t *testing.T) {
	t.Parallel()
	m := newMember(t, nil).start()
	waitReady(t, m)
	last := m.propose("committed").Index
	m.stop()

	// An entry that was stored but never known to be committed.
	store, err := openLogStore(m.cfg.DataDir, 1<<20, func(err error) { t.Error(err) })
	require.NoError(t, err)
	store.origin.Store(&origin{leading: func() bool { return true }, commit: func() uint64 { return last }})
	end, err := store.LastIndex()
	require.NoError(t, err)
	require.NoError(t, store.StoreLog(&raft.Log{Index: end + 1, Term: 9, Type: raft.LogCommand, Data: []byte("tail")}))
	require.NoError(t, store.close())

	fsm := newJournal()
	replay(t, m.cfg.DataDir, fsm)
	require.Equal(t, []string{"committed"}, fsm.all())
}

// TestReplayInParts replays a log that is read in several parts: with an end that nobody knows to be committed, broken
// off, and damaged in a later part.
func TestReplayInParts(t *testing.T) {
	t.Parallel()
	const entries = 40
	dir := t.TempDir()
	open := func() *logStore {
		store, err := openLogStore(dir, 1<<20, func(err error) { t.Error(err) })
		require.NoError(t, err)
		return store
	}
	store := open()
	store.origin.Store(&origin{leading: func() bool { return true }, commit: func() uint64 { return entries - 3 }, alone: func() bool { return false }})
	var want []string
	for i := range uint64(entries) {
		data := bytes.Repeat([]byte{'a' + byte(i)}, replayBatch/10)
		require.NoError(t, store.StoreLog(&raft.Log{Index: i + 1, Term: 1, Type: raft.LogCommand, Data: data}))
		if i < entries-3 {
			want = append(want, string(data))
		}
	}
	require.NoError(t, store.close())

	fsm := newJournal()
	m := replay(t, dir, fsm)
	require.Equal(t, want, fsm.all())
	require.EqualValues(t, entries-3, m.replayed)

	store = open()
	defer store.close()
	ctx, cancel := context.WithCancel(t.Context())
	fsm = newJournal()
	err := newMachine(watched{fsm, cancel}, fsm.at).replay(ctx, store, 1, entries)
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, len(fsm.all()), len(want))

	store.cache.delete(30, 30)
	require.NoError(t, store.bolt.store.DeleteRange(30, 30))
	fsm = newJournal()
	err = newMachine(fsm, fsm.at).replay(t.Context(), store, 1, entries)
	require.ErrorIs(t, err, raft.ErrLogNotFound)
	require.NotEmpty(t, fsm.all(), "what was read before is applied")
}

// watched is a journal that says when entries were applied.
type watched struct {
	*journal
	applied func()
}

func (w watched) ApplyBatch(logs []*raft.Log) []any {
	defer w.applied()
	return w.journal.ApplyBatch(logs)
}

// newer is an FSM that cannot read some entries, as one that is older than the log.
type newer struct{ *journal }

var errNewer = errors.New("of a newer version")

func (newer) Readable(entry []byte) error {
	if string(entry) == "newer" {
		return errNewer
	}
	return nil
}

// A start on the log of a newer version ends with an error, not with a panic in the middle of an entry, and so does a recovery.
func TestALogOfANewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	m := newMember(t, nil).start()
	waitReady(t, m)
	m.propose("known")
	at := m.propose("newer").Index
	id := m.node.ID()
	m.stop()

	store, err := openLogStore(m.cfg.DataDir, 1<<20, func(err error) { t.Error(err) })
	require.NoError(t, err)
	first, err := store.FirstIndex()
	require.NoError(t, err)
	last, err := store.LastIndex()
	require.NoError(t, err)
	store.lastKept.Store(last)
	fsm := newer{newJournal()}
	err = newMachine(fsm, fsm.at).replay(t.Context(), store, first, last)
	require.ErrorIs(t, err, errNewer)
	require.ErrorContains(t, err, fmt.Sprintf("entry %d of the log", at))
	require.NoError(t, store.close())

	s, err := OpenStopped(m.cfg.DataDir, testLog())
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	fsm = newer{newJournal()}
	require.ErrorIs(t, s.Recover([]RecoveryMember{{ID: id, Address: "127.0.0.1:1"}}, fsm, fsm.at), errNewer)
	require.Empty(t, fsm.all())
}

// stuck is an FSM that finds out in the middle of an entry that it cannot apply it.
type stuck struct {
	*journal
	err error
}

func (s *stuck) ApplyBatch(logs []*raft.Log) []any {
	for _, l := range logs {
		if s.err == nil && string(l.Data) == "unreadable" {
			s.err = errNewer
		}
		if s.err == nil {
			s.Apply(l)
		}
	}
	return make([]any, len(logs))
}

func (s *stuck) Refused() error { return s.err }

// A start on a log with an entry that cannot be applied ends with an error.
func TestAnEntryThatCannotBeAppliedEndsTheStart(t *testing.T) {
	t.Parallel()
	m := newMember(t, nil).start()
	waitReady(t, m)
	m.propose("known")
	m.propose("unreadable")
	m.propose("behind it")
	m.stop()

	cfg := m.cfg
	fsm := &stuck{journal: newJournal()}
	cfg.FSM, cfg.FSMIndex = fsm, fsm.at
	_, err := Start(t.Context(), cfg)
	require.ErrorIs(t, err, errNewer)
	require.Equal(t, []string{"known"}, fsm.all())
}

// replay recovers a data directory without starting a node.
func replay(t *testing.T, dir string, fsm *journal) *machine {
	store, err := openLogStore(dir, 1<<20, func(err error) { t.Error(err) })
	require.NoError(t, err)
	defer store.close()
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, 2, newRaftLogger(testLog()))
	require.NoError(t, err)
	mach := newMachine(fsm, fsm.at)
	snaps := &snapshotStore{SnapshotStore: files, opened: mach.restored.Store}
	require.NoError(t, mach.recover(t.Context(), snaps, store))
	return mach
}

func TestSnapshotCompactsAndRestores(t *testing.T) {
	t.Parallel()
	m := newMember(t, func(c *Config) { c.TrailingBytes = 1 }).start()
	waitReady(t, m)
	for i := range 600 {
		m.propose(fmt.Sprint(i))
	}
	require.NoError(t, m.node.Snapshot())
	require.NoError(t, m.node.Snapshot(), "nothing new is no error")
	m.propose("after")
	first, err := m.node.store.FirstIndex()
	require.NoError(t, err)
	require.Greater(t, first, uint64(100), "the log was cut")
	require.NotZero(t, m.node.Status().Snapshot)
	want := m.fsm.all()
	m.stop()

	m.start()
	require.Equal(t, want, m.fsm.all())
	waitReady(t, m)
	m.propose("more")
	require.NoError(t, m.node.Snapshot(), "what was replayed is confirmed by now")
}

func TestSnapshotIsTriggeredByBytes(t *testing.T) {
	t.Parallel()
	m := newMember(t, func(c *Config) { c.SnapshotThresholdBytes = 10_000 }).start()
	waitReady(t, m)
	for range 20 {
		m.propose(string(make([]byte, 1000)))
	}
	eventually(t, func() bool { return m.node.Status().Snapshot > 0 && m.node.StorageStats().LogBytes < 20_000 })
}

// Many small entries take a start long, too: a thousand are like a megabyte.
func TestSnapshotIsTriggeredByEntries(t *testing.T) {
	t.Parallel()
	m := newMember(t, func(c *Config) { c.SnapshotThresholdBytes = 100 * replayWeight }).start()
	waitReady(t, m)
	for range 120 {
		m.propose("x")
	}
	eventually(t, func() bool { return m.node.Status().Snapshot > 0 && m.node.replayCost() < 100*replayWeight })
	require.Less(t, m.node.StorageStats().LogBytes, int64(100*replayWeight)/2)
}

// failsOnce is an FSM whose first snapshot cannot be taken, as while a restore is under way.
type failsOnce struct {
	*journal
	failed atomic.Bool
}

func (f *failsOnce) Snapshot() (raft.FSMSnapshot, error) {
	if !f.failed.Swap(true) {
		return nil, errors.New("not now")
	}
	return f.journal.Snapshot()
}

// One that the leader sent and that found no space, long ago, has nothing to do with one that fails now.
func TestASnapshotThatFailsOtherwiseIsTriedAgainSoon(t *testing.T) {
	t.Parallel()
	fsm := &failsOnce{journal: newJournal()}
	m := newMember(t, func(c *Config) { c.SnapshotThresholdBytes, c.FSM, c.FSMIndex = 100*replayWeight, fsm, fsm.at })
	node, err := Start(t.Context(), m.cfg)
	require.NoError(t, err)
	m.node, m.fsm = node, fsm.journal
	waitReady(t, m)
	m.node.snaps.full.Store(true)
	for range 120 {
		m.propose("x")
	}
	eventually(t, func() bool { return m.node.Status().Snapshot > 0 })
	require.True(t, fsm.failed.Load())
}

// A snapshot that is being written has as much log to come as it took to start it, and is late from then on.
func TestArrearsCountWhatComesBesideASnapshot(t *testing.T) {
	t.Parallel()
	m := newMember(t, func(c *Config) { c.SnapshotThresholdBytes = 100 * replayWeight }).start()
	waitReady(t, m)
	m.fsm.held.Lock()
	release := sync.OnceFunc(m.fsm.held.Unlock)
	t.Cleanup(release)
	require.Negative(t, m.node.Arrears())
	for i := 0; m.node.Arrears() <= 1; i++ {
		require.Less(t, i, 200, "an entry weighs a hundredth of the bound at least")
		m.propose("x")
	}
	require.GreaterOrEqual(t, m.node.replayCost(), int64(2*100*replayWeight))
	release()
	eventually(t, func() bool { return m.node.Arrears() < 0 })
}

func TestNothingIsReadyWithoutStateOrLeader(t *testing.T) {
	t.Parallel()
	m := newMember(t, func(c *Config) {
		c.Join = []string{freeAddr(t)}
		c.Timing.ReadyWithoutLeader = time.Millisecond
	}).start()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, m.node.WaitReady(ctx), context.DeadlineExceeded)
	require.Equal(t, "forming", m.node.Status().State)
	_, err := m.node.Propose(t.Context(), []byte("x"))
	require.ErrorIs(t, err, ErrNotLeader)
	_, err = m.node.ReadIndex(t.Context())
	require.ErrorIs(t, err, ErrNotLeader)
	_, err = m.node.Call(t.Context(), 1, nil)
	require.ErrorIs(t, err, ErrNotLeader)
	require.False(t, m.node.Fresh(time.Hour))
}

func TestStateIsServedWithoutAQuorum(t *testing.T) {
	t.Parallel()
	members := startTrio(t, func(_ int, c *Config) { c.Timing.ReadyWithoutLeader = 100 * time.Millisecond })
	proposeAnywhere(t, "kept", members...)
	for _, m := range members {
		m.fsm.wait(t, members[0].node.CommitIndex())
		eventually(t, func() bool { return m.node.store.lastKept.Load() >= m.node.AppliedIndex() })
	}
	for _, m := range members {
		m.crash()
	}
	m := members[1].start()
	require.Equal(t, []string{"kept"}, m.fsm.all())
	waitReady(t, m)
	require.False(t, m.node.Fresh(time.Hour))
	_, err := m.node.ReadIndex(patient(t))
	require.ErrorIs(t, err, ErrNotLeader)
}

func TestDataDirectoryIsGuarded(t *testing.T) {
	t.Parallel()
	m := newMember(t, nil).start()
	second := newMember(t, func(c *Config) { c.DataDir = m.cfg.DataDir })
	require.ErrorContains(t, second.tryStart(), "in use")
	id := m.node.ID()
	m.stop()

	second.cfg.NodeID = "another"
	require.ErrorContains(t, second.tryStart(), id)
	second.cfg.NodeID = id

	name := filepath.Join(m.cfg.DataDir, identityFileName)
	kept, err := os.ReadFile(name)
	require.NoError(t, err)
	flipped := append([]byte(nil), kept...)
	flipped[15] ^= 1
	require.NoError(t, os.WriteFile(name, flipped, 0o600))
	require.ErrorIs(t, second.tryStart(), ErrCorrupt)

	require.NoError(t, os.Remove(name))
	require.ErrorContains(t, second.tryStart(), "lost")
	require.NoError(t, os.WriteFile(name, kept, 0o600))

	require.NoError(t, os.Rename(filepath.Join(m.cfg.DataDir, logFileName), filepath.Join(m.cfg.DataDir, "away")))
	require.ErrorContains(t, second.tryStart(), "gone")
	require.NoError(t, os.Rename(filepath.Join(m.cfg.DataDir, "away"), filepath.Join(m.cfg.DataDir, logFileName)))

	entries, err := os.ReadDir(m.cfg.DataDir)
	require.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		if !e.IsDir() {
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), e.Name())
		}
	}
	require.NoError(t, second.tryStart())
}

// TestKilledWhileItMadeACluster: Raft stores the term of a new cluster before its first entry, and makes none where there is a term.
func TestKilledWhileItMadeACluster(t *testing.T) {
	t.Parallel()
	killed := func(m *member) *member {
		m.start() // waits for others, so it makes no cluster
		m.stop()
		store, err := openLogStore(m.cfg.DataDir, 1<<20, func(err error) { t.Error(err) })
		require.NoError(t, err)
		require.NoError(t, store.Set(keyClusterID, []byte("half made")))
		require.NoError(t, store.SetUint64(keyTerm, 1))
		require.NoError(t, store.close())
		return m
	}
	m := killed(newMember(t, func(c *Config) { c.BootstrapExpect = 2 }))
	m.cfg.BootstrapExpect = 1
	m.start()
	leaderOf(t, m)
	m.propose("it works")
	require.Equal(t, "half made", m.node.ClusterID())

	m.stop()
	m.start()
	require.Equal(t, []string{"it works"}, m.fsm.all(), "a term with a log behind it stays")

	// One that voted in that term is not new: it keeps its term, and its vote.
	voted := killed(newMember(t, func(c *Config) { c.BootstrapExpect = 2 }))
	store, err := openLogStore(voted.cfg.DataDir, 1<<20, func(err error) { t.Error(err) })
	require.NoError(t, err)
	require.NoError(t, store.SetUint64(keyVoteTerm, 1))
	require.NoError(t, store.Set(keyVoteCand, []byte("somebody")))
	require.NoError(t, store.close())
	voted.cfg.BootstrapExpect = 1
	require.ErrorIs(t, voted.tryStart(), raft.ErrCantBootstrap)
}

func TestListeningBeyondLoopbackNeedsASecret(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:1", "example.org:1"} {
		_, err := Start(t.Context(), Config{DataDir: t.TempDir(), ClusterAddr: addr, FSM: newJournal()})
		require.ErrorContains(t, err, "secret", addr)
		_, err = Start(t.Context(), Config{DataDir: t.TempDir(), ClusterAddr: "127.0.0.1:0", GossipAddr: addr, FSM: newJournal()})
		require.ErrorContains(t, err, "secret", addr)
	}
	m := newMember(t, func(c *Config) { c.ClusterAddr, c.Secret = "0.0.0.0:0", "open sesame, please" }).start()
	require.NotContains(t, m.node.Addr(), "0.0.0.0")
}

func TestCorruptEntryIsNoticedAtStart(t *testing.T) {
	t.Parallel()
	m := newMember(t, nil).start()
	waitReady(t, m)
	at := m.propose("the quick brown fox").Index
	m.propose("tail")
	m.crash()
	flipLogByte(t, m.cfg.DataDir, at, "quick")
	require.ErrorIs(t, m.tryStart(), ErrCorrupt)
}

func TestLeadershipIsReported(t *testing.T) {
	t.Parallel()
	m := newMember(t, nil).start()
	terms := make(chan uint64, 10)
	m.node.OnLeadership(func(term uint64) { terms <- term })
	waitReady(t, m)
	term := <-terms
	if term == 0 {
		term = <-terms
	}
	require.Equal(t, m.node.LeaderTerm(), term)
	m.stop()
	require.Zero(t, <-terms)
}

// TestWhatWasBegunIsOfUnknownOutcome: an entry that waits for a majority when its context ends is in the log, and may be committed yet.
func TestWhatWasBegunIsOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	n := &Node{dead: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	defer close(begun)
	err := n.await(ctx, func() error { cancel(); <-begun; return nil })
	require.ErrorIs(t, err, ErrUnknownOutcome)
	require.NotErrorIs(t, err, context.Canceled, "whoever asks for this one first says that nothing was written")
}
