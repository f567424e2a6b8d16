package limits

import (
	"maps"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// Judging is what a run is judged by that k6 knows: the script's thresholds, and how k6 sees the test.
type Judging struct {
	mu             sync.Mutex
	asked          map[string]metrics.Thresholds // of k6's options
	limits         limits
	execution      *lib.ExecutionState // nil: there is no test of k6's
	marked         bool                // the test is marked as failed in k6
	failedByScript bool                // test.fail() of k6/execution
}

// Begin takes the thresholds of k6's options and the state of its test.
func (j *Judging) Begin(asked map[string]metrics.Thresholds, execution *lib.ExecutionState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked, j.execution = asked, execution
}

// Rules are those that the script sets, and the ends of the account for which it has limits of its own.
func (j *Judging) Rules(builtIn map[string][]string) (rules []report.Rule, replaced []string) {
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

// Measured takes what this module has measured of a run that lasted so long.
func (j *Judging) Measured(own map[string]float64, ran time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.limits = limits{own: maps.Clone(own), duration: j.lasted(ran)} // another VU may ask for the run's result meanwhile
}

// Mark marks the test as failed in k6, unless k6 will do so by itself.
func (j *Judging) Mark(test *lib.TestStatus, own map[string]float64, k6Judges bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	final := limits{own: own, duration: j.limits.duration}
	if test == nil || test.Failed() || k6Judges && final.crossed(j.asked) {
		return
	}
	j.marked = true
	test.MarkFailed()
}

// Conclude judges what k6 has measured. It is for when k6 counts no more.
func (j *Judging) Conclude(registry *metrics.Registry, ran time.Duration) {
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

// TestEnded reports whether k6 runs no function of the script any more but handleSummary.
func (j *Judging) TestEnded() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.execution == nil || j.execution.GetCurrentExecutionStatus() >= lib.ExecutionStatusEnded
}

// lasted is how long the test did, or the run, where there is no test of k6's.
func (j *Judging) lasted(ran time.Duration) time.Duration {
	if j.execution == nil {
		return ran
	}
	return j.execution.GetCurrentTestRunDuration()
}
