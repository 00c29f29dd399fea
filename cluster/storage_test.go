package cluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

func openTestStore(t *testing.T, cacheBytes int64) (*logStore, *[]error) {
	var fatal []error
	s, err := openLogStore(t.TempDir(), cacheBytes, func(err error) { fatal = append(fatal, err) })
	require.NoError(t, err)
	t.Cleanup(func() { s.close() })
	s.origin.Store(&origin{leading: func() bool { return true }, commit: func() uint64 { return 3 }, alone: func() bool { return false }})
	return s, &fatal
}

func storeRange(t *testing.T, s *logStore, lo, hi uint64) {
	var logs []*raft.Log
	for i := lo; i <= hi; i++ {
		logs = append(logs, &raft.Log{Index: i, Term: 1, Type: raft.LogCommand, Data: fmt.Appendf(nil, "entry %d", i)})
	}
	require.NoError(t, s.StoreLogs(logs))
}

// flipLogByte changes one bit of a stored entry behind the store's back.
func flipLogByte(t *testing.T, dir string, index uint64, within string) {
	db, err := bbolt.Open(filepath.Join(dir, logFileName), 0o600, nil)
	require.NoError(t, err)
	defer db.Close()
	flipEntry(t, db, index, within)
}

func flipEntry(t *testing.T, db *bbolt.DB, index uint64, within string) {
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketLogs)
		value := bytes.Clone(b.Get(indexKey(index)))
		at := bytes.Index(value, []byte(within))
		require.GreaterOrEqual(t, at, 0)
		value[at] ^= 1
		return b.Put(indexKey(index), value)
	}))
}

// flipOnDisk changes one bit wherever the bytes stand in the file: bbolt maps it, so an open one changes, too.
func flipOnDisk(t *testing.T, path, text string) {
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Contains(raw, []byte(text)))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	for at := 0; ; at++ {
		next := bytes.Index(raw[at:], []byte(text))
		if next < 0 {
			return
		}
		at += next
		_, err = f.WriteAt([]byte{raw[at] ^ 1}, int64(at))
		require.NoError(t, err)
	}
}

func TestStoreKeepsReadsAndDeletes(t *testing.T) {
	for _, cache := range []int64{1, 1 << 20} {
		s, fatal := openTestStore(t, cache)
		require.True(t, s.IsMonotonic())
		storeRange(t, s, 1, 3000)
		check := func(lo, hi uint64) {
			first, err := s.FirstIndex()
			require.NoError(t, err)
			require.Equal(t, lo, first)
			last, err := s.LastIndex()
			require.NoError(t, err)
			require.Equal(t, hi, last)
			var l raft.Log
			for i := lo; i <= hi && lo > 0; i++ {
				require.NoError(t, s.GetLog(i, &l))
				require.Equal(t, fmt.Sprintf("entry %d", i), string(l.Data))
			}
			if lo > 1 {
				require.ErrorIs(t, s.GetLog(lo-1, &l), raft.ErrLogNotFound)
			}
			require.ErrorIs(t, s.GetLog(hi+1, &l), raft.ErrLogNotFound)
		}
		check(1, 3000)
		require.NoError(t, s.DeleteRange(2900, 3000)) // a conflicting tail
		check(1, 2899)
		require.NoError(t, s.DeleteRange(1, 1700)) // a prefix of several chunks
		check(1701, 2899)
		storeRange(t, s, 2900, 2910)
		check(1701, 2910)
		require.NoError(t, s.DeleteRange(1701, 2910))
		check(0, 0)
		require.Empty(t, *fatal)
	}
}

func TestStampsCarryTheCommitIndex(t *testing.T) {
	s, _ := openTestStore(t, 1)
	storeRange(t, s, 1, 10)
	var l raft.Log
	require.NoError(t, s.GetLog(10, &l))
	commit, err := checkStamp(&l)
	require.NoError(t, err)
	require.EqualValues(t, 3, commit)
	require.EqualValues(t, 3, s.lastKept.Load())

	// A follower keeps the leader's stamp.
	follower, fatal := openTestStore(t, 1)
	follower.origin.Load().leading = func() bool { return false }
	require.NoError(t, follower.StoreLog(&l))
	require.EqualValues(t, 3, follower.lastKept.Load())
	require.Empty(t, *fatal)
}

