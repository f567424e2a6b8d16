package engine

import (
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
)

// Metrics are the module's metrics, named as in run.json.
type Metrics struct {
	latency  *metrics.Metric
	p99      *metrics.Metric // the p99 of run.json: latency includes the warm-up, and of many deliveries only a part
	counters map[string]*metrics.Metric
	Judged   bool // k6 judges thresholds
	registry *metrics.Registry
}

// accountMetrics are counters of messages, pushed once at the end of the run.
func accountMetrics() (names []string) {
	for _, count := range judge.Counts {
		names = append(names, "arrival_"+count.Name)
	}
	return append(names, "arrival_invalid")
}

func RegisterMetrics(registry *metrics.Registry) *Metrics {
	m := &Metrics{
		registry: registry,
		latency:  registry.MustNewMetric("arrival_latency", metrics.Trend, metrics.Time),
		p99:      registry.MustNewMetric("arrival_p99", metrics.Gauge, metrics.Time),
		counters: map[string]*metrics.Metric{},
	}
	for _, name := range accountMetrics() {
		m.counters[name] = registry.MustNewMetric(name, metrics.Counter)
	}
	return m
}
