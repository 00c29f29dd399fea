package fsm

import (
	"sync/atomic"

	"github.com/flagraft/flagraft/fsm/identity"
)

// IdentityRefused is the error of a write whose identity operation passes a cap of
// the installation; nothing of it was written.
type IdentityRefused struct{ Status identity.Status }

// Error names the cap.
func (e *IdentityRefused) Error() string { return "identity refused: " + e.Status.String() }

// identityCaps are the installation's caps, as the actors on the leader apply
// them to what they propose. Zero: none.
type identityCaps struct {
	caps atomic.Pointer[identity.Caps]
}

func (c *identityCaps) guard(s *State) *identity.Guard {
	caps := c.caps.Load()
	if caps == nil || !s.Born() || *caps == (identity.Caps{}) {
		return nil
	}
	return identity.NewGuard(s.identities, *caps)
}

// SetCaps sets the caps that identity operations of transactions must keep.
func (w *Writer) SetCaps(c identity.Caps) { w.caps.caps.Store(&c) }

// SetCaps sets the caps that batches must keep; f holds what there is.
func (b *IdentityBatcher) SetCaps(f *FSM, c identity.Caps) {
	b.fsm.Store(f)
	b.caps.caps.Store(&c)
}

// guard judges one proposal; nil: everything may be proposed.
func (b *IdentityBatcher) guard() *identity.Guard {
	if f := b.fsm.Load(); f != nil {
		return b.caps.guard(f.State())
	}
	return nil
}

// refused is why a transaction's identity operations may not be proposed, or nil.
func refused(g *identity.Guard, tx *Tx) error {
	if g == nil {
		return nil
	}
	for i := range tx.identities {
		if status := g.Admit(&tx.identities[i]); status != identity.StatusOK {
			return &IdentityRefused{status}
		}
	}
	return nil
}

// judge leaves out of the request's batch what passes a cap, and remembers why.
func (r *batchRequest) judge(g *identity.Guard) {
	if g == nil {
		return
	}
	var sub identity.SubBatch
	var op identity.Op
	var kept []byte
	var verdicts []identity.Status
	left := 0
	read := identity.ReadBatch(append(identity.AppendBatch(nil), r.batch...))
	if !read.NextSub(&sub) {
		return
	}
	for read.NextOp(&op) {
		status := g.Admit(&op)
		verdicts = append(verdicts, status)
		if status == identity.StatusOK {
			kept = identity.AppendOp(kept, &op)
			left++
		}
	}
	if left == len(verdicts) || read.Err() != nil {
		return
	}
	sub.Ops = left
	r.batch, r.verdicts = identity.AppendSubBatch(nil, sub, kept), verdicts
}

// complete puts the verdicts between the results of what was proposed.
func (r *batchRequest) complete(results []identity.Result) []identity.Result {
	if r.verdicts == nil {
		return results // nothing was left out
	}
	if len(results) == 0 { // of a batch that was applied before nobody knows more than that it was
		results = make([]identity.Result, len(r.verdicts))
	}
	all := make([]identity.Result, 0, len(r.verdicts))
	for _, status := range r.verdicts {
		if status != identity.StatusOK {
			all = append(all, identity.Result{Status: status})
			continue
		}
		all = append(all, results[0])
		results = results[1:]
	}
	return all
}
