package arrival

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/limits"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// judge sets the verdict of a report. ran is how long an unfinished run has lasted.
func (e *engine) judge(r *report.Run, doubts []string, ran time.Duration) report.Verdict {
	rules, replaced := e.judging.Rules(e.builtIn())
	return judge.Of(judge.Evidence{
		Run: r, CutOff: "the run was " + report.CutOff(ran, e.planned()), Doubts: doubts, Limits: rules, Replaced: replaced,
		Cores: runtime.GOMAXPROCS(0), Unattended: e.open.Unattended(), AtMostOnce: e.options.atMostOnce(), Halted: e.IsHalted(),
		Subscribed: e.subscribed(),
	})
}

// atMostOnce reports whether messages arrive at QoS 0: a loss is counted, but is no failure.
func (o *options) atMostOnce() bool { return o.Queue == nil && o.MQTT.QoS == 0 }

// subscribed describes the subscriptions in the words of the options; empty: no MQTT subscriptions.
func (e *engine) subscribed() string {
	o := e.options.MQTT
	switch {
	case o.URL == "":
		return ""
	case o.Filter != "":
		return fmt.Sprintf("mqtt.filter (FILTER) %q at QoS %d", o.Filter, o.QoS)
	}
	return fmt.Sprintf("targets behind mqtt.prefix (TOPIC_PREFIX) %q at QoS %d", o.Prefix, o.QoS)
}

func (e *engine) measured() *ledger.Times {
	total := ledger.NewTimes()
	for i, p := range e.options.profile.Phases {
		if p.Measured {
			total.Merge(e.Ledger.Times(i))
		}
	}
	return total
}

// planned is the planned length of the load; 0: it depends on the pipeline.
func (e *engine) planned() time.Duration {
	p := e.options.profile
	if slices.ContainsFunc(p.Phases, func(ph profile.Phase) bool { return ph.Requests > 0 || ph.Drain > 0 }) {
		return 0
	}
	return p.Duration()
}

// values returns the module's metrics at the end of the run, without arrival_latency.
func (e *engine) values() map[string]float64 {
	values, account := map[string]float64{"arrival_p99": limits.Unmeasured}, e.Ledger.Final()
	for _, count := range judge.Counts {
		values["arrival_"+count.Name] = float64(count.Of(account))
	}
	arrival := e.measured().Arrival
	if p99 := report.NewLatency(&arrival, false).P99; p99 != nil {
		values["arrival_p99"] = *p99
	}
	for name, within := range e.within.all() {
		values[name] = report.ShareWithin(arrival.Histogram, within.limit)
	}
	return values
}

// end judges the module's metrics and pushes them to k6, for the script's thresholds.
func (m *runMetrics) end(ctx context.Context, state *lib.State, e *engine) {
	values := e.values()
	e.judging.Measured(values, e.lasted())
	verdict := e.report(false).Verdict
	values["arrival_invalid"] = 0
	broken := func(r report.Rule) bool { return r.OK != nil && !*r.OK } // those that are not judged yet do not count
	for _, rule := range verdict.Rules {
		if broken(rule) && rule.Result == report.Invalid {
			values["arrival_invalid"]++
		}
	}
	now, tags := time.Now(), state.Tags.GetCurrentValues().Tags
	samples := make(metrics.Samples, 0, len(values))
	for name, v := range values {
		metric := m.counters[name]
		if name == "arrival_p99" {
			metric = m.p99
		} else if within, ok := e.within.all()[name]; ok {
			metric = within.metric
		}
		samples = append(samples, metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tags}, Time: now, Value: v,
		})
	}
	metrics.PushIfNotDone(ctx, state.Samples, samples)
	if slices.ContainsFunc(verdict.Rules, broken) {
		e.judging.Mark(state.TestStatus, values, m.judged)
	}
}

func (e *engine) lasted() time.Duration {
	return max(0, e.life.now().ended.Sub(e.Epoch))
}

// builtIn are the thresholds that every run has. k6 gets them so that it ends with exit code 99.
func (e *engine) builtIn() map[string][]string {
	all := map[string][]string{"arrival_invalid": {limits.None}}
	for _, end := range limits.AccountEnds {
		all["arrival_"+end] = []string{limits.None}
	}
	if !e.options.atMostOnce() {
		all["arrival_lost"] = []string{limits.None}
	}
	return all
}

// withins are the limits on how many deliveries arrive in time, by their metrics.
type withins struct {
	mu    sync.Mutex
	known map[string]within
}

type within struct {
	limit  time.Duration
	metric *metrics.Metric
}

func (w *withins) all() map[string]within {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.known)
}

// register makes the metric of a limit, once for all VUs. ok is false for other names.
func (w *withins) register(registry *metrics.Registry, name string) (metric string, ok bool, err error) {
	metric, limit, ok := report.WithinMetric(name)
	if !ok {
		return name, false, nil
	}
	made, err := registry.NewMetric(metric, metrics.Gauge)
	if err != nil {
		return metric, true, fmt.Errorf("thresholds: %s: %w", name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known[metric] = within{limit, made}
	return metric, true, nil
}

// thresholds translates the arrival.within(…) limits among a script's thresholds for k6. Each threshold is a list of
// expressions or of k6's objects.
func (w *withins) thresholds(registry *metrics.Registry, own map[string]any) (map[string]any, error) {
	all := map[string]any{}
	for name, value := range own {
		metric, ok, err := w.register(registry, name)
		if err != nil {
			return nil, err
		}
		if list, isList := value.([]any); ok && isList {
			translated := make([]any, len(list))
			for i, one := range list {
				translated[i] = one
				if source, isText := one.(string); isText {
					translated[i] = report.WithinThreshold(source)
				}
			}
			value = translated
		}
		all[metric] = value
	}
	return all, nil
}

func (w *withins) limits(registry *metrics.Registry, own map[string][]string) (map[string][]string, error) {
	all := map[string][]string{}
	for name, sources := range own {
		metric, ok, err := w.register(registry, name)
		if err != nil {
			return nil, err
		}
		for _, source := range sources {
			if ok {
				source = report.WithinThreshold(source)
			}
			all[metric] = append(all[metric], source)
		}
	}
	return all, nil
}
