package command

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Regression: the rule of --slo counted as one of the run's own, so a run without rules passed.
func TestAnAdditionalLimitDoesNotJudgeTheRest(t *testing.T) {
	t.Parallel()
	limit := 99.0
	held := runfile.Rule{Name: "arrival_within_250ms", Value: &limit, Op: ">=", Limit: &limit, Unit: "%", OK: new(true),
		Result: runfile.Fail}
	r := &runfile.Run{Verdict: runfile.Verdict{Result: runfile.Pass}}
	result, lines := verdict(r, []runfile.Rule{held})
	assert.Equal(t, runfile.Incomplete, result)
	assert.Len(t, lines, 1)

	r.Verdict.Rules = []runfile.Rule{{Name: "balanced", OK: new(true), Result: runfile.Invalid}}
	result, _ = verdict(r, []runfile.Rule{held})
	assert.Equal(t, runfile.Pass, result)
	broken := held
	broken.OK = new(false)
	result, _ = verdict(r, []runfile.Rule{broken})
	assert.Equal(t, runfile.Fail, result)
}

// slo is a limit on the share of deliveries in time, of which this many per cent were.
func slo(percent float64) runfile.Rule {
	return runfile.Rule{Name: "arrival_within_250ms", Value: &percent, Op: ">=", Limit: new(99.0), Unit: "%",
		OK: new(percent >= 99), Result: runfile.Fail}
}

// doubted is a run that passes though a subscriber lost its connection.
func doubted(direction string) *runfile.Run {
	return &runfile.Run{Verdict: runfile.Verdict{Result: runfile.Pass, Rules: []runfile.Rule{{Name: "gaps", OK: new(false),
		Result: runfile.Doubtful, Doubts: []runfile.Doubt{{Claim: runfile.ArrivalClaim, Direction: direction}}}}}}
}

func TestAnUndecidedLimitIsNoPass(t *testing.T) {
	t.Parallel()
	r := &runfile.Run{Verdict: runfile.Verdict{Result: runfile.Pass, Rules: []runfile.Rule{{Name: runfile.P99Rule,
		Limit: new(250.0), Op: "<", Undecided: true, Result: runfile.Fail}}}}
	result, lines := verdict(r, nil)
	assert.Equal(t, runfile.Invalid, result)
	assert.Regexp(t, `^undecided +arrival_p99 < 250`, lines[0])
}

func TestADoubtThatDecidesNothingIsSaid(t *testing.T) {
	t.Parallel()
	result, lines := verdict(doubted(runfile.TooHigh), nil)
	assert.Equal(t, runfile.Pass, result)
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
		{runfile.TooHigh, 99.5, runfile.Pass}, {runfile.TooHigh, 98, runfile.Invalid},
		{runfile.TooLow, 99.5, runfile.Invalid}, {runfile.TooLow, 98, runfile.Fail},
		{runfile.Either, 99.5, runfile.Invalid}, {runfile.Either, 98, runfile.Invalid},
	} {
		r := doubted(row.direction)
		result, _ := verdict(r, []runfile.Rule{judge.Limit(r, slo(row.percent))})
		assert.Equal(t, row.result, result, "%s, %v %%", row.direction, row.percent)
	}
	sure := &runfile.Run{Verdict: runfile.Verdict{Result: runfile.Pass, Rules: []runfile.Rule{{OK: new(true)}}}}
	assert.Equal(t, slo(98), judge.Limit(sure, slo(98)))
}

func TestABrokenAdditionalLimitOutranksAnUndecidedOne(t *testing.T) {
	t.Parallel()
	r := &runfile.Run{Verdict: runfile.Verdict{Result: runfile.Invalid, Rules: []runfile.Rule{{Name: runfile.P99Rule,
		Limit: new(250.0), Op: "<", Undecided: true, Result: runfile.Fail}}}}
	result, _ := verdict(r, []runfile.Rule{slo(98)})
	assert.Equal(t, runfile.Fail, result)
	r.Verdict.Rules[0] = runfile.Rule{Name: "balanced", OK: new(false), Result: runfile.Invalid}
	result, _ = verdict(r, []runfile.Rule{slo(98)})
	assert.Equal(t, runfile.Invalid, result, "everything is in doubt")
}
