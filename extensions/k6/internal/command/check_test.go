package command

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Regression: an additional limit counted as one of the run's own, so a run without rules passed.
func TestAnAdditionalLimitDoesNotJudgeTheRest(t *testing.T) {
	t.Parallel()
	limit := 99.0
	held := runfile.Rule{Name: "arrival_within_250ms", Value: &limit, Op: ">=", Limit: &limit, Unit: "%", OK: new(true),
		Result: runfile.Fail}
	r := &runfile.Run{Verdict: runfile.Verdict{Result: runfile.Pass}}
	result, lines := verdict(r, []runfile.Rule{held}, nil)
	assert.Equal(t, runfile.Incomplete, result)
	assert.Len(t, lines, 1)

	r.Verdict.Rules = []runfile.Rule{{Name: "balanced", OK: new(true), Result: runfile.Invalid}}
	result, _ = verdict(r, []runfile.Rule{held}, nil)
	assert.Equal(t, runfile.Pass, result)
	broken := held
	broken.OK = new(false)
	result, _ = verdict(r, []runfile.Rule{broken}, nil)
	assert.Equal(t, runfile.Fail, result)
}

// timely is a run of 1,000 deliveries, of which this many per cent arrived in time.
func timely(r *runfile.Run, percent float64) *runfile.Run {
	var s ledger.Series
	s.AddMany(10_000, int(10*percent))
	s.AddMany(500_000, 1000-int(10*percent))
	r.Latency.Arrival, r.Run.Ended, r.Account.Balanced = runfile.NewLatency(&s, true), new("2026-11-21T10:00:00Z"), true
	return r
}

// slo is the rule of a threshold on the share in time.
func slo(t *testing.T, r *runfile.Run) runfile.Rule {
	t.Helper()
	threshold, err := judge.ParseThreshold("arrival.within(250ms) >= 99%")
	require.NoError(t, err)
	rule, err := threshold.Rule(r)
	require.NoError(t, err)
	return rule
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
	result, lines := verdict(r, nil, nil)
	assert.Equal(t, runfile.Invalid, result)
	assert.Regexp(t, `^undecided +arrival_p99 < 250`, lines[0])
}

func TestADoubtThatDecidesNothingIsSaid(t *testing.T) {
	t.Parallel()
	result, lines := verdict(doubted(runfile.TooHigh), nil, nil)
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
		r := timely(doubted(row.direction), row.percent)
		result, _ := verdict(r, []runfile.Rule{slo(t, r)}, nil)
		assert.Equal(t, row.result, result, "%s, %v %%", row.direction, row.percent)
	}
	sure := timely(&runfile.Run{}, 98)
	assert.Nil(t, slo(t, sure).DoubtedBy)
}

func TestABrokenAdditionalLimitOutranksAnUndecidedOne(t *testing.T) {
	t.Parallel()
	r := timely(&runfile.Run{Verdict: runfile.Verdict{Result: runfile.Invalid, Rules: []runfile.Rule{{
		Name: runfile.P99Rule, Limit: new(250.0), Op: "<", Undecided: true, Result: runfile.Fail}}}}, 98)
	result, _ := verdict(r, []runfile.Rule{slo(t, r)}, nil)
	assert.Equal(t, runfile.Fail, result)
	r.Verdict.Rules[0] = runfile.Rule{Name: "balanced", OK: new(false), Result: runfile.Invalid}
	result, _ = verdict(r, []runfile.Rule{slo(t, r)}, nil)
	assert.Equal(t, runfile.Invalid, result, "everything is in doubt")
}

func TestTheExitCodeIsThatOfTheGravestResult(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		code    int
		results []string
	}{
		{0, []string{runfile.Pass, runfile.Pass}}, {99, []string{runfile.Invalid, runfile.Fail, runfile.Pass}},
		{2, []string{runfile.Pass, runfile.Invalid}}, {2, []string{runfile.Incomplete, runfile.Pass}},
	} {
		assert.Equal(t, row.code, exitCode(row.results), "%v", row.results)
	}
}

// Regression: a gate could not tolerate 7 lost messages, as the run's own limit on them was judged too.
func TestAThresholdOnAnEndReplacesTheRunsOwn(t *testing.T) {
	t.Parallel()
	lost := runfile.Rule{Name: "lost", Value: new(7.0), Op: "<=", Limit: new(0.0), Unit: "messages", OK: new(false),
		Result: runfile.Fail, Reason: "lost: 7 of 100 messages"}
	finished := runfile.Rule{Name: "finished", OK: new(true), Result: runfile.Incomplete}
	failed := runfile.Rule{Name: runfile.FailedRequests, Value: new(7.0), Op: "<=", Limit: new(0.0), OK: new(false),
		Result: runfile.Fail, Reason: "7 of 100 requests got no 2xx"}
	for _, row := range []struct {
		rules      []runfile.Rule
		thresholds []string
		result     string
	}{
		{[]runfile.Rule{finished, lost}, nil, runfile.Fail},
		{[]runfile.Rule{finished, lost}, []string{"account.lost < 10"}, runfile.Pass},
		{[]runfile.Rule{finished, lost}, []string{"account.lost < 7"}, runfile.Fail},
		{[]runfile.Rule{finished, lost}, []string{"account.lost == 0"}, runfile.Fail},
		{[]runfile.Rule{finished, lost}, []string{"account.rejected < 10"}, runfile.Fail},
		{[]runfile.Rule{finished, lost, failed}, []string{"account.lost < 10"}, runfile.Fail},
		{[]runfile.Rule{finished, lost, failed}, []string{"account.lost < 10", "account.requests_failed < 10"}, runfile.Pass},
		{[]runfile.Rule{{Name: "finished", OK: new(false), Result: runfile.Incomplete}, lost},
			[]string{"account.lost < 10"}, runfile.Incomplete},
	} {
		r := &runfile.Run{Verdict: runfile.Verdict{Result: runfile.Fail, Rules: row.rules}}
		if row.rules[0].IsBroken() {
			r.Verdict.Result = runfile.Incomplete
		}
		r.Run.Ended, r.Account.Balanced = new("2026-11-21T10:00:00Z"), true
		r.Account.Lost, r.Account.Requests.Failed = 7, 7
		thresholds, err := parseThresholds(row.thresholds)
		require.NoError(t, err)
		result, lines, err := judged(r, thresholds)
		require.NoError(t, err)
		assert.Equal(t, row.result, result, "%v: %v", row.thresholds, lines)
		if len(row.thresholds) > 0 && row.thresholds[0] == "account.lost < 10" {
			assert.Contains(t, lines, "replaced    lost ≤ 0 messages, by account.lost < 10")
		}
	}
	// A run whose result has another reason keeps it: an instance of a merged one was cut off.
	r := &runfile.Run{Verdict: runfile.Verdict{Result: runfile.Incomplete, Rules: []runfile.Rule{finished, lost}}}
	r.Run.Ended = new("2026-11-21T10:00:00Z")
	assert.Equal(t, runfile.Incomplete, judge.Without(r, []string{"lost"}))
}
