package sdk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/flagraft/flagraft/fsm"
	"github.com/flagraft/flagraft/fsm/identity"
	"github.com/flagraft/flagraft/server/route"
)

// outcome is what became of a write.
type outcome struct {
	index   uint64
	results []identity.Result
	err     error
}

// write carries operations of a request to the leader and waits for them at most as
// long as budget. ops must own their memory: a write that is waited for no longer is
// still under way. Results may be nil although all was applied.
func (s *SDK) write(request *fasthttp.RequestCtx, ops []identity.Op, budget time.Duration) outcome {
	if s.Short != nil && s.Short() {
		return outcome{err: fsm.ErrOverloaded}
	}
	ctx, cancel := context.WithTimeout(s.Within(request), budget)
	defer cancel()
	index, results, err := s.Identities.Write(ctx, ops)
	return outcome{index, results, err}
}

// ownedUpsert makes the upsert of an identity request in memory of its own: one
// buffer for all texts. onlyFirst leaves out repetitions of a new key, of which
// the reference stores the first.
func ownedUpsert(environment uint64, in *identifyRequest, persist, onlyFirst bool) identity.Op {
	size, n := len(in.identifier), 0
	for i := range in.traits {
		size += len(in.traits[i].key) + len(in.traits[i].value)
		n++
	}
	buf := make([]byte, 0, size)
	own := func(b []byte) []byte {
		at := len(buf)
		buf = append(buf, b...)
		return buf[at:len(buf):len(buf)]
	}
	op := identity.Op{Kind: identity.KindUpsert, Environment: environment, Identifier: own(in.identifier)}
	if !persist || n == 0 {
		return op
	}
	op.Traits = make([]identity.TraitOp, 0, n)
	for i := range in.traits {
		t := &in.traits[i]
		if t.transient || onlyFirst && t.repeated {
			continue
		}
		op.Traits = append(op.Traits, identity.TraitOp{Key: own(t.key), Value: own(t.value)})
	}
	return op
}

// store writes operations that the answer depends on: when they are not known to
// be stored, the answer is 503.
func (s *SDK) store(ctx *fasthttp.RequestCtx, ops []identity.Op) (uint64, []identity.Result, error) {
	if len(ops) == 0 {
		return 0, nil, nil
	}
	o := s.write(ctx, ops, s.WriteBudget)
	if errors.Is(o.err, fsm.ErrReadOnly) {
		return 0, nil, route.ReadOnly()
	}
	if o.err != nil {
		if !errors.Is(o.err, context.DeadlineExceeded) && !errors.Is(o.err, fsm.ErrOverloaded) {
			s.Log.DebugContext(ctx, "identity write failed", "error", o.err)
		}
		if errors.Is(o.err, fsm.ErrNewcomers) {
			return 0, nil, route.Unavailable("The environment gets too many new identities in this second; try again.", 1)
		}
		return 0, nil, route.Unavailable("The write is not known to be stored; try again.", 1)
	}
	return o.index, o.results, nil
}

// refusal is the answer to an operation that the state did not take, or nil.
func (s *SDK) refusal(r identity.Result) error {
	switch r.Status {
	case identity.StatusOK, identity.StatusMissing, identity.StatusExists:
		return nil
	case identity.StatusOverTraits:
		return route.NonField(fmt.Sprintf("The traits of one identity may take at most %d bytes.", s.Caps.TraitBytes))
	case identity.StatusOverIdentities:
		return route.NonField("The environment holds as many identities as it may.")
	case identity.StatusOverKeys:
		return route.NonField("The environment has as many distinct trait keys as it may.")
	case identity.StatusNotInteger:
		return route.BareArray("Trait is not an integer.")
	case identity.StatusOverflow:
		return route.BareArray("The sum does not fit 64 bits.")
	default:
		return route.NonField("The request is not valid: " + r.Status.String() + ".")
	}
}
