package server

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"
)

// capacity is one bound of the node or the installation and how much of it is in use.
type capacity struct {
	Name string `json:"name"`
	Used int64  `json:"used"`
	Max  int64  `json:"max"` // 0: none
	Unit string `json:"unit"`
}

// capacities lists every bound that fills up: those of this node first, then those of the state, for environments of the fullest one.
func (n *Node) capacities() []capacity {
	s, st, held := n.server, n.settings, n.fsm.State().Held()
	memory := s.budget.limit
	if memory == math.MaxInt64 {
		memory = 0
	}
	identities, keys := n.fullest()
	return []capacity{
		{"memory", s.memory.used.Load(), memory, "bytes"},
		{"connections", int64(s.connections.count() + n.streams.Open()), s.budget.connections, "connections"},
		{"streams", int64(n.streams.Open()), int64(st.MaxStreams), "connections"},
		{"requests", s.inFlight.Load(), s.budget.requests, "requests"},
		{"writes", s.writes.used.Load(), s.budget.writes, "requests"},
		{"request_bodies", s.bodies.bytes() / bodyFactor, s.budget.bodies / bodyFactor, "bytes"},
		{"forwarded_requests", s.calls.used.Load(), s.budget.calls, "bytes"},
		{"identity_queue", n.identities.QueuedBytes(), s.budget.identities, "bytes"},
		{"change_log", int64(held.ChangeLog), int64(st.KeepChangeLogBytes), "bytes"},
		{"audit_log", int64(held.Audit), int64(st.KeepAuditBytes), "bytes"},
		{"idempotency_answers", int64(held.Answers), int64(st.KeepAnswerBytes), "bytes"},
		{"usage", int64(held.Usage), int64(st.KeepUsageBytes), "bytes"},
		{"webhook_events", int64(held.Webhooks), int64(st.KeepWebhookBytes), "bytes"},
		{"identities", identities, int64(st.MaxIdentities), "identities"},
		{"trait_keys", keys, int64(st.MaxTraitKeys), "keys"},
	}
}

// fullest is the largest number of identities, and of trait keys, of an environment.
func (n *Node) fullest() (identities, keys int64) {
	stores := n.fsm.State().Identities()
	if stores == nil {
		return 0, 0
	}
	for _, id := range stores.Environments() {
		st := stores.Environment(id)
		identities = max(identities, int64(st.Count()))
		keys = max(keys, int64(st.KeysInUse()))
	}
	return identities, keys
}

// capacityMetrics show every bound and how much of it is in use.
type capacityMetrics struct {
	node *Node
}

var (
	limitUsed = desc("flagraft_limit_used", "How much of a bound of the node or the installation is in use; docs/operations/limits.md.", "name", "unit")
	limitMax  = desc("flagraft_limit_max", "A bound of the node or the installation; 0: there is none.", "name", "unit")
)

// Describe implements prometheus.Collector.
func (m *capacityMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- limitUsed; ch <- limitMax }

// Collect implements prometheus.Collector.
func (m *capacityMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.node.capacities() {
		ch <- gaugeOf(limitUsed, float64(c.Used), c.Name, c.Unit)
		ch <- gaugeOf(limitMax, float64(c.Max), c.Name, c.Unit)
	}
}
