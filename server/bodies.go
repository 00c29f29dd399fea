package server

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// smallBody is the size up to which bodies are not counted: the buffers of their connections pay for them.
const smallBody = 16 << 10

// bodies is the budget of the request bodies that are being read or worked on, over all connections. A body is admitted by its header, before
// any of it is read.
type bodies struct {
	limit int64
	stale time.Duration // a request does not take longer than this
	clock func() time.Time

	// A mutex and not an actor: only large bodies come here, and the answer is needed at once.
	mu   sync.Mutex
	used int64
	open atomic.Int64 // entries of held, for those who only want to know that there are none
	held map[*fasthttp.RequestHeader]hold
}

// hold is what the request at hand of one connection holds; a connection has one header for all its requests.
type hold struct {
	bytes int64
	since time.Time
}

func newBodies(limit int64, stale time.Duration) *bodies {
	return &bodies{limit: limit, stale: stale, clock: time.Now, held: map[*fasthttp.RequestHeader]hold{}}
}

// admit takes n bytes for the request of h, or says that there is no room. The first large body is always taken.
func (b *bodies) admit(h *fasthttp.RequestHeader, n int) bool {
	if n <= smallBody {
		return true
	}
	cost := int64(n) * bodyFactor
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(h) // of a request whose client went away while it was read
	if b.used > 0 && b.used+cost > b.limit {
		b.forget()
	}
	if b.used > 0 && b.used+cost > b.limit {
		b.keep(h, hold{since: b.clock()}) // refused
		return false
	}
	b.used += cost
	b.keep(h, hold{cost, b.clock()})
	return true
}

// done gives back what the request of h holds; refused reports that it had been turned away.
func (b *bodies) done(h *fasthttp.RequestHeader) (refused bool) {
	if b.open.Load() == 0 {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	was, ok := b.held[h]
	b.drop(h)
	return ok && was.bytes == 0
}

func (b *bodies) keep(h *fasthttp.RequestHeader, v hold) {
	b.held[h] = v
	b.open.Store(int64(len(b.held)))
}

func (b *bodies) drop(h *fasthttp.RequestHeader) {
	b.used -= b.held[h].bytes
	delete(b.held, h)
	b.open.Store(int64(len(b.held)))
}

// forget drops what belongs to connections that ended while a body was read.
func (b *bodies) forget() {
	now := b.clock()
	for h, held := range b.held {
		if now.Sub(held.since) > b.stale {
			b.drop(h)
		}
	}
}

// bytes is what is held.
func (b *bodies) bytes() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
