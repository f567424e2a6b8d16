package arrival

import (
	"context"
	"fmt"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// judge looks for reasons not to trust the instrument.
func (e *engine) judge(rec *recorder) {
	t := e.measured()
	a := e.ledger.Final()
	if !a.Balanced() {
		e.distrust("the account does not balance")
	}
	if t.Arrival.Count == 0 {
		e.distrust("no delivery was measured, so there is no latency to judge")
	}
	if err := rec.failure(); err != nil {
		e.distrust("the record of the run has gaps: %s", err)
	}
	arrival := p99(&t.Arrival)
	if late := p99(e.ledger.Lateness()); tooMuch(late, arrival) {
		e.distrust("the generator was late: lateness p99 %.1f ms of arrival p99 %.1f ms; %s",
			late.Seconds()*1000, arrival.Seconds()*1000, e.remedy())
	}
	also := ""
	if steal := stolen(e.timeline); steal != "" {
		also = "; " + steal
	}
	if waited := p99(&e.socketWait); tooMuch(waited, arrival) {
		e.distrust("the generator was late to read: what arrived lay in the subscriber's socket for %.1f ms (p99) of arrival p99 %.1f ms%s",
			waited.Seconds()*1000, arrival.Seconds()*1000, also)
	}
	if seconds, yes := tooBusy(e.timeline, e.cores); yes {
		e.distrust("the generator was out of CPU: above %.0f %% of its %d cores in %d of %d seconds%s",
			busyShare*100, e.cores, seconds, len(e.timeline), also)
	}
	if a.Dropped > 0 && !e.isHalted() { // a lost subscriber is reason enough for what was not sent
		e.distrust("the generator never sent %d of %d messages", a.Dropped, a.Scheduled)
	}
	if n := e.pending.discarded.Load(); n > 0 {
		e.distrust("k6 did not take %d samples, so its thresholds are about the others only", n)
	}
	if n := len(e.gaps); n > 0 && !e.isHalted() {
		e.distrust("a subscriber was without its connection (%s): what waited for it counts as the pipeline's latency, and of "+
			"%d missing deliveries it may have lost some", times(n), a.DeliveriesDue-a.DeliveriesArrived)
	}
	if float64(a.Negative) > negativeShare*float64(a.DeliveriesArrived) {
		e.distrust("the clocks disagree: %d of %d deliveries have a stage below zero", a.Negative, a.DeliveriesArrived)
	}
	for _, reason := range clockReasons(e.describeClock(), t) {
		e.distrust("%s", reason)
	}
}

// remedy says what a late generator wants: its cores, where somebody else had them, senders, where its requests found them all busy, and
// otherwise more cores.
func (e *engine) remedy() string {
	if steal := stolen(e.timeline); steal != "" {
		return steal + ": a machine that is not shared is needed"
	}
	n := e.unattended.Load()
	if 100*n >= int64(e.pacer.Requests()) { // as many as a p99 is made of
		return fmt.Sprintf("%d requests were due while all senders waited for answers: more senders are needed", n)
	}
	return "more cores are needed"
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
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
	_, lossFails := e.builtIn()["arrival_lost"]
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
	if lossFails && a.Lost > 0 {
		worse(report.Fail, fmt.Sprintf("lost: %d of %d messages were accepted and are nowhere", a.Lost, a.Scheduled))
	}
	for _, t := range thresholds {
		if told := (t.Metric == "arrival_lost" || t.Metric == "arrival_invalid") && t.Expression == none; !t.OK && !told {
			worse(report.Fail, "threshold crossed: "+t.Metric+" "+t.Expression)
		}
	}
	return v
}

// unmeasured is the arrival_p99 of a run in which nothing arrived, in ms: a threshold on it is crossed.
const unmeasured = 1e9

// push hands the account and the p99 to k6, so that a script's thresholds see them.
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
	samples := make(metrics.Samples, 0, len(values)+1)
	add := func(metric *metrics.Metric, v float64) {
		samples = append(samples, metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tags}, Time: now, Value: v,
		})
	}
	for name, v := range values {
		add(m.counters[name], float64(v))
	}
	if told := report.NewLatency(&e.measured().Arrival, false).P99; told != nil {
		add(m.p99, *told)
	} else {
		add(m.p99, unmeasured)
	}
	metrics.PushIfNotDone(ctx, state.Samples, samples)
}

// none is the threshold of what must not happen.
const none = "count==0"

// builtIn are the thresholds that hold for every run: an instrument that can be trusted, every message accepted, and every
// accepted message delivered. What is missing would be the slowest, so percentiles without it flatter.
func (e *engine) builtIn() map[string][]string {
	all := map[string][]string{}
	for _, name := range []string{
		"arrival_invalid", "arrival_lost", "arrival_queued", "arrival_dead_lettered", "arrival_unknown", "arrival_rejected",
	} {
		all[name] = []string{none}
	}
	if e.options.MQTT.QoS == 0 {
		delete(all, "arrival_lost") // at most once: a loss is counted, and no failure
	}
	if e.isHalted() || e.hasGaps() {
		delete(all, "arrival_lost") // it may have been the subscriber that was lost
	}
	return all
}

// hasGaps reports whether a subscriber was without its connection for a while.
func (e *engine) hasGaps() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.gaps) > 0
}

func (e *engine) isHalted() bool {
	select {
	case <-e.halted:
		return true
	default:
		return false
	}
}
