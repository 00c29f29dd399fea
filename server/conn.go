package server

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// The HTTP server would move three deadlines for each request, which took 0.4 µs of the 6
// that a GET /flags/ takes. Hardly any of them is ever waited for: a request is there as a
// whole, and a socket takes its answer at once. So the HTTP server is given no time limits.
// A connection has them, and sets a deadline when it really waits, and only if the one that
// the socket has is not as good.

// limits is how long a connection may take.
type limits struct {
	head   time.Duration // to send a head, with a body that is not large
	idle   time.Duration // to begin the next request
	answer time.Duration // to take the answer
}

// connListener accepts connections that keep to limits.
type connListener struct {
	net.Listener
	limits  limits
	handler fasthttp.RequestHandler // of requests that connections answer themselves; nil: none
	longest int                     // of the bodies of these
}

// Accept waits for a connection.
func (l connListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	own := newConn(c, l.limits)
	own.lane.handler, own.lane.longest = l.handler, l.longest
	return own, nil
}

// conn is a connection of the HTTP server. One goroutine reads, and one at a time writes:
// under TLS, whoever closes it may write the last of it.
type conn struct {
	net.Conn
	limits  limits
	in, out deadline
	socket  socket
	lane    lane
}

func newConn(of net.Conn, l limits) *conn {
	c := &conn{Conn: of, limits: l, in: deadline{move: of.SetReadDeadline, limit: l.head}, out: deadline{move: of.SetWriteDeadline, limit: l.answer}}
	c.lane.patience = lanePatience
	c.socket.open(c)
	return c
}

// busy says that a request has begun.
func (c *conn) busy() {
	c.lane.between = false
	c.await(c.limits.head)
	c.out.renew()
}

// idle says that an answer was given.
func (c *conn) idle() {
	c.lane.between = true
	c.await(c.limits.idle)
}

// await begins a limit for what is read next.
func (c *conn) await(limit time.Duration) {
	c.in.limit = limit
	c.in.renew()
}

// SetReadDeadline holds for the request or the pause that is, and for a read that waits already.
func (c *conn) SetReadDeadline(t time.Time) error { return c.in.give(t) }

// SetWriteDeadline holds until the next request, and for a write that waits already.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.out.give(t) }

// SetDeadline sets both.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.in.give(t); err != nil {
		return err
	}
	return c.out.give(t)
}

// Unwrap is for who takes the connection over, after SetDeadline: the connection as the system gave it.
func (c *conn) Unwrap() net.Conn { return c.Conn }

// connChanged is told by the HTTP server what a connection does.
func (s *Server) connChanged(c net.Conn, state fasthttp.ConnState) {
	switch state {
	case fasthttp.StateActive:
		under(c).busy()
	case fasthttp.StateIdle:
		under(c).idle()
	default:
		s.connections.changed(c, state)
	}
}

// under is the connection below what is around it: TLS, and the tap of streams.
func under(c net.Conn) *conn {
	switch of := c.(type) {
	case *tls.Conn:
		return under(of.NetConn())
	case interface{ Below() net.Conn }:
		return under(of.Below())
	}
	return c.(*conn) // the listener makes no others
}
