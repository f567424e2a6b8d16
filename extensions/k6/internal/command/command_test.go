package command

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
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

// slo is a limit on the share of deliveries in time, of which this many per cent were.
func slo(percent float64) report.Rule {
	return report.Rule{Name: "arrival_within_250ms", Value: &percent, Op: ">=", Limit: new(99.0), Unit: "%",
		OK: new(percent >= 99), Result: report.Fail}
}

// doubted is a run that passes though a subscriber lost its connection.
func doubted(direction string) *report.Run {
	return &report.Run{Verdict: report.Verdict{Result: report.Pass, Rules: []report.Rule{{Name: "gaps", OK: new(false),
		Result: report.Doubtful, Doubts: []report.Doubt{{Claim: report.ArrivalClaim, Direction: direction}}}}}}
}

func TestAnUndecidedLimitIsNoPass(t *testing.T) {
	t.Parallel()
	r := &report.Run{Verdict: report.Verdict{Result: report.Pass, Rules: []report.Rule{{Name: report.P99Rule,
		Limit: new(250.0), Op: "<", Undecided: true, Result: report.Fail}}}}
	result, lines := verdict(r, nil)
	assert.Equal(t, report.Invalid, result)
	assert.Regexp(t, `^undecided +arrival_p99 < 250`, lines[0])
}

func TestADoubtThatDecidesNothingIsSaid(t *testing.T) {
	t.Parallel()
	result, lines := verdict(doubted(report.TooHigh), nil)
	assert.Equal(t, report.Pass, result)
	assert.Regexp(t, `^in doubt +gaps`, lines[0])
}

// Arrivals that are too late make the share in time too low, so one that is high enough is.
func TestAnAdditionalLimitIsUndecidedWhereTheDoubtDecidesIt(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		direction string
		percent   float64
		result    string
	}{
		{report.TooHigh, 99.5, report.Pass}, {report.TooHigh, 98, report.Invalid},
		{report.TooLow, 99.5, report.Invalid}, {report.TooLow, 98, report.Fail},
		{report.Either, 99.5, report.Invalid}, {report.Either, 98, report.Invalid},
	} {
		r := doubted(row.direction)
		result, _ := verdict(r, []report.Rule{judge.Limit(r, slo(row.percent))})
		assert.Equal(t, row.result, result, "%s, %v %%", row.direction, row.percent)
	}
	sure := &report.Run{Verdict: report.Verdict{Result: report.Pass, Rules: []report.Rule{{OK: new(true)}}}}
	assert.Equal(t, slo(98), judge.Limit(sure, slo(98)))
}

func TestABrokenAdditionalLimitOutranksAnUndecidedOne(t *testing.T) {
	t.Parallel()
	r := &report.Run{Verdict: report.Verdict{Result: report.Invalid, Rules: []report.Rule{{Name: report.P99Rule,
		Limit: new(250.0), Op: "<", Undecided: true, Result: report.Fail}}}}
	result, _ := verdict(r, []report.Rule{slo(98)})
	assert.Equal(t, report.Fail, result)
	r.Verdict.Rules[0] = report.Rule{Name: "balanced", OK: new(false), Result: report.Invalid}
	result, _ = verdict(r, []report.Rule{slo(98)})
	assert.Equal(t, report.Invalid, result, "everything is in doubt")
}
