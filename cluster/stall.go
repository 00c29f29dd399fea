package cluster

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// Raft gives the transfer of a snapshot one time limit for all of it, more than an
// hour for 100 MB, and the receiver none at all, whose Raft does nothing else
// meanwhile: it votes for nobody. A transfer that stands still for a while is cut
// here, on both sides; one that moves goes on.

// restoreRate is how many bytes of a snapshot, or of entries, a peer has to receive and store in a second at least.
const restoreRate = 256 << 10

// progressStep is what has to be written within stall: one write may be of any size.
const progressStep = 64 << 10

// sendingConn is the side that asks. Raft gives a message as much time as its transport has, however large it is: a few megabytes
// would never pass a slow link, and be sent again for ever. Here each step of a message has that time, and the answer a time by the size besides.
// A message with a limit beyond stall, which only snapshots have, is cut when nothing can be written for stall, or when the
// answer takes longer than stall and a time by the size.
type sendingConn struct {
	net.Conn
	stall   time.Duration
	timeout time.Duration // of messages without a limit
	limit   time.Time     // of the message; zero: it has none beyond stall

	// Bytes of the message, and of the one before, whose answer may not have come yet: a pipeline writes and reads at once.
	sent, before atomic.Int64
}

// SetDeadline begins a message: Raft sets a deadline before each.
func (c *sendingConn) SetDeadline(t time.Time) error {
	c.limit = time.Time{}
	c.before.Store(0)
	c.sent.Store(0)
	if time.Until(t) > c.stall {
		c.limit = t
	}
	return c.Conn.SetDeadline(t)
}

// SetWriteDeadline begins a message in a pipeline.
func (c *sendingConn) SetWriteDeadline(t time.Time) error {
	c.before.Store(c.sent.Swap(0))
	return c.Conn.SetWriteDeadline(t)
}

func (c *sendingConn) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		if !c.limit.IsZero() || c.sent.Load() > 0 {
			if err := c.Conn.SetWriteDeadline(c.within(c.pause())); err != nil {
				return done, err
			}
		}
		n, err := c.Conn.Write(b[done:min(done+progressStep, len(b))])
		done += n
		c.sent.Add(int64(n))
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

func (c *sendingConn) Read(b []byte) (int, error) {
	storing := storingTime(c.sent.Load() + c.before.Load())
	if !c.limit.IsZero() || storing > 0 {
		if err := c.SetReadDeadline(c.within(c.pause() + storing)); err != nil {
			return 0, err
		}
	}
	return c.Conn.Read(b)
}

// pause is how long the message may stand still.
func (c *sendingConn) pause() time.Duration {
	if c.limit.IsZero() {
		return c.timeout
	}
	return c.stall
}

// storingTime is how long a peer may take for so many bytes.
func storingTime(bytes int64) time.Duration {
	return time.Duration(bytes/restoreRate) * time.Second
}

// within is d from now, or the limit if that is earlier.
func (c *sendingConn) within(d time.Duration) time.Time {
	t := time.Now().Add(d)
	if !c.limit.IsZero() && c.limit.Before(t) {
		return c.limit
	}
	return t
}

// receivingConn is the side that answers. Between messages it waits as long as it
// likes; the rest of a message that has begun has to come with pauses below stall.
// What was read since the last answer belongs to one message: Raft reads the next
// only when it has answered. A first part that came together with the message
// before is the exception, and counts from the second part on.
type receivingConn struct {
	net.Conn
	stall time.Duration
	begun bool // something was read since the last answer
	armed bool // the connection has a deadline
}

func (c *receivingConn) Read(b []byte) (int, error) {
	if c.begun {
		if err := c.SetReadDeadline(time.Now().Add(c.stall)); err != nil {
			return 0, err
		}
		c.armed = true
	}
	n, err := c.Conn.Read(b)
	c.begun = c.begun || n > 0
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = c.Close() // what comes later is in the middle of something; err says why
	}
	return n, err
}

func (c *receivingConn) Write(b []byte) (int, error) {
	c.begun = false
	if c.armed {
		c.armed = false
		if err := c.SetReadDeadline(time.Time{}); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(b)
}
