package arrival

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// Regression: a summary before the end of the test put incomplete counts into the last report.
func TestSummaryIsRefusedBeforeTheEndOfTheTest(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, twenty, "")
	whole, err := lib.NewExecutionTuple(nil, nil)
	require.NoError(t, err)
	before := &lib.TestPreInitState{TestStatus: lib.NewTestStatus()}
	test := lib.NewExecutionState(&lib.TestRunState{TestPreInitState: before}, whole, 1, 1)
	s.runIn(lib.WithExecutionState(t.Context(), test))
	test.SetExecutionStatus(lib.ExecutionStatusTeardown)
	_, err = s.runtime.VU.Runtime().RunString(`run.summary({})`)
	assert.ErrorContains(t, err, "handleSummary")
	test.SetExecutionStatus(lib.ExecutionStatusEnded)
	_, err = s.runtime.VU.Runtime().RunString(
		`const { verdict } = run.result(); run.summary({}); var told = verdict.result;`)
	require.NoError(t, err)
	assert.Equal(t, s.written().Verdict.Result, s.runtime.VU.Runtime().Get("told").String())
}
