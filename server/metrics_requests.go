package server

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagraft/flagraft/server/route"
	"github.com/flagraft/flagraft/server/tally"
)

// requestMetrics counts requests by operation, which is a row's label and never a path: paths are as many as clients like.
type requestMetrics struct {
	rows      map[*route.Row]*rowMetrics
	unmatched *rowMetrics
	panics    tripped
	shed      tripped
	malformed tripped
}

// tripped counts what should be rare.
type tripped struct{ atomic.Uint64 }

// Inc adds one.
func (t *tripped) Inc() { t.Add(1) }

var (
	requestPanics    = desc("flagraft_http_panics_total", "Requests that ended in a panic, answered 500.")
	requestsShed     = desc("flagraft_http_shed_total", "Requests that were turned away because a bound of the node was reached.")
	requestsBad      = desc("flagraft_http_malformed_total", "Requests that could not be read.")
	requestsAnswered = desc("flagraft_http_requests_total", "Requests that were answered, by operation of the API description and hundred of the status.", "operation", "code")
	requestDuration  = desc("flagraft_http_request_duration_seconds", "Time from the head of a request until its answer was ready.", "operation")
)

type rowMetrics struct {
	label    string
	codes    [6]*tally.Counter // by hundreds
	duration *tally.Durations
}

func newRequestMetrics(table *route.Table) *requestMetrics {
	m := &requestMetrics{rows: map[*route.Row]*rowMetrics{}, unmatched: newRowMetrics("unmatched", false)}
	for _, r := range table.Rows() {
		_, raw := r.Handler.(route.RawHandler)
		m.rows[r] = newRowMetrics(r.Label(), raw)
	}
	return m
}

// newRowMetrics makes the counters of a row; hot ones are spread over cores.
func newRowMetrics(label string, hot bool) *rowMetrics {
	rm := &rowMetrics{label: label, duration: tally.NewDurations(hot)}
	for i := range rm.codes {
		rm.codes[i] = tally.NewCounter(hot)
	}
	return rm
}

// count counts one request that was answered. It allocates nothing and takes no lock.
func (m *requestMetrics) count(at tally.Cell, r *route.Row, status int, took time.Duration) {
	rm := m.rows[r]
	if rm == nil {
		rm = m.unmatched
	}
	if class := status / 100; class > 0 && class < len(rm.codes) {
		rm.codes[class].Inc(at)
	}
	rm.duration.Observe(at, took)
}

// Describe implements prometheus.Collector.
func (m *requestMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{requestPanics, requestsShed, requestsBad, requestsAnswered, requestDuration} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. Operations that nobody asked for have no series.
func (m *requestMetrics) Collect(ch chan<- prometheus.Metric) {
	for d, t := range map[*prometheus.Desc]*tripped{requestPanics: &m.panics, requestsShed: &m.shed, requestsBad: &m.malformed} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(t.Load()))
	}
	m.unmatched.collect(ch)
	for _, rm := range m.rows {
		rm.collect(ch)
	}
}

func (rm *rowMetrics) collect(ch chan<- prometheus.Metric) {
	count, sum, atMost := rm.duration.Read()
	if count == 0 {
		return
	}
	ch <- prometheus.MustNewConstHistogram(requestDuration, count, sum, atMost, rm.label)
	for class, c := range rm.codes {
		if n := c.Count(); n > 0 {
			ch <- prometheus.MustNewConstMetric(requestsAnswered, prometheus.CounterValue, float64(n), rm.label, fmt.Sprintf("%dxx", class))
		}
	}
}

// totals are over all operations: requests answered, those that failed for reasons of ours, and how many took at most as long as each bound.
func (m *requestMetrics) totals() (count, failed uint64, atMost map[float64]uint64) {
	atMost = map[float64]uint64{}
	add := func(rm *rowMetrics) {
		n, _, within := rm.duration.Read()
		count += n
		failed += rm.codes[5].Count()
		for bound, n := range within {
			atMost[bound] += n
		}
	}
	add(m.unmatched)
	for _, rm := range m.rows {
		add(rm)
	}
	return count, failed, atMost
}
