package fsm

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// measures are the histograms of this package. They are read by nobody here: applying depends on none of them.
type measures struct {
	compile, lag                   prometheus.Histogram // Views
	apply                          prometheus.Histogram
	writeWait, writePropose        prometheus.Histogram // the Writer
	batchOps, batchWait, batchSend prometheus.Histogram // the IdentityWriter
}

func newMeasures() *measures {
	return &measures{
		compile: seconds("flagraft_view_compile_seconds", "Time to compile the View of an environment that was changed."),
		lag:     seconds("flagraft_view_lag_seconds", "Time from the moment this node applied a change until the View that shows it was published."),
		apply:   seconds("flagraft_apply_seconds", "Time to apply a batch of committed log entries to the state."),
		writeWait: seconds("flagraft_write_wait_seconds",
			"Time that an admin write waited for its turn on the leader."),
		writePropose: seconds("flagraft_write_propose_seconds",
			"Time from proposing an entry of admin writes until it was committed and applied on the leader."),
		batchOps: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "flagraft_identity_batch_operations", Help: "Identity operations in a batch that this node sent to the leader.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 8),
		}),
		batchWait: seconds("flagraft_identity_batch_wait_seconds", "Time that the first operation of an identity batch waited until the batch was sent."),
		batchSend: seconds("flagraft_identity_batch_seconds", "Time from sending an identity batch until the leader answered that it is committed."),
	}
}

// seconds is a histogram from 100 µs to 13 s.
func seconds(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(100e-6, 2.5, 14)})
}

func since(start time.Time) float64 { return time.Since(start).Seconds() }

// Collectors are what this package measures, for Prometheus.
func (f *FSM) Collectors() []prometheus.Collector {
	m := f.measures
	return []prometheus.Collector{m.compile, m.lag, m.apply, m.writeWait, m.writePropose, m.batchOps, m.batchWait, m.batchSend}
}
