package cluster

import (
	"io"
	"net"
	"sync"
	"time"
)

const (
	// refusalQuiet is how long one peer's refusals are silent after one was logged.
	refusalQuiet = 10 * time.Second
	maxRefusals  = 1024
	// lingerTime is how long the end of a refused connection waits for what the
	// peer still sends; a reset would take the reason away from it.
	lingerTime  = 200 * time.Millisecond
	lingerBytes = 64 << 10
)

// refusals keeps floods of refused connections from flooding the log.
//
// It is under a mutex: every connection's goroutine asks, and needs the answer at once.
type refusals struct {
	mu     sync.Mutex
	logged map[string]time.Time
	quiet  time.Duration
}

func newRefusals() *refusals { return &refusals{logged: map[string]time.Time{}, quiet: refusalQuiet} }

// first tells whether nothing was logged about a peer lately.
func (r *refusals) first(peer string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Sub(r.logged[peer]) < r.quiet {
		return false
	}
	if len(r.logged) >= maxRefusals {
		clear(r.logged)
	}
	r.logged[peer] = now
	return true
}

func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// linger ends the sending side and reads on for a moment, so that the peer gets what it was told.
func linger(c net.Conn) {
	half, ok := c.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c, lingerBytes) // whatever comes is not wanted
}
