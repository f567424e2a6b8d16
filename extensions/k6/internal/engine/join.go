package engine

import (
	"context"
	"fmt"
	"time"

	"go.k6.io/k6/v2/lib"
	"golang.org/x/net/http/httpproxy"

	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// strandedMost is after how many consecutive looks a run that nobody can begin is given up. VUs of scenarios that begin
// at the same time are not active at the same moment.
const strandedMost = 30

// awaitStart waits until the run begins or the VU stops. An error says that it can never begin.
func (e *Engine) awaitStart(ctx context.Context) error {
	if schedule.IsClosed(e.Started) {
		return nil
	}
	e.waiting.Add(1)
	defer e.waiting.Add(-1)
	looks := time.NewTicker(5 * look)
	defer looks.Stop()
	test := lib.GetExecutionState(ctx)
	for stranded := 0; stranded < strandedMost; {
		select {
		case <-e.Started:
			return nil
		case <-ctx.Done():
			return nil
		case <-looks.C:
			if stranded++; !e.stranded(test) {
				stranded = 0
			}
		}
	}
	scenarios := []string{}
	for _, scenario := range test.Test.Options.Scenarios.GetSortedConfigs() {
		scenarios = append(scenarios, fmt.Sprintf("%s: %s()", scenario.GetName(), scenario.GetExec()))
	}
	return uncollectedBy(scenarios)
}

// stranded reports whether all VUs of a test wait for the run to begin, and k6 adds no more. test may be nil.
func (e *Engine) stranded(test *lib.ExecutionState) bool {
	if test == nil || e.life.now().begun || e.waiting.Load() < test.GetCurrentlyActiveVUsCount() {
		return false
	}
	for _, scenario := range test.Test.Options.Scenarios {
		planned := uint64(0)
		for _, step := range scenario.GetExecutionRequirements(test.ExecutionTuple) {
			if step.PlannedVUs > planned &&
				test.GetCurrentTestRunDuration() <= scenario.GetStartTime()+step.TimeOffset {
				return false
			}
			planned = step.PlannedVUs
		}
	}
	return true
}

// Join waits until the run begins, for a VU that sends. A native one sends by itself, as run.send() and run.pump() do; the
// others make their own requests. It returns false if the run has not begun when the VU stops, and an error if the test
// can't go on: k6's execution segment differs from the run's, so the subscriber may be missing, no VU is left to collect,
// or the native sender can't do what k6's options say.
func (e *Engine) Join(ctx context.Context, k6 lib.Options, native bool) (begun bool, err error) {
	if !native {
		e.parts.Scripted.Store(true)
	}
	e.attended.note()
	if native {
		if err := e.options.checkSender(k6, httpproxy.FromEnvironment()); err != nil {
			return false, err
		}
	}
	if err := e.segment.InEffect(k6); err != nil {
		return false, err
	}
	if err := e.awaitStart(ctx); err != nil {
		return false, err
	}
	return schedule.IsClosed(e.Started), nil
}

// Await counts a VU that does not send among those that wait for the run to begin, until it begins, ends, or ctx is over.
func (e *Engine) Await(ctx context.Context) {
	e.waiting.Add(1)
	go func() {
		select {
		case <-e.Started:
		case <-ctx.Done():
		case <-e.consumers.over:
		}
		e.waiting.Add(-1)
	}()
}
