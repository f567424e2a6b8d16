package engine

import (
	"context"
	"fmt"
	"time"

	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// attendMost is how long after the start of its scenario a sender may take to call run.send(), run.pump() or
// run.next().
const attendMost = time.Second

// awaitSenders waits for the first sender of an open load, if k6 begins a scenario later (startTime): the times of
// requests are due from the start of the run on. It refuses a load that would outlast its own scenario.
func (e *Engine) awaitSenders(ctx context.Context) error {
	test, own := e.test.Load(), lib.GetScenarioState(ctx)
	if test == nil || own == nil || test.Test == nil || e.external != nil || e.Pacer.Closed() {
		return nil
	}
	scenarios := test.Test.Options.Scenarios
	var last lib.ExecutorConfig
	for name, scenario := range scenarios {
		if name != own.Name && (last == nil || scenario.GetStartTime() > last.GetStartTime()) {
			last = scenario
		}
	}
	if last == nil {
		return nil
	}
	wait := last.GetStartTime() - test.GetCurrentTestRunDuration()
	if wait <= 0 || e.attendedWithin(ctx, min(wait, attendMost)) { // it is another scenario that begins later
		return nil
	}
	if mine := scenarios[own.Name]; mine != nil {
		end, _ := lib.GetEndOffset(mine.GetExecutionRequirements(test.ExecutionTuple))
		needed := last.GetStartTime() + e.options.profile.Duration() + e.options.Drain.duration()
		if end += mine.GetStartTime(); end < needed {
			return fmt.Errorf("scenario %q begins after %.0f s (startTime), so the run takes up to %.0f s, and scenario "+
				"%q, which collects, ends after %.0f s: begin earlier, or give it a longer maxDuration",
				last.GetName(), last.GetStartTime().Seconds(), needed.Seconds(), own.Name, end.Seconds())
		}
	}
	e.attendedWithin(ctx, last.GetStartTime()-test.GetCurrentTestRunDuration()+attendMost)
	return nil
}

// attendedWithin waits for the first sender, and reports whether one has come.
func (e *Engine) attendedWithin(ctx context.Context, d time.Duration) bool {
	clock.SleepUntil(ctx, e.attended.c, time.Now().Add(d))
	return schedule.IsClosed(e.attended.c)
}