func TestEveryFlippedBitOfAnEntryIsNoticed(t *testing.T) {
	original := raft.Log{Index: 7, Term: 2, Type: raft.LogCommand, Data: []byte("some data")}
	original.Extensions = newStamp(&original, 5)
	_, err := checkStamp(&original)
	require.NoError(t, err)
	changes := map[string]func(*raft.Log){
		"index": func(l *raft.Log) { l.Index++ },
		"term":  func(l *raft.Log) { l.Term ^= 4 },
		"type":  func(l *raft.Log) { l.Type = raft.LogNoop },
	}
	for bit := range 8 * len(original.Data) {
		changes[fmt.Sprint("data bit ", bit)] = func(l *raft.Log) { l.Data[bit/8] ^= 1 << (bit % 8) }
	}
	for bit := range 8 * stampSize {
		changes[fmt.Sprint("stamp bit ", bit)] = func(l *raft.Log) { l.Extensions[bit/8] ^= 1 << (bit % 8) }
	}
	for name, change := range changes {
		l := original
		l.Data, l.Extensions = bytes.Clone(original.Data), bytes.Clone(original.Extensions)
		change(&l)
		_, err := checkStamp(&l)
		require.ErrorIs(t, err, ErrCorrupt, name)
	}
}

func TestFollowerRefusesDamagedAndUnstampedEntries(t *testing.T) {
	for name, damage := range map[string]func(*raft.Log){
		"flipped":   func(l *raft.Log) { l.Data[0] ^= 1 },
		"unstamped": func(l *raft.Log) { l.Extensions = nil },
	} {
		s, fatal := openTestStore(t, 1<<20)
		s.origin.Load().leading = func() bool { return false }
		l := &raft.Log{Index: 2, Term: 1, Data: []byte("data")}
		l.Extensions = newStamp(l, 1)
		damage(l)
		require.ErrorIs(t, s.StoreLog(l), ErrCorrupt, name)
		require.Len(t, *fatal, 1, name)
		last, err := s.LastIndex()
		require.NoError(t, err)
		require.Zero(t, last, name)
	}
}

func TestGetLogNoticesDamageAtRest(t *testing.T) {
	var fatal []error
	s, err := openLogStore(t.TempDir(), 1, func(err error) { fatal = append(fatal, err) })
	require.NoError(t, err)
	s.origin.Store(&origin{leading: func() bool { return true }, commit: func() uint64 { return 0 }, alone: func() bool { return false }})
	defer s.close()
	storeRange(t, s, 1, 5)
	flipOnDisk(t, s.bolt.path, "entry 4") // since the file was opened, and checked
	var l raft.Log
	require.NoError(t, s.GetLog(3, &l))
	require.ErrorIs(t, s.GetLog(4, &l), ErrCorrupt)
	require.Len(t, fatal, 1)
}

func TestCommitIndexIsKeptWhenNoEntryCarriesIt(t *testing.T) {
	dir := t.TempDir()
	s, err := openLogStore(dir, 1, func(error) {})
	require.NoError(t, err)
	require.NoError(t, s.keepCommit(42))
	sets := s.counters.sets.Load()
	require.NoError(t, s.keepCommit(42))
	require.NoError(t, s.keepCommit(7))
	require.Equal(t, sets, s.counters.sets.Load(), "no write without news")
	require.NoError(t, s.close())
	s, err = openLogStore(dir, 1, func(error) {})
	require.NoError(t, err)
	defer s.close()
	require.EqualValues(t, 42, s.lastKept.Load())
}

func TestWatchdogNoticesAHungWrite(t *testing.T) {
	var d diskWatch
	d.begin()
	d.end()
	d.begin() // and never ends
	died := make(chan error, 1)
	d.run(patient(t), 20*time.Millisecond, func(err error) { died <- err })
	require.ErrorIs(t, <-died, ErrDiskHung)
}

func TestVoteIsOneWrite(t *testing.T) {
	dir := t.TempDir()
	s, err := openLogStore(dir, 1, func(error) {})
	require.NoError(t, err)
	require.NoError(t, s.SetUint64([]byte("CurrentTerm"), 7))
	sets := s.counters.sets.Load()
	require.NoError(t, s.SetUint64(keyVoteTerm, 7))
	require.Equal(t, sets, s.counters.sets.Load(), "nothing is stored before the candidate is known")
	term, err := s.GetUint64(keyVoteTerm)
	require.NoError(t, err)
	require.EqualValues(t, 7, term)
	require.NoError(t, s.Set(keyVoteCand, []byte("a")))
	require.Equal(t, sets+1, s.counters.sets.Load())
	require.NoError(t, s.SetUint64(keyVoteTerm, 8)) // and the node ends before the candidate is stored
	require.NoError(t, s.close())

	s, err = openLogStore(dir, 1, func(error) {})
	require.NoError(t, err)
	defer s.close()
	term, err = s.GetUint64(keyVoteTerm)
	require.NoError(t, err)
	require.EqualValues(t, 7, term)
	candidate, err := s.Get(keyVoteCand)
	require.NoError(t, err)
	require.Equal(t, "a", string(candidate))
}

