package server

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// connections are those that the HTTP server has open. It takes a connection that has not sent anything yet for one that is busy, and would
// wait for it until the read timeout: balancers keep such connections ready.
type connections struct {
	// A mutex and not an actor: a connection comes and goes once, and stopping has to see all of them at once.
	mu   sync.Mutex
	open map[net.Conn]struct{}
}

// changed is told by the HTTP server; only the beginning and the end of a connection count.
func (cs *connections) changed(c net.Conn, state fasthttp.ConnState) {
	switch state {
	case fasthttp.StateNew:
		cs.mu.Lock()
		cs.open[c] = struct{}{}
		cs.mu.Unlock()
	case fasthttp.StateClosed, fasthttp.StateHijacked:
		cs.mu.Lock()
		delete(cs.open, c)
		cs.mu.Unlock()
	}
}

func (cs *connections) count() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return len(cs.open)
}

func (cs *connections) closeAll() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.open {
		_ = c.Close()             // nobody waits for anything on it
		_ = under(c).Conn.Close() // even if an answer is being written: nobody takes it
	}
}

const (
	quietCheck = 50 * time.Millisecond
	// quietFor is how long no request may have run before the connections that are left are closed: what was on its way has arrived by then.
	quietFor = time.Second
)

// closeWhenQuiet closes the connections that are left once no request has run for a while.
func (s *Server) closeWhenQuiet(ctx context.Context) {
	tick := time.NewTicker(quietCheck)
	defer tick.Stop()
	for quiet := time.Duration(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if quiet += quietCheck; s.inFlight.Load() > 0 {
			quiet = 0
		}
		if quiet >= quietFor {
			s.connections.closeAll()
		}
	}
}
