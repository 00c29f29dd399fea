package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// maxConnections bounds the accepted connections of the cluster port; more are closed at once.
const maxConnections = 1024

// mux owns the cluster port: it accepts, authenticates and sorts connections
// by purpose, and dials peers the same way.
type mux struct {
	listener net.Listener
	key      []byte
	tls      *wireTLS // nil: plain
	nodeID   string
	timeout  time.Duration // of dialing and of the handshake
	log      *slog.Logger
	refusals *refusals
	serve    func(ctx context.Context, c net.Conn, from string) // calls; returns when c is done
	hears    func(from string) bool                             // tells whether Raft of another node may speak here; nil: it may

	raft   *raftLayer
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	// conns is under a mutex: it is a set that connections leave from their own
	// goroutines and that close has to walk at once.
	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

func newMux(l net.Listener, advertise string, key []byte, secure *wireTLS, nodeID string, timeout, stall time.Duration, log *slog.Logger) *mux {
	m := &mux{listener: l, key: key, tls: secure, nodeID: nodeID, timeout: timeout, log: log, refusals: newRefusals(), conns: map[net.Conn]struct{}{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.raft = &raftLayer{mux: m, addr: advertisedAddr(advertise), stall: stall, accepted: make(chan net.Conn), closed: make(chan struct{})}
	return m
}

// run accepts connections until close; serve handles those for calls.
func (m *mux) run(serve func(context.Context, net.Conn, string)) {
	m.serve = serve
	m.work.Go(func() {
		for failed := false; ; {
			c, err := m.listener.Accept()
			if err != nil {
				if m.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
					return
				}
				if !failed {
					m.log.Warn("connections of other nodes wait: none can be accepted", "error", err)
				}
				failed = true
				pause(m.ctx, 50*time.Millisecond) // out of descriptors, most likely
				continue
			}
			failed = false
			if !m.track(c) {
				_ = c.Close() // nobody knows it
				continue
			}
			m.work.Go(func() { m.handle(c) })
		}
	})
}

func (m *mux) handle(c net.Conn) {
	keep := false
	defer func() {
		if !keep {
			_ = m.drop(c) // calls answered all they could
		}
	}()
	_ = c.SetDeadline(time.Now().Add(m.timeout)) // fails on a closed connection: so does the handshake
	secured, p, err := m.admit(c)
	if err != nil {
		if m.refusals.first("in:" + hostOf(c.RemoteAddr())) {
			m.log.Warn("connection refused", "peer", c.RemoteAddr().String(), "error", err)
		}
		linger(c)
		return
	}
	_ = c.SetDeadline(time.Time{}) // as above
	switch p.purpose {
	case purposeRaft:
		keep = (m.hears == nil || m.hears(p.nodeID)) && m.raft.deliver(trackedConn{secured, c, m})
	case purposeCall:
		m.serve(m.ctx, secured, p.nodeID)
	}
}

// admit lets a connection in: TLS first, if this node has it, then the secret.
func (m *mux) admit(c net.Conn) (net.Conn, preface, error) {
	ctx, cancel := context.WithTimeout(m.ctx, m.timeout)
	defer cancel()
	secured, err := m.tls.accept(ctx, c)
	if err != nil {
		return nil, preface{}, err
	}
	p, err := admit(secured, m.key, m.nodeID)
	return secured, p, err
}

// dial connects to addr for a purpose and authenticates both sides. target is
// the id of the node that has to answer; "" = any.
func (m *mux) dial(ctx context.Context, addr string, purpose byte, target string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline) // fails on a closed connection: so does the handshake
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	secured, err := m.tls.connect(ctx, c)
	if err == nil {
		err = introduce(secured, m.key, purpose, m.nodeID, target)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		_ = c.Close() // err says why
		if errors.Is(err, errHandshake) && !errors.Is(err, errOtherNode) && m.refusals.first("out:"+addr) {
			m.log.Warn("no connection to a peer", "addr", addr, "error", err)
		}
		return nil, err
	}
	return secured, nil
}

func (m *mux) track(c net.Conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || len(m.conns) >= maxConnections {
		return false
	}
	m.conns[c] = struct{}{}
	return true
}

func (m *mux) drop(c net.Conn) error {
	m.mu.Lock()
	delete(m.conns, c)
	m.mu.Unlock()
	return c.Close()
}

// close ends the listener and every accepted connection and waits for their goroutines.
func (m *mux) close() {
	_ = m.raft.Close() // never fails
	m.hangUp()
	m.work.Wait()
}

// hangUp ends all connections and waits for nothing.
func (m *mux) hangUp() {
	m.cancel()
	_ = m.listener.Close() // nothing is left to do about it
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for c := range m.conns {
		_ = c.Close() // its goroutine ends with it
	}
}

// trackedConn leaves the mux's set when Raft closes it.
type trackedConn struct {
	net.Conn
	raw net.Conn // what the mux knows it by
	mux *mux
}

// Close ends the connection.
func (c trackedConn) Close() error { return c.mux.drop(c.raw) }

// raftLayer is the part of the cluster port that Raft sees (raft.StreamLayer).
type raftLayer struct {
	mux      *mux
	addr     advertisedAddr
	stall    time.Duration // after which a message that stands still is cut
	accepted chan net.Conn
	once     sync.Once
	closed   chan struct{}
}

func (r *raftLayer) deliver(c net.Conn) bool {
	select {
	case r.accepted <- &receivingConn{Conn: c, stall: r.stall}:
		return true
	case <-r.closed:
		return false
	}
}

// Accept returns the next authenticated connection for Raft.
func (r *raftLayer) Accept() (net.Conn, error) {
	select {
	case c := <-r.accepted:
		return c, nil
	case <-r.closed:
		return nil, net.ErrClosed
	}
}

// Dial connects to a peer's Raft. The address is one of namedAddresses.
func (r *raftLayer) Dial(addr raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(r.mux.ctx, timeout)
	defer cancel()
	id, host, ok := strings.Cut(string(addr), "@")
	if !ok {
		return nil, fmt.Errorf("%w: %s names no node", errHandshake, addr)
	}
	c, err := r.mux.dial(ctx, host, purposeRaft, id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotReached, err)
	}
	return &sendingConn{Conn: c, stall: r.stall, timeout: wireTimeout}, nil
}

// Close makes Accept fail; the port itself is the mux's.
func (r *raftLayer) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}

// Addr is the advertised address: Raft tells it to peers.
func (r *raftLayer) Addr() net.Addr { return r.addr }

// namedAddresses turns a server id into "id@host:port", so that Dial, which
// Raft tells an address only, knows whom it is for (raft.ServerAddressProvider).
type namedAddresses struct {
	started <-chan struct{} // closed once servers may be called
	servers func() []raft.Server
}

// ServerAddr looks the id up in the Raft configuration.
func (a namedAddresses) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	<-a.started
	for _, s := range a.servers() {
		if s.ID == id {
			return raft.ServerAddress(id) + "@" + s.Address, nil
		}
	}
	return "", fmt.Errorf("%w: node %s is not in the configuration", ErrUnavailable, id)
}

type advertisedAddr string

func (a advertisedAddr) Network() string { return "tcp" }
func (a advertisedAddr) String() string  { return string(a) }

// pause waits for d or for ctx; it tells whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
