package fsm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
	"github.com/flagraft/flagraft/fsm/identity"
)

// Bounds of the identity write path.
const (
	identityMailbox  = 50_000          // waiting requests of a node before it sheds
	maxIdentityQueue = 64 << 20        // bytes of unanswered operations of a node before it sheds
	maxIdentityEntry = 1 << 20         // bytes of one entry
	identityRetry    = 5 * time.Second // how long a node asks again about one batch
	identityPause    = 50 * time.Millisecond
)

// ErrOverloaded says that the identity queue is full: the write was not taken.
var ErrOverloaded = errors.New("too many identity writes are waiting")

// IdentityWriter is the actor that carries a node's identity operations to the
// leader. A turn takes everything that waits and sends it as one batch; what
// arrives meanwhile is the next batch. So an idle node adds no delay and a busy
// one batches by itself.
//
// Full-policy: refuse, with [ErrOverloaded].
type IdentityWriter struct {
	fsm     *FSM
	node    string
	log     *slog.Logger
	send    SendFunc
	follow  FollowFunc
	mailbox *actor.Actor[*identityRequest]

	// Batches that are committed but not yet applied here are waited for beside
	// the actor, until it is stopped.
	settling sync.WaitGroup
	stopped  context.Context
	cancel   context.CancelFunc

	// Bytes of the operations that are not answered yet, and how many there may be.
	queued, bound atomic.Int64

	// Owned by the actor.
	seq       uint64
	buf       []byte // encoded operations of the turn
	newcomers newcomers
}

// SendFunc carries a batch to the leader's [IdentityBatcher] and brings back its
// answer. retry tells whether an error allows sending the same batch again.
type SendFunc func(ctx context.Context, batch []byte) (answer []byte, retry bool, err error)

// FollowFunc is told of a batch before it is sent, for tracing: of the contexts
// of its requests and when each was asked for, and of the number of operations. It
// returns the context to send the batch in, which nothing may cancel, and what to
// call once the batch is applied on this node, or failed; nil: nothing.
type FollowFunc func(requests iter.Seq2[context.Context, time.Time], ops int) (context.Context, func(index uint64, err error))

type identityRequest struct {
	ctx    context.Context
	ops    []identity.Op
	bytes  int64
	asked  time.Time
	answer chan identityAnswer

	skipped error // of the turn at hand: the context ended before, or it is refused
}

type identityAnswer struct {
	index   uint64
	results []identity.Result
	err     error
}

// NewIdentityWriter starts the actor of one node. share is how many
// identities this node may create in one environment within a second, asked
// once a second; nil or 0: as many as come.
func NewIdentityWriter(f *FSM, node string, send SendFunc, share func() int, log *slog.Logger) *IdentityWriter {
	w := &IdentityWriter{fsm: f, node: node, send: send, log: log, seq: uint64(time.Now().UnixMicro()), newcomers: newcomers{share: share}}
	w.stopped, w.cancel = context.WithCancel(context.Background())
	w.bound.Store(maxIdentityQueue)
	w.mailbox = actor.StartBatch(identityMailbox, w.turn)
	return w
}

// Follow sets who is told of batches. It is set before the first write.
func (w *IdentityWriter) Follow(f FollowFunc) { w.follow = f }

// Stop sends what waits and ends the actor. What is committed then but not yet
// applied on this node is answered with an error.
func (w *IdentityWriter) Stop() {
	w.mailbox.Stop()
	w.cancel()
	w.settling.Wait()
}

// Waiting returns how many requests wait for the next batch.
func (w *IdentityWriter) Waiting() int { return w.mailbox.Len() }

// Refused returns how many requests were refused with [ErrNewcomers].
func (w *IdentityWriter) Refused() uint64 { return w.newcomers.refused.Load() }

// QueuedBytes returns how much memory the unanswered operations take, roughly.
func (w *IdentityWriter) QueuedBytes() int64 { return w.queued.Load() }

// Bound sets how many bytes of operations may be unanswered; more are refused with [ErrOverloaded].
func (w *IdentityWriter) Bound(bytes int64) { w.bound.Store(bytes) }

// sizeOfOps is what operations take in memory, roughly: texts and structs.
func sizeOfOps(ops []identity.Op) (n int64) {
	const op, trait = 250, 50
	for i := range ops {
		o := &ops[i]
		n += int64(op + len(o.Identifier) + len(o.NewIdentifier) + len(o.Alias) + len(o.Key) + len(o.Value))
		for _, t := range o.Traits {
			n += int64(trait + len(t.Key) + len(t.Value))
		}
	}
	return n
}

