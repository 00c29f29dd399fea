// Package actor gives a struct its own goroutine and a bounded, typed mailbox.
//
// Three shapes cover everything in this module:
//
//   - Start: one message a turn (rules, registries, caches);
//   - StartBatch: a turn takes everything that waits (the Writer, identity and
//     usage batchers). While a turn runs, the next batch gathers, so "send at
//     once when idle, gather while one is in flight" needs no timer, and a turn
//     that knows of more to come may Await it;
//   - Go with a Signal: a loop that only needs "something changed" or a timer
//     (environment actors, schedulers).
//
// The full-policy is chosen per call: Tell blocks, TryTell refuses, Signal
// coalesces. A message that Tell or TryTell accepted is always handled, also
// when Stop is called at the same moment. An actor must not Stop or Ask itself.
package actor

import (
	"context"
	"errors"
	"sync"
	"time"
)

var (
	// ErrStopped says that the actor takes no more messages; the message was not taken.
	ErrStopped = errors.New("actor: stopped")
	// ErrFull says that the mailbox is full; the message was not taken.
	ErrFull = errors.New("actor: mailbox full")
)

// Actor is a goroutine with a mailbox of M. Make one with Start or StartBatch.
type Actor[M any] struct {
	mailbox chan M
	stop    chan struct{} // closed by Stop: blocked tellers give up
	done    chan struct{} // closed when the goroutine has ended
	once    sync.Once

	// sending orders tellers (read side) against Stop (write side), so that no
	// message is accepted after the last turn. It is what makes closing the
	// mailbox safe; another actor could not do that without the same problem.
	sending sync.RWMutex
	stopped bool

	batch []M // of StartBatch's goroutine: the turn at hand
}

// Start runs handle for each message, in order, on one goroutine. size bounds the mailbox.
func Start[M any](size int, handle func(M)) *Actor[M] {
	a := newActor[M](size)
	go func() {
		defer close(a.done)
		for m := range a.mailbox {
			handle(m)
		}
	}()
	return a
}

// StartBatch runs handle with everything that waits (1 to size messages, in
// order) in one turn. The slice is reused: handle must not keep it.
func StartBatch[M any](size int, handle func([]M)) *Actor[M] {
	a := newActor[M](size)
	go func() {
		defer close(a.done)
		a.batch = make([]M, 0, cap(a.mailbox))
		for m := range a.mailbox {
			a.batch = a.fill(append(a.batch, m))
			handle(a.batch)
			clear(a.batch) // keep nothing alive for the collector
			a.batch = a.batch[:0]
		}
	}()
	return a
}

func newActor[M any](size int) *Actor[M] {
	return &Actor[M]{
		mailbox: make(chan M, max(size, 1)),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
}

// fill appends what waits without blocking, up to the capacity of batch.
func (a *Actor[M]) fill(batch []M) []M {
	for len(batch) < cap(batch) {
		select {
		case m, ok := <-a.mailbox:
			if !ok {
				return batch
			}
			batch = append(batch, m)
		default:
			return batch
		}
	}
	return batch
}

// Await is for handle of StartBatch: it adds one more message to the batch of the turn
// and returns that, or false when until fires first, there is no room, or the actor is
// told to stop and nothing waits.
func (a *Actor[M]) Await(until <-chan time.Time) ([]M, bool) {
	if len(a.batch) == cap(a.batch) {
		return a.batch, false
	}
	select {
	case m, ok := <-a.mailbox:
		if !ok {
			return a.batch, false
		}
		a.batch = append(a.batch, m)
		return a.batch, true
	case <-until:
		return a.batch, false
	}
}

// Tell puts m into the mailbox and waits while it is full. It returns
// ErrStopped or the context's error when m was not taken.
func (a *Actor[M]) Tell(ctx context.Context, m M) error {
	a.sending.RLock()
	defer a.sending.RUnlock()
	if a.stopped {
		return ErrStopped
	}
	select {
	case a.mailbox <- m:
		return nil
	default:
	}
	select {
	case a.mailbox <- m:
		return nil
	case <-a.stop:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TryTell puts m into the mailbox or returns ErrFull or ErrStopped at once.
func (a *Actor[M]) TryTell(m M) error {
	a.sending.RLock()
	defer a.sending.RUnlock()
	if a.stopped {
		return ErrStopped
	}
	select {
	case a.mailbox <- m:
		return nil
	default:
		return ErrFull
	}
}

// Len is the number of messages that wait.
func (a *Actor[M]) Len() int { return len(a.mailbox) }

// Done is closed when the goroutine has ended.
func (a *Actor[M]) Done() <-chan struct{} { return a.done }

// Stop refuses new messages, lets the actor handle those that wait, and
// returns when its goroutine has ended. It may be called more than once.
// An actor that shall drop what waits looks at a flag of its own in handle.
func (a *Actor[M]) Stop() {
	a.once.Do(func() {
		close(a.stop)
		a.sending.Lock()
		a.stopped = true
		a.sending.Unlock()
		close(a.mailbox)
	})
	<-a.done
}

// Ask tells a the message that build makes around a reply function and waits
// for the reply. The actor calls reply exactly once; reply never blocks.
// A context that ends first means that the message may still be handled.
func Ask[M, R any](ctx context.Context, a *Actor[M], build func(reply func(R)) M) (R, error) {
	var zero R
	answer := make(chan R, 1)
	if err := a.Tell(ctx, build(func(r R) { answer <- r })); err != nil {
		return zero, err
	}
	select {
	case r := <-answer:
		return r, nil
	case <-ctx.Done():
		return zero, ctx.Err()
	}
}
