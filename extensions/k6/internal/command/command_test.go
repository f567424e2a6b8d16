package command

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// Regression: the rule of --slo counted as one of the run's own, so a run without rules passed.
func TestAnAdditionalLimitDoesNotJudgeTheRest(t *testing.T) {
	t.Parallel()
	limit := 99.0
	held := report.Rule{Name: "arrival_within_250ms", Value: &limit, Op: ">=", Limit: &limit, Unit: "%", OK: new(true),
		Result: report.Fail}
	r := &report.Run{Verdict: report.Verdict{Result: report.Pass}}
	result, lines := verdict(r, []report.Rule{held})
	assert.Equal(t, report.Incomplete, result)
	assert.Len(t, lines, 2)

	r.Verdict.Rules = []report.Rule{{Name: "balanced", OK: new(true), Result: report.Invalid}}
	result, _ = verdict(r, []report.Rule{held})
	assert.Equal(t, report.Pass, result)
	broken := held
	broken.OK = new(false)
	result, _ = verdict(r, []report.Rule{broken})
	assert.Equal(t, report.Fail, result)
}
