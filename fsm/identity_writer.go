package fsm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
	"github.com/flagraft/flagraft/fsm/identity"
)

// Bounds of the identity write path.
const (
	identityMailbox  = 50_000          // waiting requests of a node before it sheds
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
	mailbox *actor.Actor[*identityRequest]
	seq     uint64 // owned by the actor
}

// SendFunc carries a batch to the leader's [IdentityBatcher] and brings back its
// answer. retry tells whether an error allows sending the same batch again.
type SendFunc func(ctx context.Context, batch []byte) (answer []byte, retry bool, err error)

type identityRequest struct {
	ctx    context.Context
	ops    []identity.Op
	answer chan identityAnswer
}

type identityAnswer struct {
	index   uint64
	results []identity.Result
	err     error
}

// NewIdentityWriter starts the actor of one node.
func NewIdentityWriter(f *FSM, node string, send SendFunc, log *slog.Logger) *IdentityWriter {
	w := &IdentityWriter{fsm: f, node: node, send: send, log: log, seq: uint64(time.Now().UnixMicro())}
	w.mailbox = actor.StartBatch(identityMailbox, w.turn)
	return w
}

// Stop sends what waits and ends the actor.
func (w *IdentityWriter) Stop() { w.mailbox.Stop() }

// Waiting returns how many requests wait for the next batch.
func (w *IdentityWriter) Waiting() int { return w.mailbox.Len() }

// Write carries out operations and returns once they are committed and applied
// on this node. The slices inside ops are read until it returns, also when ctx
// ends first: then it waits for the batch to be built, not for its outcome.
// Results are nil when the batch had been applied by an earlier attempt whose
// answer was lost; the store has the truth.
func (w *IdentityWriter) Write(ctx context.Context, ops []identity.Op) (index uint64, results []identity.Result, err error) {
	r := &identityRequest{ctx: ctx, ops: ops, answer: make(chan identityAnswer, 1)}
	if err := w.mailbox.TryTell(r); err != nil {
		if errors.Is(err, actor.ErrFull) {
			err = ErrOverloaded
		}
		return 0, nil, err
	}
	a := <-r.answer
	if a.err != nil {
		return 0, nil, a.err
	}
	return a.index, a.results, w.fsm.applied.Wait(ctx, a.index)
}

func (w *IdentityWriter) turn(batch []*identityRequest) {
	for len(batch) > 0 {
		n, ops := 0, []identity.Op{}
		for size := 0; n < len(batch) && size < maxIdentityEntry; n++ {
			r := batch[n]
			if r.ctx.Err() != nil {
				continue
			}
			for i := range r.ops {
				size += r.ops[i].Size()
			}
			ops = append(ops, r.ops...)
		}
		w.deliver(batch[:n], ops)
		batch = batch[n:]
	}
}

// deliver sends one batch and answers its requests.
func (w *IdentityWriter) deliver(batch []*identityRequest, ops []identity.Op) {
	index, results, err := w.exchange(ops)
	for _, r := range batch {
		switch {
		case r.ctx.Err() != nil:
			r.answer <- identityAnswer{err: r.ctx.Err()}
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

func (w *IdentityWriter) exchange(ops []identity.Op) (uint64, []identity.Result, error) {
	if len(ops) == 0 {
		return 0, nil, nil
	}
	if s, ok := nodeSequencesByNode.First(w.fsm.State(), w.node); ok {
		w.seq = max(w.seq, s.Identity) // a clock that was set back must not make us repeat numbers
	}
	w.seq++
	batch := identity.AppendBatch(nil, w.node, w.seq, ops)
	ctx, cancel := context.WithTimeout(context.Background(), identityRetry)
	defer cancel()
	for {
		answer, retry, err := w.send(ctx, batch)
		if err == nil {
			return decodeIdentityAnswer(answer, len(ops))
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

// IdentityBatcher is the actor on the leader that merges the batches of all
// nodes: a turn makes one log entry of everything that waits.
//
// Full-policy: callers block until there is room or their context ends.
type IdentityBatcher struct {
	propose Proposer
	clock   func() time.Time
	mailbox *actor.Actor[*batchRequest]
}

type batchRequest struct {
	batch  []byte
	answer chan batchAnswer
}

type batchAnswer struct {
	data []byte
	err  error
}

// NewIdentityBatcher starts the actor.
func NewIdentityBatcher(p Proposer, clock func() time.Time) *IdentityBatcher {
	b := &IdentityBatcher{propose: p, clock: clock}
	b.mailbox = actor.StartBatch(1024, b.turn)
	return b
}

// Stop proposes what waits and ends the actor.
func (b *IdentityBatcher) Stop() { b.mailbox.Stop() }

// Submit proposes a node's batch and returns the answer for it. batch is read
// until Submit returns. Errors are the [Proposer]'s, or the damage of the batch.
func (b *IdentityBatcher) Submit(ctx context.Context, batch []byte) ([]byte, error) {
	if err := identity.EachBatch(batch, func(x *identity.Batch) error {
		return x.Each(func(*identity.Op) error { return nil })
	}); err != nil {
		return nil, fmt.Errorf("identity batch: %w", err)
	}
	r := &batchRequest{batch: batch, answer: make(chan batchAnswer, 1)}
	if err := b.mailbox.Tell(ctx, r); err != nil {
		return nil, err
	}
	a := <-r.answer
	return a.data, a.err
}

func (b *IdentityBatcher) turn(batch []*batchRequest) {
	for len(batch) > 0 {
		body := binary.BigEndian.AppendUint64(nil, uint64(TimeOf(b.clock())))
		n := 0
		for n < len(batch) && (n == 0 || len(body)+len(batch[n].batch) <= maxIdentityEntry) {
			body = append(body, batch[n].batch...)
			n++
		}
		index, answer, err := b.propose.Propose(context.Background(), newEntry(KindIdentityBatch, body))
		for i, r := range batch[:n] {
			if err != nil {
				r.answer <- batchAnswer{err: err}
				continue
			}
			var results []identity.Result
			if all := answer.(*IdentityBatchResult).Results; i < len(all) {
				results = all[i]
			}
			r.answer <- batchAnswer{data: encodeIdentityAnswer(index, results)}
		}
		batch = batch[n:]
	}
}

// An answer is the entry's index and the results of one batch; none when the
// batch had been applied before.
func encodeIdentityAnswer(index uint64, results []identity.Result) []byte {
	return identity.AppendResults(binary.AppendUvarint(nil, index), results)
}

func decodeIdentityAnswer(data []byte, ops int) (uint64, []identity.Result, error) {
	index, n := binary.Uvarint(data)
	if n <= 0 {
		return 0, nil, errors.New("answer to an identity batch is damaged")
	}
	results, err := identity.DecodeResults(data[n:])
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
