package server

import (
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagraft/flagraft/fsm"
)

// nodeMetrics are the values that a node is asked for when it is scraped.
type nodeMetrics struct {
	node *Node
}

// reading is one value without labels.
type reading struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*Node) float64
}

func gauge(name, help string, read func(*Node) float64) reading {
	return reading{desc(name, help), prometheus.GaugeValue, read}
}

func counter(name, help string, read func(*Node) float64) reading {
	return reading{desc(name, help), prometheus.CounterValue, read}
}

// readings are the metrics that are one number of this node, by subject.
var readings = []reading{
	gauge("flagraft_ready", "1 when this node may be sent traffic.", func(n *Node) float64 { return truth(n.Ready()) }),
	gauge("flagraft_http_in_flight", "Requests worked on now.", func(n *Node) float64 { return float64(n.server.inFlight.Load()) }),
	gauge("flagraft_http_connections", "Connections open to the API, streams apart.", func(n *Node) float64 { return float64(n.server.connections.count()) }),

	gauge("flagraft_leader", "1 when this node leads the cluster.", func(n *Node) float64 { return truth(n.cluster.IsLeader()) }),
	gauge("flagraft_leader_known", "1 when this node knows a leader.", func(n *Node) float64 { return truth(n.cluster.LeaderID() != "") }),
	gauge("flagraft_age_seconds", "Time since this node heard from a leader with a quorum; 0 on the leader.", func(n *Node) float64 { return n.reads().Age().Seconds() }),
	gauge("flagraft_term", "Raft term.", func(n *Node) float64 { return float64(n.cluster.Term()) }),
	gauge("flagraft_commit_index", "Newest committed log index that this node knows.", func(n *Node) float64 { return float64(n.cluster.CommitIndex()) }),
	gauge("flagraft_applied_index", "Log index that this node's state shows.", func(n *Node) float64 { return float64(n.fsm.State().Index) }),
	gauge("flagraft_last_log_index", "Newest log index on this node's disk.", func(n *Node) float64 { return float64(n.cluster.LastLogIndex()) }),
	gauge("flagraft_format_level", "Format level of the cluster.", func(n *Node) float64 { return float64(n.fsm.State().Level()) }),
	gauge("flagraft_known_format_level", "Newest format level that this binary knows.", func(*Node) float64 { return float64(fsm.FormatLevel) }),

	counter("flagraft_log_entries_total", "Log entries stored on this node's disk.", func(n *Node) float64 { return float64(n.cluster.StorageStats().Entries) }),
	counter("flagraft_log_bytes_total", "Bytes of the log entries stored.", func(n *Node) float64 { return float64(n.cluster.StorageStats().Bytes) }),
	counter("flagraft_log_cache_misses_total", "Log entries that were read from disk because they were not in memory.", func(n *Node) float64 { return float64(n.cluster.StorageStats().CacheMisses) }),
	gauge("flagraft_log_since_snapshot_bytes", "Bytes of log since the last snapshot.", func(n *Node) float64 { return float64(n.cluster.StorageStats().LogBytes) }),
	gauge("flagraft_snapshot_index", "Log index of the newest snapshot on this node.", func(n *Node) float64 { return float64(n.cluster.SnapshotIndex()) }),
	gauge("flagraft_snapshot_bytes", "Size of the newest snapshot on this node.", func(n *Node) float64 { return float64(n.cluster.SnapshotBytes()) }),

	gauge("flagraft_disk_free_bytes", "Free space of the data directory's volume.", func(n *Node) float64 { return float64(n.cluster.Space().Free) }),
	gauge("flagraft_disk_min_free_bytes", "Free space below which no writes are taken.", func(n *Node) float64 { return float64(n.cluster.Space().Min) }),
	gauge("flagraft_disk_low", "1 when this node has less free space than it needs for writes.", func(n *Node) float64 { return truth(n.cluster.Space().Low) }),
	gauge("flagraft_read_only", "1 while the cluster takes no writes for want of disk space.", func(n *Node) float64 { return truth(n.cluster.ReadOnly()) }),

	gauge("flagraft_environments", "Environments, each with a compiled View.", func(n *Node) (count float64) {
		n.views.Each(func(*fsm.Live) { count++ })
		return count
	}),
	gauge("flagraft_identities", "Identities stored, over all environments.", func(n *Node) float64 { return n.storedIdentities() }),

	gauge("flagraft_streams_open", "Realtime streams open.", func(n *Node) float64 { return float64(n.streams.Open()) }),
	counter("flagraft_stream_events_total", "Realtime events written, counted per stream.", func(n *Node) float64 { return float64(n.streams.Events()) }),
	counter("flagraft_streams_dropped_total", "Realtime streams ended because their client took nothing for 10 s.", func(n *Node) float64 { return float64(n.streams.Dropped()) }),

	counter("flagraft_traits_unpersisted_total", "Identity answers that were given although their traits were not stored.", func(n *Node) float64 { return float64(n.sdk.Unpersisted()) }),
	counter("flagraft_new_identities_refused_total", "Identity writes refused by --new-identities-per-second.", func(n *Node) float64 { return float64(n.identities.Refused()) }),

	counter("flagraft_usage_flushes_total", "Batches of usage counts that the leader took from this node.", func(n *Node) float64 { sent, _ := n.usage.Flushes(); return float64(sent) }),
	counter("flagraft_usage_flush_failures_total", "Batches of usage counts that have to be sent again.", func(n *Node) float64 { _, failed := n.usage.Flushes(); return float64(failed) }),

	gauge("flagraft_hash_check_index", "Log index of the last comparison of state hashes; 0: none since the start.", func(n *Node) float64 { return float64(n.fsm.Verdict().Mark) }),
	gauge("flagraft_hash_check_agreed", "Nodes that agreed in the last comparison of state hashes.", func(n *Node) float64 { return float64(n.fsm.Verdict().Agreed) }),
	gauge("flagraft_hash_check_differing", "Nodes that differed in the last comparison of state hashes, and stopped.", func(n *Node) float64 { return float64(len(n.fsm.Verdict().Differ)) }),
	counter("flagraft_hash_mismatches_total", "State hashes of this node that differed from the majority's.", func(n *Node) float64 { return float64(n.fsm.Mismatches()) }),
	counter("flagraft_hash_undecided_total", "Comparisons of state hashes without a majority.", func(n *Node) float64 { return float64(n.checker.Undecided()) }),
}

