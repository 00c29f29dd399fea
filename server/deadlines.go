package server

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// The HTTP server moves three deadlines for each request, which took 0.4 µs of the 6 that
// a GET /flags/ takes. Hardly any of them is ever waited for: a request is there as a whole, and a socket takes its answer at once.
// So a deadline is noted, and set only for a read or a write, and only
// if the one that is set is not as good.

// lateness is how much later than asked for a deadline may come.
const lateness = time.Second

// lateListener gives its connections deadlines that cost little.
type lateListener struct{ net.Listener }

// Accept waits for a connection.
func (l lateListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lateConn{Conn: c, read: deadline{move: c.SetReadDeadline}, write: deadline{move: c.SetWriteDeadline}}, nil
}

// lateConn is a connection whose deadlines come up to [lateness] late, never early.
type lateConn struct {
	net.Conn
	read, write deadline
}

// Read is that of the connection.
func (c *lateConn) Read(b []byte) (int, error) {
	defer c.read.left()
	if err := c.read.enter(); err != nil {
		return 0, err
	}
	return c.Conn.Read(b)
}

// Write is that of the connection.
func (c *lateConn) Write(b []byte) (int, error) {
	defer c.write.left()
	if err := c.write.enter(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// SetReadDeadline holds for a read that waits already, too.
func (c *lateConn) SetReadDeadline(t time.Time) error { return c.read.want(t) }

// SetWriteDeadline holds for a write that waits already, too.
func (c *lateConn) SetWriteDeadline(t time.Time) error { return c.write.want(t) }

// SetDeadline sets both.
func (c *lateConn) SetDeadline(t time.Time) error {
	if err := c.read.want(t); err != nil {
		return err
	}
	return c.write.want(t)
}

// Unwrap is for who takes the connection over, after SetDeadline: the connection as the system gave it.
func (c *lateConn) Unwrap() net.Conn { return c.Conn }

// deadline is one direction's. One goroutine waits at a time, any may move it.
type deadline struct {
	move    func(time.Time) error
	wanted  atomic.Int64 // since processStart; 0: none
	set     atomic.Int64 // as above
	waiting atomic.Bool
	moving  sync.Mutex // whoever moves last has seen what was wanted last
}

// processStart gives deadlines a clock that nobody turns back.
var processStart = time.Now()

func (d *deadline) want(t time.Time) error {
	if t.IsZero() {
		d.moving.Lock()
		defer d.moving.Unlock()
		d.wanted.Store(0)
		d.set.Store(0)
		return d.move(t)
	}
	d.wanted.Store(int64(t.Sub(processStart)))
	if d.waiting.Load() { // it has looked at wanted, perhaps before
		return d.apply()
	}
	return nil
}

func (d *deadline) enter() error {
	d.waiting.Store(true)
	return d.apply()
}

func (d *deadline) left() { d.waiting.Store(false) }

// apply sets what is wanted, unless what is set does as well.
func (d *deadline) apply() error {
	if d.holds(d.wanted.Load()) {
		return nil
	}
	d.moving.Lock()
	defer d.moving.Unlock()
	at := d.wanted.Load()
	if d.holds(at) {
		return nil
	}
	if remains := at - int64(time.Since(processStart)); remains > 0 {
		at += min(int64(lateness), remains/8) // a short one is kept to more closely
	}
	d.set.Store(at)
	return d.move(processStart.Add(time.Duration(at)))
}

// holds reports whether what is set is as good as what is wanted.
func (d *deadline) holds(wanted int64) bool {
	set := d.set.Load()
	return wanted == 0 || set >= wanted && set <= wanted+int64(lateness)
}