// TestFilesOfBinariesWithoutSeals: they are taken over once, under another name,
// so that such a binary cannot come back to old values.
func TestFilesOfBinariesWithoutSeals(t *testing.T) {
	dir := t.TempDir()
	old, err := raftboltdb.New(raftboltdb.Options{Path: filepath.Join(dir, oldLogFileName)})
	require.NoError(t, err)
	var logs []*raft.Log
	for i := uint64(1); i <= 10; i++ {
		l := &raft.Log{Index: i, Term: 1, Type: raft.LogCommand, Data: fmt.Appendf(nil, "entry %d", i)}
		l.Extensions = newStamp(l, i-1)
		logs = append(logs, l)
	}
	require.NoError(t, old.StoreLogs(logs))
	require.NoError(t, old.SetUint64([]byte("CurrentTerm"), 7))
	require.NoError(t, old.Set(keyVoteCand, []byte("a")))
	require.NoError(t, old.Set(keyClusterID, []byte("cluster")))
	require.NoError(t, old.Close())
	for range 3 {
		s, err := openLogStore(dir, 1, func(err error) { t.Error(err) })
		require.NoError(t, err)
		require.NoFileExists(t, filepath.Join(dir, oldLogFileName))
		got, err := everything(s)
		require.NoError(t, err)
		require.Equal(t, "1 10", got["range"])
		term, err := s.GetUint64([]byte("CurrentTerm"))
		require.NoError(t, err)
		require.EqualValues(t, 7, term)
		id, err := s.Get(keyClusterID)
		require.NoError(t, err)
		require.Equal(t, "cluster", string(id))
		require.NoError(t, s.close())
	}
}

// A seal that is gone is damage once there was one.
func TestALostSealIsNoticed(t *testing.T) {
	dir := damagedDir(t)
	db, err := bbolt.Open(filepath.Join(dir, logFileName), 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketConf).Delete(keySeal) }))
	require.NoError(t, db.Close())
	_, err = openLogStore(dir, 1, func(error) {})
	require.ErrorIs(t, err, ErrCorrupt)
}

// Entries that vanish from either end are noticed, whatever the file says.
func TestALostEndIsNoticed(t *testing.T) {
	for name, index := range map[string]uint64{"first": 151, "last": 401} {
		t.Run(name, func(t *testing.T) {
			dir := damagedDir(t)
			db, err := bbolt.Open(filepath.Join(dir, logFileName), 0o600, nil)
			require.NoError(t, err)
			require.NoError(t, db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketLogs).Delete(indexKey(index)) }))
			require.NoError(t, db.Close())
			_, err = openLogStore(dir, 1, func(error) {})
			require.ErrorIs(t, err, ErrCorrupt)
		})
	}
}

func TestReachOfTheNewestBytes(t *testing.T) {
	t.Parallel()
	r := &logReach{}
	require.Zero(t, r.entries(0, 1<<40))
	for i := range 10_000 {
		r.note(uint64(i+1), 4)
	}
	require.EqualValues(t, 10_000, r.entries(10_000, 1<<40))
	for i := range 100 {
		r.note(uint64(10_001+i), 100_000)
	}
	require.InDelta(t, 50, r.entries(10_100, 5_010_000), 1, "not by the mean of all")
	r.delete(1, 9_000)
	require.Less(t, r.entries(10_100, 1<<40), uint64(1_800))
	require.Greater(t, r.entries(10_100, 1<<40), uint64(100))
	r.delete(10_051, 10_100) // a conflict
	require.InDelta(t, 50, r.entries(10_050, 5_010_000), 1)
	r.delete(1, 10_050)
	require.Zero(t, r.entries(10_050, 1<<40))
}

