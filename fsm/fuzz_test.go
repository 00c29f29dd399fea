package fsm

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/raft"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/flagraft/flagraft/e2e/fuzz/alloc"
	"github.com/flagraft/flagraft/fsm/identity"
)

// FuzzApply feeds damaged entries to a state machine: a readable entry is
// applied, anything else is an error; nothing panics on the way, and the hash that
// is kept up to date stays that of the rows: what was applied survives a snapshot.
func FuzzApply(f *testing.F) {
	log, _ := randomLog(f, rand.New(rand.NewPCG(1, 1)), 20)
	for _, l := range log {
		f.Add(l.Data)
	}
	f.Add(append([]byte{byte(KindIdentityBatch), 1, 0, 0, 0, 0, 0, 0, 0, 1}, identity.AppendSubBatch(identity.AppendBatch(nil), identity.SubBatch{Node: []byte("n"), Sequence: 1, Ops: 1 << 20}, nil)...))
	genesis := log[0]
	f.Fuzz(func(t *testing.T, data []byte) {
		var m *FSM
		var err error
		alloc.Bound(t, 8<<20+10_000*len(data), func() {
			m = newTestFSM(t)
			m.Apply(genesis)
			_, err = m.apply(2, data, &Touched{})
		})
		if err != nil || len(data) > 2 && Kind(data[0]) == KindHashVerdict {
			return // the node stops
		}
		if m.staged == nil {
			whole := newTestFSM(t)
			whole.Apply(genesis)
			whole.Apply(&raft.Log{Index: 2, Type: raft.LogCommand, Data: data})
			throughSnapshot(t, whole)
		}
	})
}

// FuzzSnapshot feeds damaged snapshots to Restore.
func FuzzSnapshot(f *testing.F) {
	log, _ := randomLog(f, rand.New(rand.NewPCG(2, 1)), 40)
	m := newTestFSM(f)
	m.ApplyBatch(log)
	whole := snapshotBytes(f, m)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Fuzz(func(t *testing.T, data []byte) {
		m := newTestFSM(t)
		before := m.State()
		if err := m.Restore(io.NopCloser(bytes.NewReader(data))); err != nil {
			require.ErrorIs(t, err, ErrSnapshot)
			require.Same(t, before, m.State(), "a snapshot that was refused changed something")
			return
		}
		require.Equal(t, m.State().Hash(), throughSnapshot(t, m).State().Hash())
	})
}

// FuzzSections reads what the checksums and the compression of a snapshot keep
// from FuzzSnapshot.
func FuzzSections(f *testing.F) {
	log, _ := randomLog(f, rand.New(rand.NewPCG(5, 1)), 40)
	m := newTestFSM(f)
	m.ApplyBatch(log)
	chunks, err := newChunkReader(bytes.NewReader(snapshotBytes(f, m)))
	require.NoError(f, err)
	z, err := zstd.NewReader(chunks)
	require.NoError(f, err)
	defer z.Close()
	whole, err := io.ReadAll(z)
	require.NoError(f, err)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(binary.AppendUvarint([]byte{sectionMeta}, maxRowBytes))
	f.Fuzz(func(t *testing.T, data []byte) {
		alloc.Bound(t, 2<<20+10_000*len(data), func() {
			s := &State{rows: newRows().fork()}
			_ = s.readSections(bufio.NewReader(bytes.NewReader(data)))
		})
	})
}

func snapshotBytes(t testing.TB, f *FSM) []byte {
	s, err := f.Snapshot()
	require.NoError(t, err)
	defer s.Release()
	var buf bytes.Buffer
	require.NoError(t, s.(*snapshot).write(&buf))
	return buf.Bytes()
}

// TestSnapshotNoticesEveryFlippedByte damages a snapshot at each place in turn.
func TestSnapshotNoticesEveryFlippedByte(t *testing.T) {
	log, _ := randomLog(t, rand.New(rand.NewPCG(3, 1)), 30)
	m := newTestFSM(t)
	m.ApplyBatch(log)
	whole := snapshotBytes(t, m)
	step := max(1, len(whole)/500)
	for i := 0; i < len(whole); i += step {
		bad := bytes.Clone(whole)
		bad[i] ^= 0x10
		require.ErrorIs(t, newTestFSM(t).Restore(io.NopCloser(bytes.NewReader(bad))), ErrSnapshot, "byte %d", i)
	}
	require.ErrorIs(t, newTestFSM(t).Restore(io.NopCloser(bytes.NewReader(whole[:len(whole)-1]))), ErrSnapshot)
}

// TestUnreadableEntryStopsTheNode wants a node to stop rather than to skip what
// the others applied.
func TestUnreadableEntryStopsTheNode(t *testing.T) {
	f := newTestFSM(t)
	require.Panics(t, func() {
		f.Apply(&raft.Log{Index: 1, Type: raft.LogCommand, Data: []byte{byte(KindChangeset), FormatLevel + 1}})
	})
}

// Whoever runs the node is told which entry it is, of what operation, and what to do; a start and a recovery end with
// that, and make no snapshot of what is half applied.
func TestAnEntryThatCannotBeAppliedIsNamed(t *testing.T) {
	bad := &raft.Log{Index: 7, Type: raft.LogCommand, Data: newEntry(KindUsageBatch, BaseLevel, []byte{0xff})}
	named := func(err error) {
		require.ErrorIs(t, err, ErrFormat)
		for _, part := range []string{"entry 7 of the log", "usage counts", "--join", "--restore-from"} {
			require.ErrorContains(t, err, part)
		}
	}
	serving := newTestFSM(t)
	var told error
	serving.OnStop(func(err error) { told = err })
	require.Panics(t, func() { serving.Apply(bad) })
	named(told)

	log, _ := randomLog(t, rand.New(rand.NewPCG(3, 3)), 5)
	for name, prepare := range map[string]func(*FSM){
		"start":    func(f *FSM) { f.Replaying(true) },
		"recovery": (*FSM).GiveUpRestores,
	} {
		f := newTestFSM(t)
		f.OnStop(func(error) { t.Error(name, "ends by itself") })
		prepare(f)
		f.ApplyBatch(log[:2])
		before := f.State()
		require.NoError(t, f.Refused())
		f.ApplyBatch([]*raft.Log{log[2], bad})
		named(f.Refused())
		f.ApplyBatch(log[2:])
		require.Same(t, before, f.State(), name)
		_, err := f.Snapshot()
		named(err)
	}
}
