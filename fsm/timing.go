package fsm

import (
	"sync"
	"time"
)

// Span is when something began and ended, by this node's clock.
type Span struct {
	Began, Ended time.Time
}

// Timing is what became of a write on the way, for those who follow it. Steps that it did not come to are zero.
type Timing struct {
	Wait    Span // in the mailbox of the Writer, or the IdentityBatcher
	Propose Span // until it was committed and applied on the leader
}

// timings are when the last batches of entries were applied. Looking is for tracing; nobody decides by it.
type timings struct {
	mu   sync.Mutex // taken once a batch, and by who traces a write
	last [64]appliedBatch
	next int
}

type appliedBatch struct {
	index uint64 // of its last entry
	span  Span
}

func (t *timings) keep(index uint64, s Span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[t.next%len(t.last)] = appliedBatch{index, s}
	t.next++
}

// AppliedDuring tells when this node applied the entry at index, while it is one of the last.
func (f *FSM) AppliedDuring(index uint64) (span Span, ok bool) {
	t := &f.timings
	t.mu.Lock()
	defer t.mu.Unlock()
	best := uint64(0)
	for _, b := range t.last {
		if b.index >= index && (best == 0 || b.index < best) {
			best, span = b.index, b.span
		}
	}
	return span, best != 0
}