// TestAWholeLogGoesAtOnce: a node that ended between two parts would have a log that begins behind the snapshot in its place, and not start.
func TestAWholeLogGoesAtOnce(t *testing.T) {
	t.Parallel()
	s, _ := openTestStore(t, 1<<20)
	transactions := func(lo, hi uint64) uint64 {
		before := s.disk.progress.Load()
		require.NoError(t, s.DeleteRange(lo, hi))
		return (s.disk.progress.Load() - before) / 2
	}
	storeRange(t, s, 1, 3*deleteChunk)
	require.EqualValues(t, 2, transactions(1, 2*deleteChunk), "appends are not held up")
	require.EqualValues(t, 1, transactions(2*deleteChunk+1, 3*deleteChunk))
	storeRange(t, s, 1, 3*deleteChunk)
	require.EqualValues(t, 1, transactions(1, 3*deleteChunk))
	require.Zero(t, *s.bolt.span.Load())
}

// fullDevice has space for nothing.
func fullDevice(t *testing.T) *os.File {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("needs a device that is always full: ", err)
	}
	t.Cleanup(func() { require.NoError(t, full.Close()) })
	return full
}

// TestARecordWithoutSpaceDeniesNoEntry: a file system that copies on write may have no block for the record of the log's extent when the
// entries themselves are stored. Who is told that they are not would say so of a write that a restart brings to life.
func TestARecordWithoutSpaceDeniesNoEntry(t *testing.T) {
	s, fatal := openTestStore(t, 1<<20)
	storeRange(t, s, 1, 3)
	full := fullDevice(t)
	room := s.bolt.extent
	s.bolt.extent = &extentFile{full}
	storeRange(t, s, 4, 5)
	require.Zero(t, s.lastFull(), "nothing that matters found no space")

	// A record that promises less than there is must be on disk before something goes.
	require.ErrorIs(t, s.DeleteRange(5, 5), errDiskFull)
	require.Equal(t, span{1, 5}, *s.bolt.span.Load())
	s.bolt.extent = room
	require.NoError(t, s.DeleteRange(5, 5))
	require.Empty(t, *fatal)

	dir := filepath.Dir(s.bolt.path)
	require.NoError(t, s.close())
	s, err := openLogStore(dir, 1, func(err error) { t.Error(err) })
	require.NoError(t, err)
	require.Equal(t, span{1, 4}, *s.bolt.span.Load())
	require.NoError(t, s.close())
}

// TestALogThatASnapshotCouldNotRemoveGoesWithTheNextEntry: Raft goes on when the log of before finds no space to be removed, and the
// next entry follows the snapshot. The node would end, and could not start while there is no space.
func TestALogThatASnapshotCouldNotRemoveGoesWithTheNextEntry(t *testing.T) {
	s, fatal := openTestStore(t, 1<<20)
	last := uint64(9) // of the snapshot
	s.origin.Store(&origin{leading: func() bool { return true }, commit: func() uint64 { return 0 },
		alone: func() bool { return false }, last: func() uint64 { return last }})
	storeRange(t, s, 1, 3)
	full := fullDevice(t)
	room := s.bolt.extent
	s.bolt.extent = &extentFile{full}
	require.ErrorIs(t, s.DeleteRange(1, 3), errDiskFull)
	next := &raft.Log{Index: 10, Term: 1, Type: raft.LogCommand}
	require.ErrorIs(t, s.StoreLog(next), errDiskFull, "it comes again")
	require.Equal(t, span{1, 3}, *s.bolt.span.Load())

	// A start has no more space than that.
	dir := filepath.Dir(s.bolt.path)
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, keptSnapshots, newRaftLogger(testLog()))
	require.NoError(t, err)
	_, transport := raft.NewInmemTransport("")
	sink, err := files.Create(1, 9, 1, raft.Configuration{}, 1, transport)
	require.NoError(t, err)
	require.NoError(t, journalState{Index: 9, held: new(sync.RWMutex)}.Persist(sink))
	m := newMachine(newJournal(), nil)
	require.NoError(t, m.recover(t.Context(), &snapshotStore{SnapshotStore: files, dir: dir, opened: m.restored.Store}, s))
	require.EqualValues(t, 9, m.applied.Load())
	require.Equal(t, span{1, 3}, *s.bolt.span.Load())

	s.bolt.extent = room
	require.NoError(t, s.StoreLog(next))
	last = 10
	require.Equal(t, span{10, 10}, *s.bolt.span.Load())
	require.ErrorIs(t, s.GetLog(3, &raft.Log{}), raft.ErrLogNotFound)
	require.Empty(t, *fatal)

	require.Error(t, s.StoreLog(&raft.Log{Index: 12, Term: 1, Type: raft.LogCommand}), "a gap that no snapshot fills")
	require.Len(t, *fatal, 1)
	require.NoError(t, s.close())
}
