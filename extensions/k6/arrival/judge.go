package arrival

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// lateFloor is the lateness of a request up to which it is the operating system's.
const lateFloor = 2 * time.Millisecond

// judge gives a report its verdict. ran is how long a run has lasted that is not finished.
func (e *engine) judge(r *report.Run, ran time.Duration) report.Verdict {
	e.mu.Lock()
	defer e.mu.Unlock()
	limits, replaced := e.limits.judge(e.asked, e.builtIn())
	if e.failedByScript {
		limits = append(limits, report.Rule{
			Name: "script", OK: new(false), Result: report.Fail, Reason: "the script marked the test as failed (test.fail() of k6/execution)",
		})
	}
	return judge.Of(judge.Evidence{
		Run: r, CutOff: "the run was " + report.CutOff(ran, e.planned()), Doubts: e.doubts, Limits: limits, Replaced: replaced,
		Cores: runtime.GOMAXPROCS(0), Unattended: e.unattended.Load(), AtMostOnce: e.options.MQTT.QoS == 0, Halted: e.isHalted(),
	})
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

// planned is how long the load is to last; 0: what is under test decides.
func (e *engine) planned() time.Duration {
	p := e.options.profile
	if slices.ContainsFunc(p.Phases, func(ph profile.Phase) bool { return ph.Requests > 0 || ph.Drain > 0 }) {
		return 0
	}
	return p.Duration()
}

// values are the module's metrics but arrival_latency, when the run has ended.
func (e *engine) values() map[string]float64 {
	a := e.ledger.Final()
	values := map[string]float64{"arrival_p99": unmeasured}
	for name, n := range map[string]int{
		"scheduled": a.Scheduled, "dropped": a.Dropped, "rejected": a.Rejected, "unknown": a.Unknown, "arrived": a.Arrived,
		"dead_lettered": a.DeadLettered, "queued": a.Queued, "lost": a.Lost, "duplicates": a.Duplicates,
		"reordered": a.Reordered, "negative": a.Negative,
	} {
		values["arrival_"+name] = float64(n)
	}
	if p99 := report.NewLatency(&e.measured().Arrival, false).P99; p99 != nil {
		values["arrival_p99"] = *p99
	}
	return values
}

// end judges what this module has measured, and hands it to k6, so that a script's thresholds see it.
func (m *runMetrics) end(ctx context.Context, state *lib.State, e *engine) {
	values := e.values()
	e.mu.Lock()
	own := limits{own: maps.Clone(values), duration: e.testDuration()} // another VU may ask for the run's result meanwhile
	e.limits = own
	e.mu.Unlock()
	verdict := e.report(false).Verdict
	values["arrival_invalid"] = 0
	for _, rule := range verdict.Rules {
		if rule.OK != nil && !*rule.OK && rule.Result == report.Invalid {
			values["arrival_invalid"]++
		}
	}
	now, tags := time.Now(), state.Tags.GetCurrentValues().Tags
	samples := make(metrics.Samples, 0, len(values))
	for name, v := range values {
		metric := m.counters[name]
		if name == "arrival_p99" {
			metric = m.p99
		}
		samples = append(samples, metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: metric, Tags: tags}, Time: now, Value: v,
		})
	}
	metrics.PushIfNotDone(ctx, state.Samples, samples)
	own.own = values
	if failed(verdict) && state.TestStatus != nil && !state.TestStatus.Failed() && !(m.judged && own.crossed(e.asked)) {
		e.marked = true
		state.TestStatus.MarkFailed()
	}
}

// failed reports whether a rule does not hold. What is not judged yet does not count.
func failed(v report.Verdict) bool {
	for _, rule := range v.Rules {
		if rule.OK != nil && !*rule.OK {
			return true
		}
	}
	return false
}

// crossed reports whether k6 will find a threshold on this module's metrics crossed, and so end with 99 by itself.
func (l limits) crossed(thresholds map[string]metrics.Thresholds) bool {
	for metric, all := range thresholds {
		for _, t := range all.Thresholds {
			if r := l.rule(metric, t.Source); r.OK != nil && !*r.OK {
				return true
			}
		}
	}
	return false
}

// conclude judges what k6 has measured. It is for when k6 counts no more.
func (e *engine) conclude(registry *metrics.Registry) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.limits.own == nil { // the run did not come to its end
		return
	}
	look := find(registry)
	e.limits.k6, e.limits.duration = look, e.testDuration()
	m := look("arrival_scheduled")
	e.limits.ingested = m != nil && !m.Sink.IsEmpty() // end() has pushed it
	e.failedByScript = !e.marked && e.execution != nil && e.execution.Test.TestStatus.Failed()
}

// testEnded reports whether k6 runs no function of the script any more but handleSummary.
func (e *engine) testEnded() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.execution == nil || e.execution.GetCurrentExecutionStatus() >= lib.ExecutionStatusEnded
}

func (e *engine) testDuration() time.Duration {
	if e.execution == nil { // no test of k6's: its run
		return max(0, e.ended.Sub(e.epoch))
	}
	return e.execution.GetCurrentTestRunDuration()
}

// builtIn are the thresholds that k6 is given for what every run is judged by, so that it ends with 99.
func (e *engine) builtIn() map[string][]string {
	all := map[string][]string{"arrival_invalid": {none}}
	for _, end := range accountEnds {
		all["arrival_"+end] = []string{none}
	}
	if e.options.MQTT.QoS > 0 { // at most once: a loss is counted, and no failure
		all["arrival_lost"] = []string{none}
	}
	return all
}

// hasGaps reports whether a subscriber was without its connection for a while.
func (e *engine) hasGaps() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.gaps) > 0
}

func (e *engine) isHalted() bool { return isClosed(e.halted) }
