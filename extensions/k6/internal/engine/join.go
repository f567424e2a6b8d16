package engine

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/lib"
	"golang.org/x/net/http/httpproxy"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// attendance is who has come to a run: its senders, and the VUs that wait for it to begin.
type attendance struct {
	*schedule.Course // it says when the run has begun
	life             *life
	first            sync.Once
	come             chan struct{} // closed when the first sender has come
	waiting          atomic.Int64  // VUs that wait for the run to begin
}

// note records that a sender has come.
func (a *attendance) note() { a.first.Do(func() { close(a.come) }) }

// within waits for the first sender, and reports whether one has come.
func (a *attendance) within(ctx context.Context, d time.Duration) bool {
	clock.SleepUntil(ctx, a.come, time.Now().Add(d))
	return schedule.IsClosed(a.come)
}

// strandedMost is after how many consecutive looks a run that nobody can begin is given up. VUs of scenarios that begin
// at the same time are not active at the same moment.
const strandedMost = 30

// awaitStart waits until the run begins or the VU stops. An error says that it can never begin.
func (a *attendance) awaitStart(ctx context.Context) error {
	if schedule.IsClosed(a.Started) {
		return nil
	}
	a.waiting.Add(1)
	defer a.waiting.Add(-1)
	looks := time.NewTicker(5 * look)
	defer looks.Stop()
	test := lib.GetExecutionState(ctx)
	for stranded := 0; stranded < strandedMost; {
		select {
		case <-a.Started:
			return nil
		case <-ctx.Done():
			return nil
		case <-looks.C:
			if stranded++; !a.stranded(test) {
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
func (a *attendance) stranded(test *lib.ExecutionState) bool {
	if test == nil || a.life.now().begun || a.waiting.Load() < test.GetCurrentlyActiveVUsCount() {
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

// Join waits until the run begins, for a VU that sends. A native one sends by itself, as run.send() and run.pump() do;
// the others make their own requests. It returns false if the run has not begun when the VU stops, and an error if the
// test can't go on: k6's execution segment differs from the run's, so the subscriber may be missing, no VU is left to
// collect, or the native sender can't do what k6's options say.
func (e *Engine) Join(ctx context.Context, k6 lib.Options, native bool) (begun bool, err error) {
	if !native {
		e.parts.Scripted.Store(true)
	}
	e.attendance.note()
	if native {
		if err := e.options.checkSender(k6, httpproxy.FromEnvironment()); err != nil {
			return false, err
		}
	}
	if err := e.segment.InEffect(k6); err != nil {
		return false, err
	}
	if err := e.attendance.awaitStart(ctx); err != nil {
		return false, err
	}
	return schedule.IsClosed(e.Started), nil
}

// Await counts a VU that does not send among those that wait for the run to begin, until it begins, ends, or ctx is
// over.
func (e *Engine) Await(ctx context.Context) {
	e.attendance.waiting.Add(1)
	go func() {
		select {
		case <-e.Started:
		case <-ctx.Done():
		case <-e.consumers.over:
		}
		e.attendance.waiting.Add(-1)
	}()
}
