package arrival

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// Regression: a summary before the end of the test put incomplete counts into the last report.
func TestSummaryIsRefusedBeforeTheEndOfTheTest(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, twenty, "")
	s.run()
	test := inTest(t, s)
	test.SetExecutionStatus(lib.ExecutionStatusTeardown)
	s.module.root.concluded.Store(false)
	_, err := s.runtime.VU.Runtime().RunString(`run.summary({})`)
	assert.ErrorContains(t, err, "handleSummary")
	assert.False(t, s.module.root.concluded.Load())
	test.SetExecutionStatus(lib.ExecutionStatusEnded)
	_, err = s.runtime.VU.Runtime().RunString(`run.summary({})`)
	require.NoError(t, err)
	assert.True(t, s.module.root.concluded.Load())
}

// inTest attaches a script to a k6 test and returns the test's state.
func inTest(t *testing.T, s *script) *lib.ExecutionState {
	t.Helper()
	whole, err := lib.NewExecutionTuple(nil, nil)
	require.NoError(t, err)
	before := &lib.TestPreInitState{TestStatus: lib.NewTestStatus()}
	test := lib.NewExecutionState(&lib.TestRunState{TestPreInitState: before}, whole, 1, 1)
	s.module.root.engine.judging.Begin(nil, test)
	return test
}

// Regression: k6 exited with 110, but run.json said pass.
func TestARunFailsIfTheScriptMarkedTheTestFailed(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, twenty, "")
	s.run()
	test := inTest(t, s)
	test.SetExecutionStatus(lib.ExecutionStatusEnded)
	broken := func() bool {
		_, err := s.runtime.VU.Runtime().RunString(`run.summary({})`)
		require.NoError(t, err)
		return slices.ContainsFunc(s.written().Verdict.Rules,
			func(r report.Rule) bool { return r.Name == "script" && !*r.OK })
	}
	assert.False(t, broken())
	test.Test.TestStatus.MarkFailed()
	assert.True(t, broken())
	assert.NotEqual(t, report.Pass, s.written().Verdict.Result)
	test = inTest(t, s)
	test.SetExecutionStatus(lib.ExecutionStatusEnded)
	s.module.root.engine.judging.Mark(test.Test.TestStatus, nil, false)
	assert.True(t, test.Test.TestStatus.Failed())
	assert.False(t, broken(), "the run itself marked the test as failed")
}
