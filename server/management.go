package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/flagraft/flagraft/fsm"
)

// management is the listener for operators: it speaks of this node only and asks for no credentials, so it listens on loopback unless told
// otherwise.
type management struct {
	node     *Node
	http     *http.Server
	listener net.Listener
	done     chan error
	set      atomic.Pointer[metrics.Set] // of the running node
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
	m.http = &http.Server{Handler: m.routes(), ReadHeaderTimeout: 5 * time.Second}
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
	mux.HandleFunc("GET /metrics", m.metrics)
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

func (m *management) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if set := m.set.Load(); set != nil {
		set.WritePrometheus(w)
		writeScheduleMetrics(w, m.node.fsm.State())
	}
	metrics.WriteProcessMetrics(w)
}

// observe adds the gauges of a node to its request metrics and publishes the set.
func (m *management) observe(n *Node) {
	if m == nil {
		return
	}
	set := n.server.metrics.set
	gauge := func(name string, f func() float64) { set.NewGauge(name, f) }
	flag := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	gauge("flagraft_ready", func() float64 { return flag(n.Ready()) })
	gauge("flagraft_leader", func() float64 { return flag(n.cluster.IsLeader()) })
	gauge("flagraft_applied_index", func() float64 { return float64(n.fsm.State().Index) })
	gauge("flagraft_commit_index", func() float64 { return float64(n.cluster.CommitIndex()) })
	gauge("flagraft_format_level", func() float64 { return float64(n.fsm.State().Level()) })
	gauge("flagraft_known_format_level", func() float64 { return float64(fsm.FormatLevel) })
	gauge("flagraft_age_seconds", func() float64 { return n.reads().Age().Seconds() })
	gauge("flagraft_writer_waiting", func() float64 { return float64(n.writer.Waiting()) })
	gauge("flagraft_identity_writes_waiting", func() float64 { return float64(n.identities.Waiting()) })
	gauge("flagraft_http_in_flight", func() float64 { return float64(n.server.inFlight.Load()) })
	gauge("flagraft_http_connections", func() float64 { return float64(n.server.connections.count()) })
	gauge("flagraft_log_stores", func() float64 { return float64(n.cluster.Status().Storage.Stores) })
	gauge("flagraft_disk_free_bytes", func() float64 { return float64(n.cluster.Space().Free) })
	gauge("flagraft_disk_min_free_bytes", func() float64 { return float64(n.cluster.Space().Min) })
	gauge("flagraft_disk_low", func() float64 { return flag(n.cluster.Space().Low) })
	gauge("flagraft_read_only", func() float64 { return flag(n.cluster.ReadOnly()) })
	gauge("flagraft_streams_open", func() float64 { return float64(n.streams.Open()) })
	gauge("flagraft_stream_events_total", func() float64 { return float64(n.streams.Events()) })
	gauge("flagraft_traits_unpersisted_total", func() float64 { return float64(n.sdk.Unpersisted()) })
	gauge("flagraft_new_identities_refused_total", func() float64 { return float64(n.identities.Refused()) })
	gauge("flagraft_streams_dropped_total", func() float64 { return float64(n.streams.Dropped()) })
	n.observeHashChecks(gauge)
	n.deliverer.observe(gauge)
	m.observeCapacities(n, gauge)
	m.set.Store(set)
}
