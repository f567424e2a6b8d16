package engine

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/thresholds"
)

// judging are the thresholds of a run, and its figures for them.
type judging struct {
	thresholds.Judgement // k6's thresholds, and its results for them
	*schedule.Course     // what is due when, the ledger, and the clock
	options              *Options
	life                 *life
	within               *withins                           // limits on how many deliveries arrive in time
	test                 atomic.Pointer[lib.ExecutionState] // k6's; nil: not begun, or another program sends
	iterations           atomic.Pointer[iterations]         // at the end of collecting; nil: it goes on
}

func newJudging(e *Engine) *judging {
	return &judging{Course: e.Course, options: e.options, life: &e.life, within: &withins{known: map[string]within{}}}
}

func (j *judging) measured() *ledger.Times {
	total := ledger.NewTimes(len(j.options.stages))
	for i, p := range j.options.profile.Phases {
		if p.Measured {
			total.Merge(j.Ledger.Times(i))
		}
	}
	return total
}

// values returns the module's metrics at the end of the run, without arrival_latency.
func (j *judging) values() map[string]float64 {
	values, account := map[string]float64{"arrival_p99": thresholds.Unmeasured}, j.Ledger.Final()
	for _, count := range judge.Counts {
		values["arrival_"+count.Name] = float64(count.Of(account))
	}
	arrival := j.measured().Arrival
	if p99 := runfile.NewLatency(&arrival, false).P99; p99 != nil {
		values["arrival_p99"] = *p99
	}
	for name, within := range j.within.all() {
		values[name] = runfile.ShareWithin(arrival.Histogram, within.limit)
	}
	return values
}

func (j *judging) lasted() time.Duration {
	return max(0, j.life.now().ended.Sub(j.Epoch))
}

// builtIn are the thresholds that every run has. k6 gets them so that it ends with exit code 99.
func (j *judging) builtIn() map[string][]string {
	all := map[string][]string{"arrival_invalid": {thresholds.None}}
	for _, end := range thresholds.AccountEnds {
		all["arrival_"+end] = []string{thresholds.None}
	}
	if !j.options.from.AtMostOnce {
		for _, end := range ledger.JudgedCounts(ledger.Promised) {
			all["arrival_"+end.Name] = []string{thresholds.None}
		}
	}
	return all
}

// soFar returns the module's figures of a run in progress, those of arrivals once there are any.
func (j *judging) soFar() map[string]float64 {
	values := map[string]float64{}
	account := j.Ledger.Running(func() int { return j.Pacer.Due(j.Elapsed()) }).Account
	for _, count := range judge.Counts {
		values["arrival_"+count.Name] = float64(count.Of(account))
	}
	arrival := &j.measured().Arrival
	if arrival.Count == 0 {
		return values
	}
	if p99 := runfile.NewLatency(arrival, false).P99; p99 != nil {
		values["arrival_p99"] = *p99
	}
	for name, within := range j.within.all() {
		values[name] = runfile.ShareWithin(arrival.Histogram, within.limit)
	}
	return values
}

// iterated counts k6's iterations until the run has collected: those that began and ended, and those that completed.
func (j *judging) iterated() (begun, completed int) {
	if at := j.iterations.Load(); at != nil { // the subscriber's own iteration ends afterwards
		return at.begun, at.completed
	}
	test := j.test.Load()
	if test == nil {
		return 0, 0
	}
	completed = int(test.GetFullIterationCount())
	return completed + int(test.GetPartialIterationCount()), completed
}

// stopCounting fixes the counts of iterated.
func (j *judging) stopCounting() {
	begun, completed := j.iterated()
	j.iterations.Store(&iterations{begun, completed})
}

type iterations struct{ begun, completed int }

// conclude judges the module's metrics and pushes them to k6, for the script's thresholds.
func (v *vu) conclude(ctx context.Context, e *Engine) {
	values := e.judging.values()
	e.judging.Measured(values, e.judging.lasted())
	verdict := e.report(false).Verdict
	undecided := func(r runfile.Rule) bool { return r.Undecided || r.IsBroken() && r.Result == runfile.Invalid }
	values["arrival_invalid"] = 0
	for _, rule := range verdict.Rules {
		if undecided(rule) {
			values["arrival_invalid"]++
		}
	}
	samples := make(metrics.Samples, 0, len(values))
	for name, value := range values {
		samples = append(samples, v.aborts.sample(v.state, v.metrics.own(e, name), value))
	}
	metrics.PushIfNotDone(ctx, v.state.Samples, samples)
	// Rules that are not judged yet do not count.
	if slices.ContainsFunc(verdict.Rules, func(r runfile.Rule) bool {
		return undecided(r) || r.IsBroken() && r.Result != runfile.Doubtful
	}) {
		e.judging.Mark(v.state.TestStatus, values, v.metrics.Judged)
	}
}
