package thresholds

import (
	"maps"
	"slices"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Judgement judges a run by the script's thresholds and by the state of k6's test.
type Judgement struct {
	mu             sync.Mutex
	thresholds     map[string]metrics.Thresholds // as k6's options have them
	limits         limits
	execution      *lib.ExecutionState // nil without a test of k6
	marked         bool                // Mark has marked the test as failed in k6
	failedByScript bool                // by test.fail() of k6/execution
	aborting       []string            // metrics whose limits ended the test by abortOnFail
}

// Begin sets the thresholds of k6's options and the state of its test.
func (j *Judgement) Begin(thresholds map[string]metrics.Thresholds, execution *lib.ExecutionState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.thresholds, j.execution = thresholds, execution
}

// Rules returns the script's rules, and the ends of the account that it has thresholds for.
func (j *Judgement) Rules(builtIn map[string][]string) (rules []runfile.Rule, replaced []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	rules, replaced = j.limits.judge(j.thresholds, builtIn)
	if j.failedByScript {
		rules = append(rules, runfile.Rule{
			Name: "script", OK: new(false), Result: runfile.Fail,
			Reason: "the script marked the test as failed (test.fail() of k6/execution)",
		})
	}
	return rules, replaced
}

// Measured sets this module's figures after a run of length ran.
func (j *Judgement) Measured(own map[string]float64, ran time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	// another VU may ask for the run's result meanwhile
	j.limits = limits{own: maps.Clone(own), duration: j.lasted(ran)}
}

// Mark marks the test as failed in k6, unless k6 itself will.
func (j *Judgement) Mark(test *lib.TestStatus, own map[string]float64, k6Judges bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	final := limits{own: own, duration: j.limits.duration}
	if test == nil || test.Failed() || k6Judges && final.crossed(j.thresholds) {
		return
	}
	j.marked = true
	test.MarkFailed()
}

// Conclude judges k6's metrics. Call it when they are final.
func (j *Judgement) Conclude(registry *metrics.Registry, ran time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.limits.own == nil && len(j.aborting) == 0 { // the run did not end
		return
	}
	look := find(registry)
	j.limits.k6, j.limits.duration = look, j.lasted(ran)
	m := look("arrival_scheduled")
	j.limits.ingested = m != nil && !m.Sink.IsEmpty() // end() has pushed it
	j.failedByScript = !j.marked && j.execution != nil && j.execution.Test.TestStatus.Failed()
}

// TestEnded reports whether handleSummary is the only function that k6 still runs.
func (j *Judgement) TestEnded() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.execution == nil || j.execution.GetCurrentExecutionStatus() >= lib.ExecutionStatusEnded
}

// lasted is the length of the test, or of the run without a test of k6.
func (j *Judgement) lasted(ran time.Duration) time.Duration {
	if j.execution == nil {
		return ran
	}
	return j.execution.GetCurrentTestRunDuration()
}

// NoteAbort notes the limits with abortOnFail that ended the test. Call it when k6 has ended the test early: k6 sets
// the mark of such a metric before, and may set others when it judges all limits at the end.
func (j *Judgement) NoteAbort(registry *metrics.Registry) {
	if registry == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	look := find(registry)
	for _, name := range slices.Sorted(maps.Keys(j.thresholds)) {
		if m := look(name); m != nil && m.Thresholds.Abort {
			j.aborting = append(j.aborting, name)
		}
	}
}

// Aborted returns the broken limits with abortOnFail that ended the test, with their values once Conclude was called.
func (j *Judgement) Aborted() (ended []runfile.Rule) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, name := range j.aborting {
		var crossed, all []runfile.Rule
		for _, t := range j.thresholds[name].Thresholds {
			if !t.AbortOnFail {
				continue
			}
			rule := j.limits.rule(name, t.Source)
			if rule.IsBroken() {
				crossed = append(crossed, rule)
			}
			if rule.OK == nil {
				rule.OK, rule.Reason = new(false), rule.Broken()
			}
			all = append(all, rule)
		}
		if len(crossed) == 0 { // its figure has recovered since, or is not known yet
			crossed = all
		}
		ended = append(ended, crossed...)
	}
	return ended
}
