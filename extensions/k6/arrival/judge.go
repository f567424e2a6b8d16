package arrival

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// judging is what a run is judged by that k6 knows: the script's thresholds, and how k6 sees the test.
type judging struct {
	mu             sync.Mutex
	asked          map[string]metrics.Thresholds // of k6's options
	limits         limits
	execution      *lib.ExecutionState // nil: there is no test of k6's
	marked         bool                // k6 was told that the test has failed
	failedByScript bool                // test.fail() of k6/execution
}

func (j *judging) begin(asked map[string]metrics.Thresholds, execution *lib.ExecutionState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked, j.execution = asked, execution
}

// rules are those that the script sets, and the ends of the account for which it has limits of its own.
func (j *judging) rules(builtIn map[string][]string) (rules []report.Rule, replaced []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	rules, replaced = j.limits.judge(j.asked, builtIn)
	if j.failedByScript {
		rules = append(rules, report.Rule{
			Name: "script", OK: new(false), Result: report.Fail, Reason: "the script marked the test as failed (test.fail() of k6/execution)",
		})
	}
	return rules, replaced
}

// measured takes what this module has measured of a run that lasted so long.
func (j *judging) measured(own map[string]float64, ran time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.limits = limits{own: maps.Clone(own), duration: j.lasted(ran)} // another VU may ask for the run's result meanwhile
}

// mark tells k6 that the test has failed, unless k6 will find so by itself.
func (j *judging) mark(test *lib.TestStatus, own map[string]float64, k6Judges bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	final := limits{own: own, duration: j.limits.duration}
	if test == nil || test.Failed() || k6Judges && final.crossed(j.asked) {
		return
	}
	j.marked = true
	test.MarkFailed()
}

// conclude judges what k6 has measured. It is for when k6 counts no more.
func (j *judging) conclude(registry *metrics.Registry, ran time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.limits.own == nil { // the run did not come to its end
		return
	}
	look := find(registry)
	j.limits.k6, j.limits.duration = look, j.lasted(ran)
	m := look("arrival_scheduled")
	j.limits.ingested = m != nil && !m.Sink.IsEmpty() // end() has pushed it
	j.failedByScript = !j.marked && j.execution != nil && j.execution.Test.TestStatus.Failed()
}

// testEnded reports whether k6 runs no function of the script any more but handleSummary.
func (j *judging) testEnded() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.execution == nil || j.execution.GetCurrentExecutionStatus() >= lib.ExecutionStatusEnded
}

// lasted is how long the test did, or the run, where there is no test of k6's.
func (j *judging) lasted(ran time.Duration) time.Duration {
	if j.execution == nil {
		return ran
	}
	return j.execution.GetCurrentTestRunDuration()
}

// judge gives a report its verdict. ran is how long a run has lasted that is not finished.
func (e *engine) judge(r *report.Run, doubts []string, ran time.Duration) report.Verdict {
	limits, replaced := e.judging.rules(e.builtIn())
	return judge.Of(judge.Evidence{
		Run: r, CutOff: "the run was " + report.CutOff(ran, e.planned()), Doubts: doubts, Limits: limits, Replaced: replaced,
		Cores: runtime.GOMAXPROCS(0), Unattended: e.open.Unattended(), AtMostOnce: e.options.MQTT.QoS == 0, Halted: e.IsHalted(),
	})
}

// measured merges the times of the measured phases.
func (e *engine) measured() *ledger.Times {
	total := ledger.NewTimes()
	for i, p := range e.options.profile.Phases {
		if p.Measured {
			total.Merge(e.Ledger.Times(i))
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
	a := e.Ledger.Final()
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
	e.judging.measured(values, e.lasted())
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
	if failed(verdict) {
		e.judging.mark(state.TestStatus, values, m.judged)
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

// lasted is how long the run did.
func (e *engine) lasted() time.Duration {
	ended, _ := e.life.now()
	return max(0, ended.Sub(e.Epoch))
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
