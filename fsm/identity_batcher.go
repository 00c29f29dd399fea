package fsm

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
	"github.com/flagraft/flagraft/fsm/identity"
)

// IdentityBatcher is the actor on the leader that merges the batches of all
// nodes: a turn makes one log entry of everything that waits, and of what the nodes
// of the last two entries send within a moment of the last one's commit.
//
// Full-policy: callers block until there is room or their context ends.
type IdentityBatcher struct {
	propose Proposer
	clock   func() time.Time
	mailbox *actor.Actor[*batchRequest]
	rhythm  rhythm // of the actor

	fsm  atomic.Pointer[FSM] // what caps are judged by; nil: nothing is
	caps identityCaps
}

type batchRequest struct {
	node     string // that sends it
	batch    []byte
	told     *Written          // nil: nobody wants to know
	verdicts []identity.Status // per operation, when some were left out
	answer   chan batchAnswer
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

// Waiting returns how many batches wait for the next entry.
func (b *IdentityBatcher) Waiting() int { return b.mailbox.Len() }

// Stop proposes what waits and ends the actor.
func (b *IdentityBatcher) Stop() { b.mailbox.Stop() }

// Submit proposes a node's batch and returns the answer for it. batch is read
// until Submit returns. told, unless nil, gets the entry's index and the times of
// the steps. Errors are the [Proposer]'s, or the damage of the batch.
func (b *IdentityBatcher) Submit(ctx context.Context, batch []byte, told *Written) ([]byte, error) {
	node, err := checkSubBatch(batch)
	if err != nil {
		return nil, err
	}
	r := &batchRequest{node: node, batch: batch, told: told, answer: make(chan batchAnswer, 1)}
	if told != nil {
		told.Timing.Wait.Began = time.Now()
	}
	if err := b.mailbox.Tell(ctx, r); err != nil {
		return nil, err
	}
	a := <-r.answer
	return a.data, a.err
}

func (b *IdentityBatcher) turn(batch []*batchRequest) {
	for batch = b.gather(batch); len(batch) > 0; {
		guard := b.guard()
		body := identity.AppendBatch(binary.BigEndian.AppendUint64(nil, uint64(TimeOf(b.clock()))))
		n := 0
		for n < len(batch) && (n == 0 || len(body)+len(batch[n].batch) <= maxIdentityEntry) {
			batch[n].judge(guard)
			body = append(body, batch[n].batch...)
			n++
		}
		began := time.Now()
		index, answer, err := b.propose.Propose(context.Background(), newEntry(KindIdentityBatch, BaseLevel, body))
		proposed := Span{began, time.Now()}
		b.rhythm.note(batch[:n], proposed, err)
		for i, r := range batch[:n] {
			if t := r.told; t != nil {
				t.Index, t.Timing.Wait.Ended, t.Timing.Propose = index, began, proposed
			}
			if err != nil {
				r.answer <- batchAnswer{err: err}
				continue
			}
			var results []identity.Result
			if all := answer.(*IdentityBatchResult).Results; i < len(all) {
				results = all[i]
			}
			r.answer <- batchAnswer{data: encodeIdentityAnswer(index, r.complete(results))}
		}
		batch = batch[n:]
	}
}

// gather waits for batches that are as good as on their way.
func (b *IdentityBatcher) gather(batch []*batchRequest) []*batchRequest {
	patience := time.Until(b.rhythm.until)
	if patience <= 0 || !b.rhythm.misses(batch) {
		return batch
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for more := true; more && b.rhythm.misses(batch); {
		batch, more = b.mailbox.Await(timer.C)
	}
	return batch
}

// checkSubBatch reads a whole batch as applying will: what is proposed must be
// readable everywhere. It returns the name of the node that made it.
func checkSubBatch(batch []byte) (node string, err error) {
	var sub identity.SubBatch
	var op identity.Op
	r := identity.ReadBatch(append(identity.AppendBatch(nil), batch...))
	for n := 0; r.NextSub(&sub); n++ {
		if n > 0 {
			return "", fmt.Errorf("%w: more than one", identity.ErrBatch)
		}
		node = string(sub.Node)
		for r.NextOp(&op) { // reading is the check
		}
	}
	return node, r.Err()
}
