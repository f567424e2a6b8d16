package arrival

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// How late a generator may be: lateness counts in the arrival latency, so a run stays honest whatever it is, but past this
// share of it the run tells more of the generator than of the pipeline. Below the floor lateness is the scheduler's.
const (
	lateShare = 0.05
	lateFloor = 2 * time.Millisecond
)

// The generator may use so much of its cores, in all but so many seconds of the run: a second of garbage collection is no
// reason to throw a run away.
const (
	busyShare   = 0.9
	busySeconds = 0.05
)

// tooBusy counts the seconds in which the generator used more of its cores than it may, and reports whether they are too
// many.
func tooBusy(timeline []report.Interval, cores int) (seconds int, yes bool) {
	for _, i := range timeline {
		if cpu := i.Generator.CPUPercent; cpu != nil && *cpu > busyShare*100*float64(cores) {
			seconds++
		}
	}
	return seconds, float64(seconds) > busySeconds*float64(len(timeline))
}

// tooLate weighs the lateness of the generator against the arrival latency, both p99.
func tooLate(late, arrival time.Duration) bool {
	return late > lateFloor && float64(late) > lateShare*float64(arrival)
}

// judge looks for reasons not to trust the instrument.
func (e *engine) judge() {
	t := e.measured()
	late := p99(&t.Stages[ledger.Schedule])
	arrival := p99(&t.Arrival)
	if tooLate(late, arrival) {
		e.distrust("the generator was late: schedule p99 %.1f ms of arrival p99 %.1f ms; more senders or cores are needed",
			late.Seconds()*1000, arrival.Seconds()*1000)
	}
	cores := runtime.GOMAXPROCS(0)
	if seconds, yes := tooBusy(e.timeline, cores); yes {
		e.distrust("the generator was out of CPU: above %.0f %% of its %d cores in %d of %d seconds",
			busyShare*100, cores, seconds, len(e.timeline))
	}
	select {
	case <-e.halted: // that is reason enough for what was not sent
		return
	default:
	}
	if a := e.ledger.Final(); a.Dropped > 0 {
		e.distrust("the generator never sent %d of %d messages", a.Dropped, a.Scheduled)
	}
}

func p99(s *ledger.Series) time.Duration {
	return time.Duration(s.Histogram.ValueAtPercentile(99)) * time.Microsecond
}

// measured merges the times of the measured phases.
func (e *engine) measured() *ledger.Times {
	total := ledger.NewTimes()
	for i, p := range e.options.profile.Phases {
		if p.Measured {
			total.Merge(e.ledger.Times(i))
		}
	}
	return total
}

// verdict weighs all that is known: thresholds are k6's, nil while the run goes on.
func (e *engine) verdict(a ledger.Account, thresholds []report.Threshold) report.Verdict {
	e.mu.Lock()
	defer e.mu.Unlock()
	v := report.Verdict{Result: report.Pass, Reasons: []string{}}
	worse := func(result string, reasons ...string) {
		if v.Result == report.Pass {
			v.Result = result
		}
		v.Reasons = append(v.Reasons, reasons...)
	}
	if !e.finished {
		worse(report.Incomplete, "the run was cut off before everything was in")
	}
	if len(e.invalid) > 0 {
		worse(report.Invalid, e.invalid...)
	}
	if !a.Balanced() {
		worse(report.Fail, "the account does not balance")
	}
	if a.Lost > 0 && e.options.MQTT.QoS > 0 {
		worse(report.Fail, fmt.Sprintf("lost: %d of %d messages were accepted and are nowhere", a.Lost, a.Scheduled))
	}
	for _, t := range thresholds {
		// The account's own thresholds have their reasons above.
		if !t.OK && !builtIn(t.Metric) {
			worse(report.Fail, "threshold crossed: "+t.Metric+" "+t.Expression)
		}
	}
	return v
}

// push hands the account to k6, so that a script's thresholds see it.
func (m *runMetrics) push(ctx context.Context, state *lib.State, e *engine) {
	a := e.ledger.Final()
	e.mu.Lock()
	invalid := len(e.invalid)
	e.mu.Unlock()
	values := map[string]int{
		"arrival_scheduled": a.Scheduled, "arrival_dropped": a.Dropped, "arrival_rejected": a.Rejected,
		"arrival_unknown": a.Unknown, "arrival_arrived": a.Arrived, "arrival_dead_lettered": a.DeadLettered,
		"arrival_queued": a.Queued, "arrival_lost": a.Lost, "arrival_duplicates": a.Duplicates,
		"arrival_reordered": a.Reordered, "arrival_negative": a.Negative, "arrival_invalid": invalid,
	}
	now, tags := time.Now(), state.Tags.GetCurrentValues().Tags
	samples := make(metrics.Samples, 0, len(values))
	for name, v := range values {
		samples = append(samples, metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: m.counters[name], Tags: tags}, Time: now, Value: float64(v),
		})
	}
	metrics.PushIfNotDone(ctx, state.Samples, samples)
}

// builtInThresholds hold for every run: nothing lost, and an instrument that can be trusted.
var builtInThresholds = map[string][]string{
	"arrival_lost":    {"count==0"},
	"arrival_invalid": {"count==0"},
}

func builtIn(metric string) bool {
	_, ok := builtInThresholds[metric]
	return ok
}
