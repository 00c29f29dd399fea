package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"

	"github.com/hashicorp/raft"
)

// errReplaying: Raft has not yet delivered what the replay applied, so a
// snapshot would be labelled with an index older than its content.
var errReplaying = errors.New("cluster: the log replayed at start is not confirmed yet")

// machine stands between Raft and the FSM. It restores the FSM before Raft
// starts, leaves out what was applied then when Raft delivers it again, and
// knows how far the FSM is.
type machine struct {
	fsm      raft.FSM
	batching raft.BatchingFSM // nil if fsm does not implement it
	index    func() uint64    // the FSM's own count; nil if it has none
	applied  atomic.Uint64    // every command up to here is applied
	restored atomic.Uint64    // index of the snapshot opened last, see snapshotStore

	// Raft's FSM goroutine (and the replay before it) owns these.
	replayed  uint64 // last command applied by the replay
	delivered uint64 // last entry that Raft delivered
}

var (
	_ raft.BatchingFSM = (*machine)(nil)
)

func newMachine(fsm raft.FSM, index func() uint64) *machine {
	m := &machine{fsm: fsm, index: index}
	m.batching, _ = fsm.(raft.BatchingFSM)
	return m
}

// Apply applies one entry.
func (m *machine) Apply(l *raft.Log) any { return m.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch hands the commands that are new to the FSM.
func (m *machine) ApplyBatch(logs []*raft.Log) []any {
	answers := make([]any, len(logs))
	fresh := make([]*raft.Log, 0, len(logs))
	for _, l := range logs {
		if l.Type == raft.LogCommand && l.Index > m.replayed {
			fresh = append(fresh, l)
		}
	}
	got := m.apply(fresh)
	next := 0
	for i, l := range logs {
		if next < len(fresh) && fresh[next] == l {
			answers[i] = got[next]
			next++
		}
		m.delivered = l.Index
	}
	return answers
}

func (m *machine) apply(logs []*raft.Log) []any {
	if len(logs) == 0 {
		return nil
	}
	var answers []any
	if m.batching != nil {
		answers = m.batching.ApplyBatch(logs)
	} else {
		for _, l := range logs {
			answers = append(answers, m.fsm.Apply(l))
		}
	}
	m.applied.Store(logs[len(logs)-1].Index)
	return answers
}

// Snapshot asks the FSM, unless it is ahead of what Raft delivered.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	if m.delivered < m.replayed {
		return nil, errReplaying
	}
	return m.fsm.Snapshot()
}

// Restore replaces the FSM's state; what was replayed at start is gone with it.
func (m *machine) Restore(r io.ReadCloser) error {
	if err := m.fsm.Restore(r); err != nil {
		return err
	}
	m.replayed = 0
	m.applied.Store(m.fsmIndex(m.restored.Load()))
	return nil
}

// fsmIndex is the index of the last command in the FSM, or fallback if it does not tell.
func (m *machine) fsmIndex(fallback uint64) uint64 {
	if m.index == nil {
		return fallback
	}
	return m.index()
}

// recover brings the FSM to the newest state that is known to be committed,
// before Raft starts: the newest snapshot and the log up to the stored commit
// index. A restarted node can so serve what was committed without a leader;
// Raft alone would serve the snapshot until a leader tells it more.
func (m *machine) recover(ctx context.Context, snaps *snapshotStore, store *logStore) error {
	start, err := m.recoverSnapshot(snaps)
	if err != nil {
		return err
	}
	last, err := store.LastIndex()
	if err != nil {
		return err
	}
	first, err := store.FirstIndex()
	if err != nil {
		return err
	}
	if last > start && first > start+1 {
		return fmt.Errorf("%w: the log begins at %d, the snapshot ends at %d", ErrCorrupt, first, start)
	}
	if 0 < last && last < start {
		// The node ended while it took over a snapshot from the leader: the log is in there, and what the leader sends next does not continue it.
		// Without space for that it goes with the next entry: see dropReplaced.
		if err := store.DeleteRange(first, last); !errors.Is(err, errDiskFull) {
			return err
		}
		return nil
	}
	return m.replay(ctx, store, start+1, last)
}

func (m *machine) recoverSnapshot(snaps *snapshotStore) (uint64, error) {
	list, err := snaps.List()
	if err != nil {
		return 0, fmt.Errorf("cluster: list snapshots: %w", err)
	}
	if len(list) == 0 {
		return 0, nil
	}
	path := filepath.Join(snaps.dir, "snapshots", list[0].ID, "state.bin")
	meta, content, err := snaps.Open(list[0].ID)
	if err != nil {
		return 0, fmt.Errorf("%w: snapshot %s: %w", ErrCorrupt, path, err)
	}
	if err := m.Restore(content); err != nil {
		return 0, fmt.Errorf("cluster: restore snapshot %s: %w", path, err)
	}
	snaps.note(meta)
	return meta.Index, nil
}

