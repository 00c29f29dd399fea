package server

import (
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/flagraft/flagraft/server/route"
)

// gate bounds what goes on at once by a count; a zero limit lets everything in.
type gate struct {
	limit int64
	used  atomic.Int64
}

// enter takes n, or says that there is no room.
func (g *gate) enter(n int64) bool {
	if g.used.Add(n) > g.limit && g.limit > 0 {
		g.used.Add(-n)
		return false
	}
	return true
}

func (g *gate) leave(n int64) { g.used.Add(-n) }

// boundedListener answers connections past a number with 503 and closes them: who waits for its turn in silence cannot know better.
type boundedListener struct {
	net.Listener
	log       *slog.Logger
	room      func() bool
	shed      func()
	plain     bool // no TLS around it: the answer can be read
	lingering *gate
}

// acceptPause is how long no connection is taken after one could not be: who waits is served then.
const acceptPause = 50 * time.Millisecond

// Accept returns the next connection that there is room for. Only a closed listener is the
// end: without a free descriptor, say, there may be one soon, but fasthttp would stop serving.
func (l boundedListener) Accept() (net.Conn, error) {
	for failed := false; ; {
		c, err := l.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case err != nil:
			if !failed {
				l.log.Warn("connections wait: none can be accepted", "error", err)
			}
			failed = true
			time.Sleep(acceptPause)
			continue
		case l.room():
			return c, nil
		}
		l.shed()
		if l.plain && l.lingering.enter(1) {
			go l.refuse(c)
			continue
		}
		_ = c.Close() // nobody knows it
	}
}

// lingerTime is how long a refused connection may take to read why.
const lingerTime = 500 * time.Millisecond

// refuse answers and waits for the client to go: closing with its request unread would reset the connection, and the answer be lost.
func (l boundedListener) refuse(c net.Conn) {
	defer l.lingering.leave(1)
	defer func() { _ = c.Close() }()              // nobody knows it
	_ = c.SetDeadline(time.Now().Add(lingerTime)) // fails on a closed connection: so does the write
	if _, err := c.Write(tooManyConnections); err != nil {
		return
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // as above
	}
	var buf [512]byte
	for {
		if _, err := c.Read(buf[:]); err != nil {
			return
		}
	}
}

const msgBusy = "This node has too much to do; nothing was done. Please try again."

var tooManyConnections = func() []byte {
	body := string(route.ErrorResponse(route.Unavailable("This node serves as many connections as it may.", 1)).Body)
	return []byte("HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close\r\n\r\n" + body)
}()
