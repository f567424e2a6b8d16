package arrival

import (
	"context"
	"fmt"
	"time"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"golang.org/x/net/http/httpproxy"

	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// inScenario returns the state of a VU that runs a scenario's function, and throws elsewhere. In setup() and teardown()
// a call would wait for VUs that do not run.
func (m *instance) inScenario(call string) *lib.State {
	state := m.vu.State()
	if state == nil || lib.GetScenarioState(m.vu.Context()) == nil {
		common.Throw(m.vu.Runtime(), fmt.Errorf("%s is for a scenario's function: in the init context, setup(), "+
			"teardown() and handleSummary() there is no load", call))
	}
	return state
}

// begins waits until the run begins. It ends the test where that can't happen: k6's execution segment differs from the
// run's, so the subscriber may be missing, or no VU is left to collect.
func (m *instance) begins(e *engine) bool {
	e.attended.note()
	err := e.segment.InEffect(m.vu.State().Options)
	if err == nil {
		err = e.awaitStart(m.vu.Context())
	}
	if err != nil {
		m.abort(err)
	}
	return err == nil && schedule.IsClosed(e.Started)
}

// beginsSending is begins for the native sender, which ends the test where it can't do what k6's options say.
func (m *instance) beginsSending(e *engine) bool {
	e.attended.note()
	if err := e.options.checkSender(m.vu.State().Options, httpproxy.FromEnvironment()); err != nil {
		m.abort(err)
		return false
	}
	return m.begins(e)
}

// strandedMost is after how many consecutive looks a run that nobody can begin is given up. VUs of scenarios that begin
// at the same time are not active at the same moment.
const strandedMost = 30

// awaitStart waits until the run begins or the VU stops. An error says that it can never begin.
func (e *engine) awaitStart(ctx context.Context) error {
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
func (e *engine) stranded(test *lib.ExecutionState) bool {
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
