package arrival

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
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
			func(r runfile.Rule) bool { return r.Name == "script" && !*r.OK })
	}
	assert.False(t, broken())
	test.Test.TestStatus.MarkFailed()
	assert.True(t, broken())
	assert.NotEqual(t, runfile.Pass, s.written().Verdict.Result)
	test = inTest(t, s)
	test.SetExecutionStatus(lib.ExecutionStatusEnded)
	s.module.root.engine.judging.Mark(test.Test.TestStatus, nil, false)
	assert.True(t, test.Test.TestStatus.Failed())
	assert.False(t, broken(), "the run itself marked the test as failed")
}

// Regression: in handleSummary, limits on k6's metrics were not judged yet.
func TestTheResultInHandleSummaryIsThatOfTheReport(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, twenty, "")
	own := metrics.NewThresholds([]string{"count>0"})
	require.NoError(t, own.Parse())
	s.state.Options.Thresholds = map[string]metrics.Thresholds{"http_reqs": own}
	e := s.module.root.engine
	go sendAll(s)(t.Context(), e)
	require.NoError(t, e.collect(inScenario(t.Context()), s.state, s.module.metrics))
	test := inTest(t, s)
	e.judging.Begin(s.state.Options.Thresholds, test)
	test.SetExecutionStatus(lib.ExecutionStatusEnded)
	for _, name := range []string{"http_reqs", "arrival_scheduled"} { // as k6 does with the samples
		s.module.root.registry.Get(name).Sink.Add(metrics.Sample{Value: 20, Time: time.Now()})
	}
	out, err := s.runtime.VU.Runtime().RunString(`const { verdict } = run.result(); run.summary({});
		verdict.result + ' ' + verdict.rules.map(({ name, value }) => ` + "`${name} ${value}`" + `).join()`)
	require.NoError(t, err)
	written := s.written().Verdict
	assert.Contains(t, out.String(), written.Result+" ")
	assert.Regexp(t, "http_reqs 20(,|$)", out.String(), "it is judged")
}
