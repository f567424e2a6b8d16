package engine

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

// inTest attaches a script to a k6 test and returns the test's state.
func inTest(t *testing.T, s *script) *lib.ExecutionState {
	t.Helper()
	whole, err := lib.NewExecutionTuple(nil, nil)
	require.NoError(t, err)
	before := &lib.TestPreInitState{TestStatus: lib.NewTestStatus()}
	test := lib.NewExecutionState(&lib.TestRunState{TestPreInitState: before}, whole, 1, 1)
	s.engine.judging.Begin(nil, test)
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
		s.summary()
		return slices.ContainsFunc(s.written().Verdict.Rules,
			func(r runfile.Rule) bool { return r.Name == "script" && !*r.OK })
	}
	assert.False(t, broken())
	test.Test.TestStatus.MarkFailed()
	assert.True(t, broken())
	assert.NotEqual(t, runfile.Pass, s.written().Verdict.Result)
	test = inTest(t, s)
	test.SetExecutionStatus(lib.ExecutionStatusEnded)
	s.engine.judging.Mark(test.Test.TestStatus, nil, false)
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
	e := s.engine
	go sendAll(s)(t.Context(), e)
	require.NoError(t, e.collect(inScenario(t.Context()), s.state, s.metrics))
	test := inTest(t, s)
	e.judging.Begin(s.state.Options.Thresholds, test)
	test.SetExecutionStatus(lib.ExecutionStatusEnded)
	for _, name := range []string{"http_reqs", "arrival_scheduled"} { // as k6 does with the samples
		s.registry.Get(name).Sink.Add(metrics.Sample{Value: 20, Time: time.Now()})
	}
	told := e.Result(s.registry).Verdict
	s.summary()
	written := s.written().Verdict
	assert.Equal(t, written.Result, told.Result)
	i := slices.IndexFunc(told.Rules, func(r runfile.Rule) bool { return r.Name == "http_reqs" })
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, new(20.0), told.Rules[i].Value, "it is judged")
}
