package fsm

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/flagraft/flagraft/fsm/identity"
)

// FSM is the replicated state machine. Raft's FSM goroutine owns it: Apply,
// ApplyBatch, Snapshot and Restore run there and nowhere else, so there is no
// mailbox in front of it. Everybody else reads what it publishes.
type FSM struct {
	log *slog.Logger

	// Owned by the FSM goroutine.
	rows    *rows // of the entries applied so far
	ids     *identity.Stores
	current State
	roots   roots // read by everybody

	staged    *stagedRestore // a restore under way
	givesUp   bool           // see GiveUpRestores
	replaced  bool           // by a restore, in the batch at hand
	replaying bool           // see Replaying

	// applying is held while entries are applied, and by a backup for the moment in
	// which it freezes the state. Raft owns the FSM goroutine: nothing can be sent
	// to it, so an actor does not fit.
	applying sync.Mutex

	published atomic.Pointer[State]
	applied   Watermark
	marked    atomic.Pointer[hashMarks]
	verdict   atomic.Pointer[HashVerdict]
	stop      func(error) // set before the first entry
	refused   error       // see Refused

	pace       pace         // of snapshots and backups
	frozen     atomic.Int64 // snapshots and backups that were not released
	mismatches atomic.Uint64
	views      *Views
	measures   *measures
	timings    timings
}

var _ raft.BatchingFSM = (*FSM)(nil)

// New returns an empty state machine. Views are compiled by views' environment
// actors; see [NewViews].
func New(log *slog.Logger, views *Views) *FSM {
	f := &FSM{log: log, rows: newRows().fork(), views: views, measures: newMeasures()}
	f.publish()
	views.attach(f)
	return f
}

// State returns the newest state. It never blocks.
func (f *FSM) State() *State { return f.published.Load() }

// Applied is the index of the last applied entry, to be waited for.
func (f *FSM) Applied() *Watermark { return &f.applied }

