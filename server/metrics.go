package server

import (
	"fmt"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/flagraft/flagraft/server/route"
)

// requestMetrics counts requests by operation. The set is the node's own: two nodes in one process do not mix.
type requestMetrics struct {
	set       *metrics.Set
	rows      map[*route.Row]*rowMetrics
	unmatched *rowMetrics
	panics    *metrics.Counter
	shed      *metrics.Counter
	malformed *metrics.Counter
}

type rowMetrics struct {
	codes    [6]*metrics.Counter // by hundreds
	duration *metrics.Histogram  // typed rows only
}

func newRequestMetrics(table *route.Table) *requestMetrics {
	set := metrics.NewSet()
	m := &requestMetrics{
		set: set, rows: map[*route.Row]*rowMetrics{},
		panics:    set.NewCounter("flagraft_http_panics_total"),
		shed:      set.NewCounter("flagraft_http_shed_total"),
		malformed: set.NewCounter("flagraft_http_malformed_total"),
	}
	m.unmatched = m.row("unmatched")
	for _, r := range table.Rows() {
		rm := m.row(r.Label())
		if _, raw := r.Handler.(route.RawHandler); !raw {
			rm.duration = set.NewHistogram(fmt.Sprintf(`flagraft_http_request_duration_seconds{operation=%q}`, r.Label()))
		}
		m.rows[r] = rm
	}
	return m
}

func (m *requestMetrics) row(label string) *rowMetrics {
	rm := &rowMetrics{}
	for i := 1; i < len(rm.codes); i++ {
		rm.codes[i] = m.set.NewCounter(fmt.Sprintf(`flagraft_http_requests_total{operation=%q,code="%dxx"}`, label, i))
	}
	return rm
}

func (m *requestMetrics) count(r *route.Row, status int) {
	rm := m.rows[r]
	if rm == nil {
		rm = m.unmatched
	}
	if class := status / 100; class > 0 && class < len(rm.codes) {
		rm.codes[class].Inc()
	}
}

func (m *requestMetrics) took(r *route.Row, start time.Time) {
	if rm := m.rows[r]; rm != nil && rm.duration != nil {
		rm.duration.Update(since(start))
	}
}
