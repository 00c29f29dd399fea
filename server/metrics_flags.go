package server

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagraft/flagraft/fsm"
)

// maxFlagCounters bounds the series of flagMetrics.
const maxFlagCounters = 20_000

// flagMetrics count evaluations flag by flag, when the setting asks for it: as SDKs report them to this node, and single ones over OpenFeature.
// Flags are many, so nobody gets them without asking.
type flagMetrics struct {
	node *Node
	on   bool

	counts sync.Map // flagKey → *atomic.Uint64
	size   atomic.Int64
}

type flagKey struct {
	environment, feature uint64
}

var flagEvaluations = desc("flagraft_flag_evaluations_total",
	"With --metrics-per-flag: evaluations of a flag, as SDKs reported them to this node, and over OpenFeature.", "environment_id", "environment", "feature")

// add counts n evaluations of a flag.
func (m *flagMetrics) add(environment, feature uint64, n int64) {
	if !m.on || n <= 0 {
		return
	}
	k := flagKey{environment, feature}
	c, ok := m.counts.Load(k)
	if !ok {
		if m.size.Load() >= maxFlagCounters {
			return
		}
		if c, ok = m.counts.LoadOrStore(k, new(atomic.Uint64)); !ok {
			m.size.Add(1)
		}
	}
	c.(*atomic.Uint64).Add(uint64(n))
}

// Describe implements prometheus.Collector.
func (m *flagMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- flagEvaluations }

// Collect implements prometheus.Collector. Names are those of now; what was deleted makes room for others.
func (m *flagMetrics) Collect(ch chan<- prometheus.Metric) {
	state := m.node.fsm.State()
	m.counts.Range(func(key, count any) bool {
		k := key.(flagKey)
		e, f := fsm.Environments.Ref(state, k.environment), fsm.Features.Ref(state, k.feature)
		if e == nil || f == nil {
			if _, held := m.counts.LoadAndDelete(k); held { // somebody else may collect, too
				m.size.Add(-1)
			}
			return true
		}
		ch <- prometheus.MustNewConstMetric(flagEvaluations, prometheus.CounterValue, float64(count.(*atomic.Uint64).Load()),
			strconv.FormatUint(e.ID, 10), valid(e.Name), valid(f.Name))
		return true
	})
}

// valid is a text as a label may hold it.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// countedUsage is the usage counter, with flagMetrics beside it.
type countedUsage struct {
	*fsm.UsageCounter
	flags *flagMetrics
}

// Add implements sdk.UsageCounter.
func (u countedUsage) Add(environment uint64, kind fsm.UsageKind, feature uint64, labels string, n int64) {
	u.UsageCounter.Add(environment, kind, feature, labels, n)
	if kind == fsm.UsageEvaluation {
		u.flags.add(environment, feature, n)
	}
}
