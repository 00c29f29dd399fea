package fsm

import (
	"container/heap"
	"context"
	"sync"
	"sync/atomic"
)

// Watermark is a number that only grows and that callers can wait for: an
// applied index, a View's index.
type Watermark struct {
	current atomic.Uint64

	// waiting is a heap under a mutex: an actor would put a channel round trip
	// into every wait and every advance, and the lock is held for a few
	// instructions only.
	mu      sync.Mutex
	waiting waiters
}

type waiter struct {
	at    uint64
	ready chan struct{}
	index int // in the heap; -1 once it left
}

// Current returns the mark.
func (w *Watermark) Current() uint64 { return w.current.Load() }

// Advance moves the mark to at, if that is forward, and wakes who waited for it.
func (w *Watermark) Advance(at uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at <= w.current.Load() {
		return
	}
	w.current.Store(at)
	for len(w.waiting) > 0 && w.waiting[0].at <= at {
		close(heap.Pop(&w.waiting).(*waiter).ready)
	}
}

// Wait returns nil once the mark is at or past at, or the context's error.
func (w *Watermark) Wait(ctx context.Context, at uint64) error {
	if w.current.Load() >= at {
		return nil
	}
	w.mu.Lock()
	if w.current.Load() >= at {
		w.mu.Unlock()
		return nil
	}
	me := &waiter{at: at, ready: make(chan struct{})}
	heap.Push(&w.waiting, me)
	w.mu.Unlock()
	select {
	case <-me.ready:
		return nil
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		if me.index >= 0 {
			heap.Remove(&w.waiting, me.index)
			return ctx.Err()
		}
		return nil
	}
}

type waiters []*waiter

func (h waiters) Len() int           { return len(h) }
func (h waiters) Less(i, j int) bool { return h[i].at < h[j].at }
func (h waiters) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *waiters) Push(x any) {
	me := x.(*waiter)
	me.index = len(*h)
	*h = append(*h, me)
}
func (h *waiters) Pop() any {
	old := *h
	me := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	me.index = -1
	return me
}