// Apply applies one committed entry. Its answer is a *[ChangesetResult],
// *[IdentityBatchResult], *[RestoreResult] or nil.
func (f *FSM) Apply(l *raft.Log) any { return f.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch applies committed entries in order and publishes the state once. It
// is much faster with thousands of them: of the earlier ones no root is kept.
func (f *FSM) ApplyBatch(logs []*raft.Log) []any {
	f.applying.Lock()
	defer f.applying.Unlock()
	began := time.Now()
	answers := make([]any, len(logs))
	if f.refused != nil {
		return answers
	}
	touched := &Touched{}
	rootless := len(logs) - keptRoots // as many entries, or less than none, have no roots
	for i, l := range logs {
		if i > 0 && i == rootless {
			f.roots.reset(f.root()) // the states before are not known any more
		}
		if l.Type != raft.LogCommand {
			continue
		}
		answer, err := f.apply(l.Index, l.Data, touched)
		if err != nil {
			f.refuse(l, err)
			return answers
		}
		answers[i] = answer
		f.current.Index = l.Index
		if i >= rootless {
			f.remember(answer)
		}
		f.forget()
	}
	f.publish()
	f.measures.apply.Observe(since(began))
	f.timings.keep(f.current.Index, Span{began, time.Now()})
	if f.replaced {
		f.replaced = false
		f.views.restored(f.current.Index)
	} else {
		f.views.changed(touched, f.current.Index)
	}
	f.applied.Advance(f.current.Index)
	return answers
}

// Readable is nil for an entry whose format level and kind this binary knows, else [ErrFormat] with both levels.
func (f *FSM) Readable(entry []byte) error {
	kind, _, err := splitEntry(entry)
	if err == nil && !slices.Contains(kinds, kind) {
		err = unknownKind(kind)
	}
	return err
}

// refuse ends all applying at an entry. Applying what others applied and this binary cannot read would make this
// node answer differently, so it stops instead: a start and a recovery by themselves, see [FSM.Refused]. Nothing of
// the batch is published.
func (f *FSM) refuse(l *raft.Log, err error) {
	f.refused = &refusal{index: l.Index, data: l.Data, why: err}
	if f.replaying || f.givesUp {
		return
	}
	if f.stop != nil {
		f.stop(f.refused)
	}
	panic(f.refused)
}

// Refused is why a start or a recovery went no further, or nil: an entry of the log that could not be applied or, at a
// recovery, a verdict that finds this node wrong. No entry is applied after it, and no snapshot taken.
func (f *FSM) Refused() error { return f.refused }

// refusal says what an operator needs to know of an entry that could not be applied.
type refusal struct {
	index uint64
	data  []byte
	why   error
}

func (r *refusal) Unwrap() error { return r.why }

func (r *refusal) Error() string {
	kind := "no operation"
	if len(r.data) > 0 {
		kind = Kind(r.data[0]).String()
	}
	return fmt.Sprintf("entry %d of the log (%s, %d bytes) cannot be applied: %v (nothing of it is served: if the binary of this node was replaced, "+
		"start the newest one that ran here; if other nodes go on, move the data directory away and start with --join; "+
		"if all stop at this entry, keep the directories, report it, and start anew from a backup with --restore-from)", r.index, kind, len(r.data), r.why)
}

// Replaying tells that the entries that follow are those of the log at start, or that
// they were. Nobody reads meanwhile, so the order of identifiers may be brought up to
// date beside them, on another core.
func (f *FSM) Replaying(on bool) {
	f.applying.Lock()
	defer f.applying.Unlock()
	f.replaying = on
	if !on && f.ids != nil {
		f.ids.Settle()
	}
}

// publish makes the current state the one that readers load.
func (f *FSM) publish() {
	f.current.identities = f.ids
	f.current.rows = f.rows.frozen()
	if f.ids != nil {
		if f.replaying {
			f.ids.SettleBehind()
		} else {
			f.ids.Settle()
		}
		f.current.identitySum = f.ids.Sum()
	}
	s := f.current
	f.published.Store(&s)
}

// Snapshot freezes the state. It costs O(shards of the identity store); raft
// calls Persist on the result on another goroutine while Apply goes on. It is
// [ErrRestoring] while a restore is under way: what came of it is in the log alone,
// so the log must stay.
func (f *FSM) Snapshot() (raft.FSMSnapshot, error) {
	if f.refused != nil {
		return nil, f.refused
	}
	if f.staged != nil && !f.givesUp {
		return nil, ErrRestoring
	}
	f.staged = nil
	return f.freeze(), nil
}

// GiveUpRestores has a snapshot end a restore under way instead of waiting for it. It is for a stopped node whose whole log becomes a snapshot:
// nobody goes on with that restore, and its client is told so.
func (f *FSM) GiveUpRestores() { f.givesUp = true }

// Frozen counts the snapshots and backups under way. What is replaced meanwhile stays in
// memory until they are written.
func (f *FSM) Frozen() int { return int(f.frozen.Load()) }

// Hurry ends the rests of snapshots and backups, those under way included: a node
// that stops waits for them.
func (f *FSM) Hurry() { f.pace.hurry.Store(true) }

// Arrears sets what tells how many times over the log is due for a snapshot, called from any
// goroutine: above 1, snapshots and backups rest so many times less. Otherwise a log that is
// written fast outgrows its bound for as long as a snapshot of much takes.
func (f *FSM) Arrears(times func() float64) { f.pace.arrears.Store(&times) }

// Restore replaces the state by a snapshot. The new state is built and checked
// beside the old one, which readers see until then.
func (f *FSM) Restore(r io.ReadCloser) error {
	defer func() { _ = r.Close() }() // only read
	restored, err := readSnapshot(r)
	if err != nil {
		return err
	}
	f.applying.Lock()
	defer f.applying.Unlock()
	f.marked.Store(nil)
	f.rows, f.ids, f.current, f.staged = restored.rows.fork(), restored.identities, *restored, nil
	f.publish()
	f.roots.reset(f.published.Load())
	f.views.restored(f.current.Index)
	f.applied.Advance(f.current.Index)
	return nil
}
