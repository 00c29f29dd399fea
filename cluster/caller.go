package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/cluster/actor"
)

const (
	// callIdle is the age after which an unused connection is not trusted any
	// more; the serving side keeps it three times as long.
	callIdle = 45 * time.Second
	// callSilence: a call that timed out on a connection that said nothing for
	// this long takes the connection with it.
	callSilence = 2 * time.Second
	// callQueue bounds the requests that wait to be written to one peer; Tell blocks.
	callQueue = 256
)

// caller keeps one multiplexed connection per peer and sends calls over it.
type caller struct {
	dial  func(ctx context.Context, addr string) (net.Conn, error)
	limit int

	// peers is under a mutex: each call looks its connection up and only one
	// may dial. The lock is not held while dialing.
	mu     sync.Mutex
	peers  map[string]*peer
	closed bool
}

// peer is a connection that is being made (until ready is closed) or made.
type peer struct {
	ready chan struct{}
	conn  *callConn
	err   error
}

func newCaller(dial func(context.Context, string) (net.Conn, error), limit int) *caller {
	return &caller{dial: dial, limit: limit, peers: map[string]*peer{}}
}

// call sends a request to addr and waits for the answer.
func (c *caller) call(ctx context.Context, addr string, kind, flags uint8, payload []byte) ([]byte, error) {
	if len(payload) > c.limit {
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, len(payload))
	}
	for attempt := 0; ; attempt++ {
		conn, err := c.connection(ctx, addr)
		if err != nil {
			return nil, err
		}
		answer, err := conn.roundTrip(ctx, kind, flags, payload)
		// A pooled connection may turn out dead before the request was written:
		// then nothing was sent, and a fresh one decides.
		if errors.Is(err, errNotWritten) && attempt == 0 && ctx.Err() == nil {
			continue
		}
		return answer, err
	}
}

func (c *caller) connection(ctx context.Context, addr string) (*callConn, error) {
	for {
		p, mine := c.slot(addr)
		if p == nil {
			return nil, ErrStopped
		}
		if mine {
			c.connect(ctx, addr, p)
		}
		select {
		case <-p.ready:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %v", ErrUnavailable, ctx.Err()) //nolint:errorlint // a context's error alone would leave the outcome open
		}
		// Another caller's short deadline must not fail this one.
		if p.err != nil && !mine && ctx.Err() == nil && errors.Is(p.err, context.Canceled) {
			continue
		}
		return p.conn, p.err
	}
}

// slot returns the peer's connection, or a new slot that the caller has to fill.
func (c *caller) slot(addr string) (p *peer, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false
	}
	p = c.peers[addr]
	if p != nil {
		select {
		case <-p.ready:
			if p.err == nil && p.conn.usable() {
				return p, false
			}
			if p.conn != nil {
				p.conn.close(errNotWritten)
			}
		default:
			return p, false
		}
	}
	p = &peer{ready: make(chan struct{})}
	c.peers[addr] = p
	return p, true
}

func (c *caller) connect(ctx context.Context, addr string, p *peer) {
	raw, err := c.dial(ctx, addr)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(p.ready)
	switch {
	case err != nil:
		p.err = fmt.Errorf("%w: %w", ErrUnavailable, err)
	case c.closed:
		_ = raw.Close() // nothing was sent
		p.err = ErrStopped
	default:
		p.conn = newCallConn(raw, c.limit)
	}
}

// close ends every connection; calls in flight fail with an unknown outcome.
func (c *caller) close() {
	c.mu.Lock()
	c.closed = true
	var open []*callConn
	for _, p := range c.peers {
		select {
		case <-p.ready:
			if p.conn != nil {
				open = append(open, p.conn)
			}
		default: // being dialed: connect sees closed
		}
	}
	c.mu.Unlock()
	for _, conn := range open {
		conn.close(ErrStopped)
		<-conn.readerDone
		conn.writer.Stop()
	}
}

// errNotWritten: the connection failed before the request was put on it.
var errNotWritten = fmt.Errorf("%w: connection closed", ErrUnavailable)

// callConn is one connection: a writer actor that flushes once per batch, a
// reader goroutine, and the calls in between.
type callConn struct {
	raw        net.Conn
	writer     *actor.Actor[*pendingCall]
	readerDone chan struct{}
	nextID     atomic.Uint64

	// pending is under a mutex: callers add, the reader removes, and a failure
	// takes all at once; none of them may wait for another's turn.
	mu      sync.Mutex
	pending map[uint64]*pendingCall
	failed  error
	// Not as numbers: those of a wall clock that was set back would lie ahead for as long.
	read, used time.Time // last
}

