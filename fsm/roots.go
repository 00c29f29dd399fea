package fsm

import (
	"sync/atomic"
	"time"
)

// How long a superseded root is kept: what is read in pages is cut from the root
// its first page was cut from, on whichever node serves the next one.
const (
	keptRoots = 1000
	keptFor   = 60 * time.Second
)

// roots are the states as of the last changesets. No other entry changes rows
// that readers see, so that these are the rows of every index since the oldest.
//
// The FSM goroutine alone writes; readers load slot by slot. A slot is reused
// only when its root is the oldest, so a reader that races with that finds
// nothing, never a wrong root.
type roots struct {
	slots        [keptRoots]atomic.Pointer[State]
	oldest, next uint64 // root n is in slot n mod keptRoots; oldest ≤ n < next
}

// add takes the state after a changeset.
func (r *roots) add(s *State) {
	if r.next-r.oldest == keptRoots {
		r.oldest++
	}
	r.slot(r.next).Store(s)
	r.next++
	r.prune(s.Time)
}

// prune lets go of roots that were superseded keptFor before now, the replicated
// time: no clock is asked while entries are applied.
func (r *roots) prune(now Time) {
	for ; r.next-r.oldest > 1 && r.slot(r.oldest+1).Load().Time.Add(keptFor) < now; r.oldest++ {
		r.slot(r.oldest).Store(nil)
	}
}

// reset forgets everything before s.
func (r *roots) reset(s *State) {
	for i := range r.slots {
		r.slots[i].Store(nil)
	}
	r.oldest = r.next
	r.add(s)
}

func (r *roots) slot(n uint64) *atomic.Pointer[State] { return &r.slots[n%keptRoots] }

// at returns the newest root up to index, nil when it is no longer kept.
func (r *roots) at(index uint64) (found *State) {
	for i := range r.slots {
		if s := r.slots[i].Load(); s != nil && s.Index <= index && (found == nil || s.Index > found.Index) {
			found = s
		}
	}
	return found
}

// RowsAt returns the state that has the rows as of a log index which this node has
// applied: the one after the last changeset up to there. It is nil when that one
// is no longer kept (60 s after the next, 1,000 changesets).
func (f *FSM) RowsAt(index uint64) *State { return f.roots.at(index) }

// remember makes the current state, as of an entry within a batch, a root.
func (f *FSM) remember(answer any) {
	c, changed := answer.(*ChangesetResult)
	r, restored := answer.(*RestoreResult)
	restored = restored && r.Restored && f.replaced
	if !restored && (!changed || c.Err != nil) {
		f.roots.prune(f.current.Time)
		return
	}
	if restored {
		f.roots.reset(f.root()) // no page goes on from before
		return
	}
	f.roots.add(f.root())
}

// root is the current state with the rows of now.
func (f *FSM) root() *State {
	s := f.current
	s.rows, s.identities = f.rows.frozen(), f.ids
	return &s
}
