package arrival

import (
	"fmt"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
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

// joins waits until the run begins, and ends the test where that can't happen. It returns false if the VU has nothing to
// send. A native VU sends by itself, as run.send() and run.pump() do.
func (m *instance) joins(e *engine.Engine, native bool) bool {
	begun, err := e.Join(m.vu.Context(), m.vu.State().Options, native)
	if err != nil {
		m.abort(err)
	}
	return begun
}