// The metrics with labels.
var (
	buildInfo    = desc("flagraft_build_info", "1, with what this binary is.", "version", "commit", "go")
	queueLength  = desc("flagraft_queue_length", "Messages that wait: admin writes (writer), requests to store identities (identities), batches of them from all nodes (identity_batches).", "queue")
	evaluations  = desc("flagraft_evaluations_total", "Evaluations of identities: on the SDK API, where a kept list of flags may have answered without one (kept), and over OpenFeature.", "api", "kept")
	certificate  = desc("flagraft_certificate_expiry_timestamp_seconds", "When this node's certificate ends: of the API (api) or of the cluster port (cluster).", "certificate")
	memberReady  = desc("flagraft_member_ready", "On the leader: 1 for a member that reports to be ready, 0 also when it was silent for a second.", "member", "voter")
	memberBehind = desc("flagraft_member_behind_entries", "On the leader: committed entries that a member had not applied when it last reported.", "member")
)

// Describe implements prometheus.Collector.
func (m *nodeMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, r := range readings {
		ch <- r.desc
	}
	for _, d := range []*prometheus.Desc{buildInfo, queueLength, evaluations, certificate, memberReady, memberBehind} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *nodeMetrics) Collect(ch chan<- prometheus.Metric) {
	n := m.node
	for _, r := range readings {
		ch <- prometheus.MustNewConstMetric(r.desc, r.kind, r.read(n))
	}
	ch <- gaugeOf(buildInfo, 1, n.build.Version, n.build.Commit, runtime.Version())
	for queue, length := range map[string]int{"writer": n.writer.Waiting(), "identities": n.identities.Waiting(), "identity_batches": n.batcher.Waiting()} {
		ch <- gaugeOf(queueLength, float64(length), queue)
	}
	evaluated, kept := n.sdk.Evaluations()
	for _, c := range []struct {
		api, kept string
		n         uint64
	}{{"sdk", "false", evaluated}, {"sdk", "true", kept}, {"ofrep", "false", n.openFeature.Evaluations()}} {
		ch <- prometheus.MustNewConstMetric(evaluations, prometheus.CounterValue, float64(c.n), c.api, c.kept)
	}
	for name, ends := range map[string]time.Time{"api": n.server.tls.expiry(), "cluster": n.cluster.CertificateExpiry()} {
		if !ends.IsZero() {
			ch <- gaugeOf(certificate, float64(ends.Unix()), name)
		}
	}
	if n.cluster.IsLeader() {
		m.collectMembers(ch)
	}
}

func (m *nodeMetrics) collectMembers(ch chan<- prometheus.Metric) {
	commit := m.node.cluster.CommitIndex()
	for _, member := range m.node.cluster.Members() {
		voter := "false"
		if member.Voter {
			voter = "true"
		}
		ch <- gaugeOf(memberReady, truth(member.Ready), member.ID, voter)
		ch <- gaugeOf(memberBehind, float64(commit-min(member.Applied, commit)), member.ID)
	}
}

func (n *Node) storedIdentities() (count float64) {
	stores := n.fsm.State().Identities()
	if stores == nil {
		return 0
	}
	for _, id := range stores.Environments() {
		count += float64(stores.Environment(id).Count())
	}
	return count
}
