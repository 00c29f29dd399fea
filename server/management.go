package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"
)

// management is the listener for operators: it speaks of this node only and asks for no credentials, so it listens on loopback unless told
// otherwise.
type management struct {
	node     *Node
	http     *http.Server
	listener net.Listener
	done     chan error
}

const (
	// managementConnections is how many there are at most: each takes a descriptor from the log, other nodes and the API.
	managementConnections = 128
	// managementIdle is longer than what is usual between two scrapes.
	managementIdle = 2 * time.Minute
)

// newest are the connections of a server that does without the oldest rather than refuse a new one, which may be a probe.
type newest struct {
	most int

	// A mutex and not an actor: the server tells of each change in the goroutine of the connection.
	mu    sync.Mutex
	since map[net.Conn]time.Time // when a request last began or ended there
}

// changed is told by the server.
func (s *newest) changed(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == http.StateClosed {
		delete(s.since, c)
		return
	}
	s.since[c] = time.Now()
	if len(s.since) <= s.most {
		return
	}
	oldest := c
	for other, since := range s.since {
		if since.Before(s.since[oldest]) {
			oldest = other
		}
	}
	delete(s.since, oldest)
	_ = oldest.Close() // nobody waits for anything there, or for longest
}

func (n *Node) startManagement() (*management, error) {
	m := &management{node: n}
	if n.settings.ManagementAddr == "" {
		return m, nil
	}
	l, err := net.Listen("tcp", n.settings.ManagementAddr)
	if err != nil {
		return nil, fmt.Errorf("management: listen: %w", err)
	}
	m.listener, m.done = l, make(chan error, 1)
	open := newest{most: managementConnections, since: map[net.Conn]time.Time{}}
	m.http = &http.Server{Handler: m.routes(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: managementIdle, ConnState: open.changed}
	go func() { m.done <- m.http.Serve(l) }()
	return m, nil
}

func (m *management) addr() string {
	if m == nil || m.listener == nil {
		return ""
	}
	return m.listener.Addr().String()
}

func (m *management) stop(ctx context.Context) error {
	if m == nil || m.http == nil {
		return nil
	}
	if err := m.http.Shutdown(ctx); err != nil {
		return errors.Join(err, m.http.Close())
	}
	if err := <-m.done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (m *management) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", m.livez)
	mux.HandleFunc("GET /readyz", m.readyz)
	mux.HandleFunc("GET /status", m.status)
	mux.HandleFunc("POST /join", m.join)
	mux.Handle("GET /metrics", m.node.metricsPage())
	mux.HandleFunc("GET /log-level", m.logLevel)
	mux.HandleFunc("PUT /log-level", m.setLogLevel)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	// Not the command line: there may be secrets in it.
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// livez depends on nothing but the process.
func (m *management) livez(w http.ResponseWriter, _ *http.Request) {
	_, _ = fmt.Fprintln(w, "ok")
}

// readiness lists the conditions of being ready, in the order in which a start meets them.
func (m *management) readiness() []struct {
	name string
	ok   bool
} {
	n := m.node
	running := n.running.Load()
	return []struct {
		name string
		ok   bool
	}{
		{"started", running},
		{"state", n.fsm.State().Born()},
		{"caught-up", running && n.cluster.Ready()},
		{"restored", !n.awaitsRestore()},
		{"founded", !n.awaitsFounding()},
		{"not-stopping", !n.stopping.Load()},
		{"member", running && !n.cluster.Removed()},
	}
}

// warnings are what an operator should know of a node that is ready all the same: it answers reads.
func (m *management) warnings() (text string) {
	if !m.node.running.Load() {
		return ""
	}
	if s := m.node.cluster.Space(); s.Low {
		text += fmt.Sprintf("[!] disk: %d MB free, at least %d MB wanted\n", s.Free>>20, s.Min>>20)
	}
	if m.node.cluster.ReadOnly() {
		text += "[!] read-only: no writes until disk space is freed\n"
	}
	return text
}

// readyz is 200 when the node may be sent traffic; with ?verbose it tells why not.
func (m *management) readyz(w http.ResponseWriter, r *http.Request) {
	ready, text := true, ""
	for _, c := range m.readiness() {
		mark := "+"
		if !c.ok {
			mark, ready = "-", false
		}
		text += "[" + mark + "] " + c.name + "\n"
	}
	text += m.warnings()
	if !ready {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if r.URL.Query().Has("verbose") {
		_, _ = io.WriteString(w, text)
		return
	}
	if ready {
		_, _ = fmt.Fprintln(w, "ok")
		return
	}
	_, _ = fmt.Fprintln(w, "not ready")
}
