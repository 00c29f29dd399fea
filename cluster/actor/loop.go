package actor

import "context"

// Signal is a wake-up that coalesces: any number of Raise calls between two
// turns give one turn. What changed is read elsewhere (an atomic pointer), so
// the newest state wins. Make one with NewSignal.
type Signal struct{ c chan struct{} }

// NewSignal returns a signal that is not raised.
func NewSignal() Signal { return Signal{c: make(chan struct{}, 1)} }

// Raise wakes the receiver; it never blocks.
func (s Signal) Raise() {
	select {
	case s.c <- struct{}{}:
	default:
	}
}

// C receives once after one or more Raise calls.
func (s Signal) C() <-chan struct{} { return s.c }

// Wait blocks until the signal is raised (true) or ctx ends (false).
func (s Signal) Wait(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-s.c:
		return ctx.Err() == nil
	}
}

// Loop is a goroutine without a mailbox, for actors that select over signals,
// timers and channels of their own.
type Loop struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// Go runs the loop on its own goroutine until it returns; it must return soon after ctx ends.
func Go(run func(ctx context.Context)) *Loop {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Loop{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		defer cancel()
		run(ctx)
	}()
	return l
}

// Done is closed when the loop has ended.
func (l *Loop) Done() <-chan struct{} { return l.done }

// Stop ends the loop's context and waits for the loop. It may be called more than once.
func (l *Loop) Stop() {
	l.cancel()
	<-l.done
}
