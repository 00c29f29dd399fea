package cluster

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// measures are what this package measures about itself.
type measures struct {
	store     prometheus.Histogram
	snapshot  prometheus.Histogram
	failed    prometheus.Counter // snapshots
	elections prometheus.Counter
}

func newMeasures() *measures {
	return &measures{
		store: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "flagraft_log_store_seconds", Help: "Time to store log entries, the fsync included.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2.5, 14),
		}),
		snapshot: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "flagraft_snapshot_seconds", Help: "Time to write a snapshot.",
			Buckets: prometheus.ExponentialBuckets(1e-3, 4, 9),
		}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flagraft_snapshot_failures_total", Help: "Snapshots that could not be written.",
		}),
		elections: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "flagraft_leadership_gained_total", Help: "How often this node became the leader.",
		}),
	}
}

func since(start time.Time) float64 { return time.Since(start).Seconds() }

// Collectors are what this package measures, for Prometheus.
func (n *Node) Collectors() []prometheus.Collector {
	m := n.measures
	return []prometheus.Collector{m.store, m.snapshot, m.failed, m.elections}
}

// Term is Raft's current term.
func (n *Node) Term() uint64 { return n.raft.CurrentTerm() }

// LastLogIndex is the index of the newest entry on this node's disk.
func (n *Node) LastLogIndex() uint64 { return n.raft.LastIndex() }

// SnapshotIndex is the last entry in the newest snapshot on this node; 0: there is none.
func (n *Node) SnapshotIndex() uint64 { return n.snaps.index.Load() }

// SnapshotBytes is the size of the newest snapshot on this node; 0: there is none.
func (n *Node) SnapshotBytes() int64 { return n.snaps.size.Load() }