const (
	callQueued int32 = iota
	callWritten
	callDropped
)

type pendingCall struct {
	frame  frame
	state  atomic.Int32
	answer chan callAnswer // room for one
}

type callAnswer struct {
	frame *frame
	err   error
}

func newCallConn(raw net.Conn, limit int) *callConn {
	now := time.Now()
	c := &callConn{raw: raw, readerDone: make(chan struct{}), pending: map[uint64]*pendingCall{}, read: now, used: now}
	w := bufio.NewWriterSize(raw, 64<<10)
	c.writer = actor.StartBatch(callQueue, func(calls []*pendingCall) { c.write(w, calls) })
	go c.receive(limit)
	return c
}

func (c *callConn) usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed == nil && (len(c.pending) > 0 || time.Since(c.used) < callIdle)
}

func (c *callConn) write(w *bufio.Writer, calls []*pendingCall) {
	for _, call := range calls {
		if !call.state.CompareAndSwap(callQueued, callWritten) {
			continue // its caller gave up, or the connection failed
		}
		if err := writeFrame(w, &call.frame); err != nil {
			c.close(err)
			return
		}
	}
	if err := w.Flush(); err != nil {
		c.close(err)
	}
}

func (c *callConn) receive(limit int) {
	defer close(c.readerDone)
	r := bufio.NewReaderSize(c.raw, 64<<10)
	for {
		f, err := readFrame(r, limit+4096, nil)
		if err != nil {
			c.close(err)
			return
		}
		now := time.Now()
		c.mu.Lock()
		c.read = now
		call := c.pending[f.id]
		delete(c.pending, f.id)
		c.mu.Unlock()
		if call != nil {
			call.answer <- callAnswer{frame: f}
		}
	}
}

// close fails the connection and every call on it.
func (c *callConn) close(err error) {
	c.mu.Lock()
	if c.failed != nil {
		c.mu.Unlock()
		return
	}
	c.failed = err
	calls := c.pending
	c.pending = nil
	c.mu.Unlock()
	_ = c.raw.Close() // it failed already
	for _, call := range calls {
		if call.state.CompareAndSwap(callQueued, callDropped) {
			call.answer <- callAnswer{err: errNotWritten}
		} else {
			call.answer <- callAnswer{err: fmt.Errorf("%w: connection lost: %v", ErrUnknownOutcome, err)} //nolint:errorlint // err may be of a class that promises more
		}
	}
	go c.writer.Stop() // the writer itself may be the one that closes
}

func (c *callConn) roundTrip(ctx context.Context, kind, flags uint8, payload []byte) ([]byte, error) {
	call := &pendingCall{answer: make(chan callAnswer, 1)}
	call.frame = frame{id: c.nextID.Add(1), kind: kind, flags: flags, timeout: remaining(ctx), payload: payload}
	began := time.Now()
	c.mu.Lock()
	if c.failed != nil {
		c.mu.Unlock()
		return nil, errNotWritten
	}
	c.used = began
	c.pending[call.frame.id] = call
	c.mu.Unlock()
	if err := c.writer.Tell(ctx, call); err != nil {
		c.forget(call)
		return nil, errNotWritten
	}
	select {
	case a := <-call.answer:
		if a.err != nil {
			return nil, a.err
		}
		return a.frame.answer()
	case <-ctx.Done():
		return nil, c.giveUp(ctx, call, began)
	}
}

func (c *callConn) giveUp(ctx context.Context, call *pendingCall, began time.Time) error {
	last := c.forget(call)
	if call.state.CompareAndSwap(callQueued, callDropped) {
		return fmt.Errorf("%w: %v", ErrUnavailable, ctx.Err()) //nolint:errorlint // as in connection: nothing was sent
	}
	if time.Since(began) > callSilence && time.Since(last) > callSilence {
		c.close(errors.New("the peer is silent"))
	}
	return fmt.Errorf("%w: %w", ErrUnknownOutcome, ctx.Err())
}

// forget lets go of a call and tells when the peer last said something.
func (c *callConn) forget(call *pendingCall) (read time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, call.frame.id)
	return c.read
}

// remaining is the time the context leaves, in ms for a frame; 0 = no limit.
func remaining(ctx context.Context) uint32 {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return uint32(min(max(time.Until(deadline).Milliseconds(), 1), 1<<31))
}
