package server

import (
	"net/http"
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newRegistry is what the metrics page shows before the node runs: the process itself. Every node has its own; two nodes in one process do not mix.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{
			Matcher: regexp.MustCompile(`^(/cpu/classes/gc/total:cpu-seconds|/sched/latencies:seconds)$`),
		})),
	)
	return r
}

// metricsPage serves a registry in the formats that Prometheus asks for.
func (n *Node) metricsPage() http.Handler {
	return promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{ErrorLog: scrapeLog{n.log.With("page", "/metrics")}})
}

// scrapeLog tells of metrics that could not be collected.
type scrapeLog struct {
	log interface{ Error(string, ...any) }
}

// Println implements promhttp.Logger.
func (l scrapeLog) Println(v ...any) { l.log.Error("metrics", "error", v) }

// observe registers what a node that was put together measures. The names are part of the interface: docs/metrics.md.
func (n *Node) observe() {
	n.registry.MustRegister(n.server.metrics, &nodeMetrics{node: n}, &capacityMetrics{n}, &scheduleMetrics{n}, n.flags)
	n.registry.MustRegister(n.deliverer.collectors()...)
	n.registry.MustRegister(n.fsm.Collectors()...)
	n.registry.MustRegister(n.cluster.Collectors()...)
}

// desc describes a metric whose values a collector reads.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// gaugeOf is one value of a metric.
func gaugeOf(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
