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

// msgIncrement asks for no repetition, and goes without Retry-After, at which clients repeat by themselves.
const msgIncrement = "The increment may have been done, or be done yet. Look at the trait before you send it again."

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
		if ops[0].Kind == identity.KindIncrement && !errors.Is(o.err, fsm.ErrOverloaded) { // it may be under way, and would count twice
			return 0, nil, route.Detail(fasthttp.StatusServiceUnavailable, msgIncrement)
		}
		return 0, nil, route.Unavailable("The write is not known to be stored; try again.", 1)
	}
	return o.index, o.results, nil
}

// refusals is the answer to operations of which the state did not take some, or nil.
// Of several the others are stored all the same: the answer names those that are not.
func (s *SDK) refusals(ops []identity.Op, results []identity.Result) error {
	if len(results) == 1 {
		return s.refusal(results[0])
	}
	var messages []string
	refused := 0
	for i := range results {
		message := s.reason(results[i].Status)
		if message == "" {
			continue
		}
		if refused++; refused <= maxBulk {
			messages = append(messages, fmt.Sprintf("Identity '%s' is not stored: %s", ops[i].Identifier, message))
		}
	}
	switch {
	case refused == 0:
		return nil
	case refused > maxBulk:
		messages = append(messages, fmt.Sprintf("%d more are not stored.", refused-maxBulk))
	}
	if refused < len(results) {
		messages = append(messages, "All others are stored.")
	}
	return route.NonField(messages...)
}

// refusal is the answer to an operation that the state did not take, or nil.
func (s *SDK) refusal(r identity.Result) error {
	message := s.reason(r.Status)
	switch {
	case message == "":
		return nil
	case r.Status == identity.StatusNotInteger, r.Status == identity.StatusOverflow:
		return route.BareArray(message)
	}
	return route.NonField(message)
}

// reason tells why the state did not take an operation; "": it did.
func (s *SDK) reason(status identity.Status) string {
	switch status {
	case identity.StatusOK, identity.StatusMissing, identity.StatusExists:
		return ""
	case identity.StatusOverTraits:
		return fmt.Sprintf("The traits of one identity may take at most %d bytes.", s.Caps.TraitBytes)
	case identity.StatusOverIdentities:
		return "The environment holds as many identities as it may."
	case identity.StatusOverKeys:
		return "The environment has as many distinct trait keys as it may."
	case identity.StatusNotInteger:
		return "Trait is not an integer."
	case identity.StatusOverflow:
		return "The sum does not fit 64 bits."
	default:
		return "The request is not valid: " + status.String() + "."
	}
}