// Write carries out operations of one environment and returns once they are committed and applied
// on this node, or ctx ends: then they may still be carried out. From the call on
// ops and the slices inside belong to the writer; nobody may change them again.
// Results are nil when the batch had been applied by an earlier attempt whose
// answer was lost; the store has the truth.
func (w *IdentityWriter) Write(ctx context.Context, ops []identity.Op) (index uint64, results []identity.Result, err error) {
	r := &identityRequest{ctx: ctx, ops: ops, bytes: sizeOfOps(ops), asked: time.Now(), answer: make(chan identityAnswer, 1)}
	if w.queued.Add(r.bytes) > w.bound.Load() {
		w.queued.Add(-r.bytes)
		return 0, nil, ErrOverloaded
	}
	if err := w.mailbox.TryTell(r); err != nil {
		w.queued.Add(-r.bytes)
		if errors.Is(err, actor.ErrFull) {
			err = ErrOverloaded
		}
		return 0, nil, err
	}
	select {
	case a := <-r.answer:
		return a.index, a.results, a.err
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
}

func (w *IdentityWriter) turn(batch []*identityRequest) {
	now := time.Now()
	for len(batch) > 0 {
		n, ops := 0, 0
		w.buf = w.buf[:0]
		for ; n < len(batch) && len(w.buf) < maxIdentityEntry; n++ {
			r := batch[n]
			if r.skipped = r.ctx.Err(); r.skipped == nil {
				r.skipped = w.newcomers.admit(w.fsm.State(), r.ops, now)
			}
			if r.skipped != nil {
				continue
			}
			for i := range r.ops {
				w.buf = identity.AppendOp(w.buf, &r.ops[i])
			}
			ops += len(r.ops)
		}
		w.deliver(batch[:n], ops)
		batch = batch[n:]
	}
}

// deliver sends one batch and has its requests answered. It does not wait until
// the batch is applied here: the next one is not held up by that.
func (w *IdentityWriter) deliver(batch []*identityRequest, ops int) {
	began := time.Now()
	ctx, done := context.Background(), func(uint64, error) {}
	if w.follow != nil && ops > 0 {
		if within, followed := w.follow(sent(batch), ops); followed != nil {
			ctx, done = within, followed
		}
	}
	index, results, err := w.exchange(ctx, ops)
	if ops > 0 {
		m := w.fsm.measures
		m.batchOps.Observe(float64(ops))
		m.batchWait.Observe(began.Sub(batch[0].asked).Seconds())
		m.batchSend.Observe(since(began))
	}
	if err != nil || w.fsm.applied.Current() >= index {
		done(index, err)
		w.settle(batch, index, results, err)
		return
	}
	batch = slices.Clone(batch) // the actor uses it again
	w.settling.Go(func() {
		err := w.fsm.applied.Wait(w.stopped, index)
		done(index, err)
		w.settle(batch, index, results, err)
	})
}

// sent are the contexts of the requests that a batch carries, and when they were asked for.
func sent(batch []*identityRequest) iter.Seq2[context.Context, time.Time] {
	return func(yield func(context.Context, time.Time) bool) {
		for _, r := range batch {
			if r.skipped == nil && !yield(r.ctx, r.asked) {
				return
			}
		}
	}
}

// settle answers the requests of a batch.
func (w *IdentityWriter) settle(batch []*identityRequest, index uint64, results []identity.Result, err error) {
	for _, r := range batch {
		w.queued.Add(-r.bytes)
		switch {
		case r.skipped != nil:
			r.answer <- identityAnswer{err: r.skipped}
		case err != nil:
			r.answer <- identityAnswer{err: err}
		case results == nil:
			r.answer <- identityAnswer{index: index}
		default:
			r.answer <- identityAnswer{index: index, results: results[:len(r.ops)]}
			results = results[len(r.ops):]
		}
	}
}

// exchange sends the operations in w.buf.
func (w *IdentityWriter) exchange(ctx context.Context, ops int) (uint64, []identity.Result, error) {
	if ops == 0 {
		return 0, nil, nil
	}
	if s, ok := nodeSequencesByNode.First(w.fsm.State(), w.node); ok {
		w.seq = max(w.seq, s.Identity) // a clock that was set back must not make us repeat numbers
	}
	w.seq++
	batch := identity.AppendSubBatch(nil, identity.SubBatch{Node: []byte(w.node), Sequence: w.seq, Ops: ops}, w.buf)
	ctx, cancel := context.WithTimeout(ctx, identityRetry)
	defer cancel()
	for {
		answer, retry, err := w.send(ctx, batch)
		if err == nil {
			return decodeIdentityAnswer(answer, ops)
		}
		if !retry {
			return 0, nil, err
		}
		select {
		case <-time.After(identityPause):
		case <-ctx.Done():
			return 0, nil, err
		}
	}
}

// An answer is the entry's index and the results of one batch; none when the
// batch had been applied before.
func encodeIdentityAnswer(index uint64, results []identity.Result) []byte {
	data := binary.AppendUvarint(make([]byte, 0, 16+8*len(results)), index)
	for i := range results {
		data = identity.AppendResult(data, &results[i])
	}
	return data
}

func decodeIdentityAnswer(data []byte, ops int) (uint64, []identity.Result, error) {
	index, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, nil, errors.New("answer to an identity batch is damaged")
	}
	results, err := identity.DecodeResults(make([]identity.Result, 0, ops), data[n:])
	if err != nil {
		return 0, nil, fmt.Errorf("answer to an identity batch: %w", err)
	}
	if len(results) == 0 {
		return index, nil, nil
	}
	if len(results) != ops {
		return 0, nil, fmt.Errorf("answer to an identity batch has %d results for %d operations", len(results), ops)
	}
	return index, results, nil
}