// replayer is an FSM that can be quicker when it knows that nobody reads it yet.
type replayer interface{ Replaying(on bool) }

// reader is an FSM that can tell whether it will be able to apply an entry: one of a newer version it has to refuse, and a start
// can say so where applying could only panic.
type reader interface{ Readable(entry []byte) error }

// refuser is an FSM that tells of an entry of the log at start that it could not apply, and applies none after it: only
// applying shows whether all of an entry can be read.
type refuser interface{ Refused() error }

func (m *machine) readable(l *raft.Log) error {
	fsm, ok := m.fsm.(reader)
	if !ok || l.Type != raft.LogCommand {
		return nil
	}
	if err := fsm.Readable(l.Data); err != nil {
		return fmt.Errorf("cluster: entry %d of the log: %w", l.Index, err)
	}
	return nil
}

// replayBatch is how many bytes of entries the replay hands over at once: the FSM
// is much faster with thousands of entries than with few. The next ones are read meanwhile.
const replayBatch = 8 << 20

// batch is a part of the log as it was read.
type batch struct {
	logs []*raft.Log // the commands of it that are known to be committed
	err  error       // it cannot be read: the last batch
}

// replay checks the log from lo to hi, and applies it as far as it is known to be committed.
func (m *machine) replay(ctx context.Context, store *logStore, lo, hi uint64) error {
	committed := store.lastKept.Load()
	if stamped, err := lastStamp(store, lo, hi); err != nil {
		return err
	} else {
		committed = min(max(committed, stamped), hi)
	}
	if r, ok := m.fsm.(replayer); ok {
		r.Replaying(true)
		defer r.Replaying(false)
	}
	reading, stop := context.WithCancel(ctx)
	batches := make(chan batch)
	go m.readBatches(reading, store, lo, hi, committed, batches)
	defer func() {
		stop()
		for range batches { // until the reader has ended
		}
	}()
	for b := range batches {
		if err := cmp.Or(ctx.Err(), b.err); err != nil {
			return err
		}
		m.apply(b.logs)
		if r, ok := m.fsm.(refuser); ok && r.Refused() != nil {
			return fmt.Errorf("cluster: %w", r.Refused())
		}
		if len(b.logs) > 0 {
			m.replayed = b.logs[len(b.logs)-1].Index
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	atomicMax(&store.lastKept, committed)
	return nil
}

// readBatches reads the log from lo to hi and closes out behind the last of it, or when ctx is done.
func (m *machine) readBatches(ctx context.Context, store *logStore, lo, hi, committed uint64, out chan<- batch) {
	defer close(out)
	var b batch
	var size int64
	send := func() bool {
		select {
		case out <- b:
			b, size = batch{}, 0
			return true
		case <-ctx.Done():
			return false
		}
	}
	for index := lo; index <= hi; index++ {
		l := new(raft.Log)
		if err := store.GetLog(index, l); err != nil {
			b.err = fmt.Errorf("cluster: read log at %d: %w", index, err)
			break
		}
		store.counters.sinceSnapshot.Add(cost(l))
		if index <= committed {
			if b.err = m.readable(l); b.err != nil {
				break
			}
		}
		if index <= committed && l.Type == raft.LogCommand {
			b.logs, size = append(b.logs, l), size+cost(l)
		}
		if size >= replayBatch && !send() {
			return
		}
	}
	send()
}

// lastStamp is the newest commit index that the last entries tell of.
func lastStamp(store *logStore, lo, hi uint64) (uint64, error) {
	if hi < lo {
		return 0, nil
	}
	var l raft.Log
	if err := store.GetLog(hi, &l); err != nil {
		return 0, fmt.Errorf("cluster: read log at %d: %w", hi, err)
	}
	return checkStamp(&l)
}

// snapshotStore remembers which snapshot was opened last, for an FSM that
// does not keep its index, and the size of the newest one. It seals what it makes.
type snapshotStore struct {
	raft.SnapshotStore
	dir    string // of the node's data
	opened func(index uint64)
	size   atomic.Int64  // of the newest
	index  atomic.Uint64 // of the newest
	full   atomic.Bool   // one that failed found no space
}

func (s *snapshotStore) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	meta, content, err := s.SnapshotStore.Open(id)
	if err == nil {
		s.opened(meta.Index)
	}
	return meta, content, err
}
