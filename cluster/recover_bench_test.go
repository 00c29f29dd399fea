package cluster

import (
	"io"
	"testing"

	"github.com/hashicorp/raft"
)

// nothing is an FSM that costs nothing.
type nothing struct{}

func (nothing) Apply(*raft.Log) any                 { return nil }
func (nothing) ApplyBatch(l []*raft.Log) []any      { return make([]any, len(l)) }
func (nothing) Snapshot() (raft.FSMSnapshot, error) { return nil, raft.ErrNothingNewToSnapshot }
func (nothing) Restore(io.ReadCloser) error         { return nil }

// BenchmarkRecover opens and replays a log of 64 MiB in entries of 1 KiB, as the
// start of a node does, into an FSM that costs nothing.
func BenchmarkRecover(b *testing.B) {
	const entries, size = 64 << 10, 1 << 10
	dir := b.TempDir()
	s, err := openLogStore(dir, 16<<20, func(err error) { b.Error(err) })
	if err != nil {
		b.Fatal(err)
	}
	s.origin.Store(&origin{leading: func() bool { return true }, commit: func() uint64 { return entries }, alone: func() bool { return false }})
	for at := uint64(1); at <= entries; {
		var logs []*raft.Log
		for range 64 {
			logs = append(logs, &raft.Log{Index: at, Term: 1, Type: raft.LogCommand, Data: make([]byte, size)})
			at++
		}
		if err := s.StoreLogs(logs); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.close(); err != nil {
		b.Fatal(err)
	}
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, 2, newRaftLogger(testLog()))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var opened, recovered float64
	for b.Loop() {
		began := b.Elapsed()
		s, err := openLogStore(dir, 16<<20, func(err error) { b.Error(err) })
		if err != nil {
			b.Fatal(err)
		}
		opened += float64((b.Elapsed() - began).Milliseconds())
		m := newMachine(nothing{}, nil)
		began = b.Elapsed()
		if err := m.recover(b.Context(), &snapshotStore{SnapshotStore: files, opened: m.restored.Store}, s); err != nil {
			b.Fatal(err)
		}
		recovered += float64((b.Elapsed() - began).Milliseconds())
		if got := m.applied.Load(); got != entries-1 {
			b.Fatal("applied", got)
		}
		if err := s.close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(opened/float64(b.N), "open-ms")
	b.ReportMetric(recovered/float64(b.N), "replay-ms")
}
