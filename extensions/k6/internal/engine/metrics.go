package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/sirupsen/logrus"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
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

// RegisterMetrics makes the metrics in k6's registry, or finds those of another VU.
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

// atTheEnd are counts that are not known while messages are on their way.
var atTheEnd = countsAtTheEnd()

func countsAtTheEnd() []string {
	names := []string{"arrival_invalid"}
	for i, end := range ledger.Ends {
		if !end.Open && !slices.Contains(ledger.RunningEnds, ledger.End(i)) {
			names = append(names, "arrival_"+end.Name)
		}
	}
	return names
}

// aborts are this module's metrics with a limit that ends the test (abortOnFail).
type aborts struct {
	metrics []string
	given   map[string]float64 // counts that k6 has been given
}

// newAborts finds the limits that end the test, and warns of those that can't before the end.
func (m *Metrics) newAborts(e *Engine, thresholds map[string]metrics.Thresholds, log logrus.FieldLogger) aborts {
	a := aborts{given: map[string]float64{}}
	for name, all := range thresholds {
		metric, _, _ := strings.Cut(name, "{")
		if !slices.ContainsFunc(all.Thresholds, func(t *metrics.Threshold) bool { return t.AbortOnFail }) {
			continue
		}
		switch {
		case slices.Contains(atTheEnd, metric):
			log.Warnf("abortOnFail of the threshold on %s ends no run: that figure is known at the end only", metric)
		case m.own(e, metric) != nil && !slices.Contains(a.metrics, metric):
			a.metrics = append(a.metrics, metric)
		}
	}
	slices.Sort(a.metrics)
	return a
}

// own returns the metric of this name that the engine adds figures to; nil: there is none.
func (m *Metrics) own(e *Engine, name string) *metrics.Metric {
	if name == "arrival_p99" {
		return m.p99
	}
	if within, ok := e.judging.within.all()[name]; ok {
		return within.metric
	}
	return m.counters[name]
}

// push gives k6 the figures so far of the limits that abort the test. The others it gets at the end.
func (v *vu) push(ctx context.Context, e *Engine) {
	a := v.aborts
	if len(a.metrics) == 0 {
		return
	}
	values := e.judging.soFar()
	var samples metrics.Samples
	for _, name := range a.metrics {
		if value, ok := values[name]; ok {
			samples = append(samples, a.sample(v.state, v.metrics.own(e, name), value))
		}
	}
	if len(samples) > 0 {
		metrics.PushIfNotDone(ctx, v.state.Samples, samples)
	}
}

// sample is a figure for k6, which adds up the samples of a counter.
func (a aborts) sample(state *lib.State, metric *metrics.Metric, value float64) metrics.Sample {
	if metric.Type == metrics.Counter {
		value, a.given[metric.Name] = value-a.given[metric.Name], value
	}
	return metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: metric, Tags: state.Tags.GetCurrentValues().Tags},
		Time:       time.Now(), Value: value,
	}
}
