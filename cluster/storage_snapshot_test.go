package cluster

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

func TestDamagedSnapshotsAreNoticed(t *testing.T) {
	t.Parallel()
	m := newMember(t, nil).start()
	waitReady(t, m)
	m.propose("something")
	require.NoError(t, m.node.Snapshot())
	m.crash()
	found, err := filepath.Glob(filepath.Join(m.cfg.DataDir, "snapshots", "*", "meta.json"))
	require.NoError(t, err)
	require.Len(t, found, 1)
	sound, err := os.ReadFile(found[0])
	require.NoError(t, err)
	require.Contains(t, string(sound), "127.0.0.1", "the member's address")
	for _, change := range [][2]string{{`"Term":`, `"Term":1`}, {`"Index":`, `"Index":1`}, {`"ID":"`, `"ID":"1`}, {`"Version":1`, `"Version":0`}, {`{`, `[`}, {`127.0.0.1`, `127.0.0.3`}} {
		require.NoError(t, os.WriteFile(found[0], []byte(strings.Replace(string(sound), change[0], change[1], 1)), 0o600))
		err := m.tryStart()
		require.ErrorIs(t, err, ErrCorrupt, "%v", change)
		require.ErrorContains(t, err, "snapshots", "%v", change)
	}
	state := filepath.Join(filepath.Dir(found[0]), "state.bin")
	content, err := os.ReadFile(state)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(found[0], sound, 0o600))
	content[len(content)/2] ^= 4
	require.NoError(t, os.WriteFile(state, content, 0o600))
	require.ErrorIs(t, m.tryStart(), ErrCorrupt)
	content[len(content)/2] ^= 4
	require.NoError(t, os.WriteFile(state, content, 0o600))
	m.start()
	m.crash()
	require.NoError(t, os.Remove(filepath.Join(filepath.Dir(found[0]), snapshotSeal)))
	m.start() // a snapshot of an older binary
}

// fullStore is raft's store on a disk without space.
type fullStore struct {
	raft.SnapshotStore
	create bool // fails to create
}

var errNoSpace = &fs.PathError{Op: "write", Path: "state.bin", Err: syscall.ENOSPC}

func (s fullStore) Create(v raft.SnapshotVersion, index, term uint64, c raft.Configuration, at uint64, t raft.Transport) (raft.SnapshotSink, error) {
	sink, err := s.SnapshotStore.Create(v, index, term, c, at, t)
	if err == nil && s.create {
		return nil, errNoSpace // the directory stays
	}
	return fullSink{sink}, err
}

type fullSink struct{ raft.SnapshotSink }

func (fullSink) Write([]byte) (int, error) { return 0, errNoSpace }
func (fullSink) Close() error              { return errors.New("what could not be written cannot be closed") }
func (fullSink) Cancel() error             { return errNoSpace } // as raft's: what it has not written it cannot give up

// TestAFailedSnapshotLeavesNothing on the disk that it filled.
func TestAFailedSnapshotLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, 2, newRaftLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	_, transport := raft.NewInmemTransport("")
	begin := func(create bool) (*snapshotStore, raft.SnapshotSink, error) {
		s := &snapshotStore{SnapshotStore: fullStore{files, create}, dir: dir}
		sink, err := s.Create(1, 7, 2, raft.Configuration{}, 1, transport)
		return s, sink, err
	}
	_, other, err := begin(false)
	require.NoError(t, err)
	time.Sleep(2 * time.Millisecond) // raft names them by the millisecond
	left := func() int {
		names, err := os.ReadDir(filepath.Join(dir, "snapshots"))
		require.NoError(t, err)
		return len(names)
	}
	require.Equal(t, 1, left(), "one that is being written")
	for name, end := range map[string]func(raft.SnapshotSink) error{"cancel": raft.SnapshotSink.Cancel, "close": raft.SnapshotSink.Close} {
		s, sink, err := begin(false)
		require.NoError(t, err)
		_, err = sink.Write([]byte("x"))
		require.ErrorIs(t, err, syscall.ENOSPC)
		require.True(t, s.full.Load())
		content, err := os.OpenFile(filepath.Join(dir, "snapshots", sink.ID()+unfinishedSnapshot, "state.bin"), os.O_RDWR, 0)
		require.NoError(t, err)
		_, err = content.WriteString("of a snapshot")
		require.NoError(t, err)
		require.Error(t, end(sink))
		require.Equal(t, 1, left(), name)
		info, err := content.Stat()
		require.NoError(t, err)
		require.Zero(t, info.Size(), "whoever has it open keeps no space")
		require.NoError(t, content.Close())
	}
	s, _, err := begin(true)
	require.Error(t, err)
	require.True(t, s.full.Load())
	require.Equal(t, 1, left())
	require.Error(t, other.Cancel())
	require.Zero(t, left())
}

// TestASnapshotThatLeavesNoSpaceForItsSealCounts: one that was said to have failed stayed on the full disk, unused, and the next attempt
// found no space beside it.
func TestASnapshotThatLeavesNoSpaceForItsSealCounts(t *testing.T) {
	t.Parallel()
	full := fullDevice(t)
	dir := t.TempDir()
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, keptSnapshots, newRaftLogger(testLog()))
	require.NoError(t, err)
	s := &snapshotStore{SnapshotStore: files, dir: dir}
	sink, err := s.Create(1, 7, 2, raft.Configuration{}, 1, nowhere())
	require.NoError(t, err)
	place := filepath.Join(dir, "snapshots", sink.ID())
	require.NoError(t, os.Symlink(full.Name(), filepath.Join(place+unfinishedSnapshot, snapshotSeal+".tmp")))
	_, err = sink.Write([]byte("state"))
	require.NoError(t, err)
	require.NoError(t, sink.Close())
	require.EqualValues(t, 7, s.index.Load())
	left, err := os.ReadDir(place)
	require.NoError(t, err)
	require.Len(t, left, 2, "content and what describes it")
	require.NoError(t, checkSnapshots(dir))
}

// TestASnapshotThatFoundNoSpaceWaits for more of it, or a while.
func TestASnapshotThatFoundNoSpaceWaits(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	r := snapshotRoom{free: 100, at: now}
	require.False(t, snapshotRoom{}.lacks(0, now))
	require.True(t, r.lacks(100, now.Add(time.Second)))
	require.False(t, r.lacks(126, now.Add(time.Second)))
	require.False(t, r.lacks(100, now.Add(snapshotPatience)))
}
