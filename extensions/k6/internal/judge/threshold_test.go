package judge

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

func ruleOf(t *testing.T, text string, r *runfile.Run) runfile.Rule {
	t.Helper()
	threshold, err := ParseThreshold(text)
	require.NoError(t, err, text)
	rule, err := threshold.Rule(r)
	require.NoError(t, err, text)
	return rule
}

func goldenOf(t *testing.T, name string) *runfile.Run {
	t.Helper()
	text, err := os.ReadFile("../../../../reports/testdata/" + name + ".json")
	require.NoError(t, err)
	r := &runfile.Run{}
	require.NoError(t, json.Unmarshal(text, r))
	return r
}

// timely is a run of 1,000 deliveries, of which so many arrived after 10 ms, and the others after 500 ms.
func timely(inTime int) *runfile.Run {
	var s ledger.Series
	s.AddMany(10_000, inTime)
	s.AddMany(500_000, 1000-inTime)
	r := &runfile.Run{Latency: runfile.Latencies{Arrival: runfile.NewLatency(&s, true)}}
	r.Run.Ended, r.Account.Balanced, r.Verdict.Result = new("2026-11-21T10:00:00Z"), true, runfile.Pass
	return r
}

func TestAThresholdSaysWhatMustHold(t *testing.T) {
	t.Parallel()
	r := goldenOf(t, "passing")
	p50, p99 := *r.Latency.Arrival.P50, *r.Latency.Arrival.P99
	for text, want := range map[string]struct {
		value float64
		held  bool
	}{
		"arrival.p99 < 250ms": {p99, true}, "arrival.p99>5000 ms": {p99, false}, "  arrival.p50 <= 250": {p50, true},
		"from_send.p999 < 1000ms": {*r.Latency.FromSend.P999, true}, "http.mean > 1000ms": {*r.Latency.HTTP.Mean, false},
		"queue.max >= 0ms": {*r.Latency.Stages["queue"].Max, true}, "canary.min >= 0ms": {*r.Canary.Latency.Min, true},
		"account.lost == 0": {0, true}, "account.scheduled != 0": {89_300, true}, "account.duplicates <= 3": {0, true},
		"account.arrived < 1": {89_300, false},
	} {
		rule := ruleOf(t, text, r)
		require.NotNil(t, rule.Value, text)
		assert.InDelta(t, want.value, *rule.Value, 1e-9, text)
		assert.Equal(t, want.held, *rule.OK, text)
		assert.Equal(t, want.held, rule.Reason == "", text)
	}
	rate := ruleOf(t, "rate.arrived >= 1 /s", r)
	assert.True(t, *rate.OK)
	assert.Regexp(t, `^rate\.arrived ≥ 1 deliveries/s: [\d,.]+ deliveries/s$`, rate.Measured())
	assert.Regexp(t, `^arrival_p99 < 250 ms: [\d.]+ ms$`, ruleOf(t, "arrival.p99 < 250ms", r).Measured())
}

func TestAThresholdOnAStageBySpansIsJudged(t *testing.T) {
	t.Parallel()
	r := timely(1000)
	r.Spans = &runfile.Spans{Stages: []runfile.SpansStage{{From: "queued", To: "claimed", P50: new(4.0)}},
		Arrival: runfile.SpansStage{From: "due", To: "arrived", Mean: new(9.0)}}
	assert.True(t, *ruleOf(t, "spans.queued-claimed.p50 < 5ms", r).OK)
	assert.False(t, *ruleOf(t, "spans.due-arrived.mean < 9ms", r).OK)
}

func TestAShareInTimeIsJudgedByTheHistogram(t *testing.T) {
	t.Parallel()
	r := timely(999)
	for text, held := range map[string]bool{
		"arrival.within(250ms) >= 99.9%": true, "arrival.within(250ms) > 99.9%": false, "arrival.within(9ms) >= 1%": false,
		"arrival.within( 1 s ) >= 100%": true,
	} {
		assert.Equal(t, held, *ruleOf(t, text, r).OK, text)
	}
	assert.Equal(t, "arrival within 250ms 99.9 %, limit ≥ 99.95 %",
		ruleOf(t, "arrival.within(250ms) >= 99.95%", r).Broken())
	assert.InDelta(t, 1.0, *r.Latency.Arrival.Within(1e9), 0)
}

// Regression: 949 of 1,000 are 94.89999999999999 % in binary, so the limit did not hold.
func TestAShareThatEqualsTheLimitHolds(t *testing.T) {
	t.Parallel()
	r := timely(949)
	assert.True(t, *ruleOf(t, "arrival.within(250ms) >= 94.9%", r).OK)
	assert.False(t, *ruleOf(t, "arrival.within(250ms) > 94.9%", r).OK)
}

// Regression: all wrong forms had one text.
func TestAMalformedThresholdIsRefusedWithTheColumnOfItsFault(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "column 1: there is no figure; allowed: a figure like arrival.p99",
		"arrival.p77 < 1":                "column 1: arrival has no p77; allowed: arrival.max, arrival.mean",
		"arrival > 3":                    "column 1: arrival is not a single figure; allowed: ",
		"  Speed > 3":                    "column 3: Speed is not a figure of a run; allowed: arrival.p99",
		"account.missing == 0":           "column 1: account has no missing; allowed: account.altered",
		"rate.sent > 3":                  "column 1: rate has no sent; allowed: rate.accepted, rate.arrived, rate.requests",
		"spans.claimed.mean < 9":         "column 1: spans has no claimed.mean; allowed: spans.queued-claimed.max",
		"toString < 1":                   "column 1: toString is not a figure",
		"arrival.p99 ~ 4":                `column 13: "~" is not a comparison; allowed: < <= > >= == !=`,
		"arrival.p99":                    "column 12: there is no comparison",
		"arrival.p99 < fast":             `column 15: "fast" is not a number; allowed: 250ms`,
		"arrival.p99 < +10%":             "column 15: a limit with a sign is a difference, and one run has none",
		"arrival.p99 < 10%":              "column 17: % is not the unit of arrival.p99; allowed: ms",
		"arrival.p99 < 10ms or so":       `column 20: "or" is not expected here; allowed: nothing more`,
		"account.lost < 10ms":            "column 18: ms is not the unit of account.lost; allowed: a number without a unit",
		"account.lost < 0.5":             "column 16: account.lost is a count; allowed: a whole number",
		"arrival.within(250ms)":          "column 22: there is no comparison; allowed: > >=",
		"arrival.within(250ms) < 99%":    `column 23: "<" does not ask for enough deliveries in time; allowed: > >=`,
		"arrival.within(250ms) >= 0.9":   "column 29: a share is in %; allowed: 99.9%",
		"arrival.within(250ms) >= 9ms":   "column 27: ms is not the unit of arrival.within(250ms); allowed: %",
		"arrival.within(250ms) >= 101%":  "column 26: a share outside 0 to 100 %",
		"arrival.within(250ms) >= -1%":   "a limit with a sign",
		"arrival.within(250ms) >= many%": `"many%" is not a number`,
		"arrival.within(250) >= 99%":     "column 1: arrival.within(250) has no unit",
		"arrival.within(250min) >= 99%":  `has the unit "min"`,
		"arrival.within(ms) >= 99%":      "has no number",
		"arrival.within(0ms) > 1%":       "is below 1 us",
		"arrival.within(1.2.3ms) > 1%":   "is not a number",
		"arrival.within() > 1%":          "has no number",
	} {
		_, err := ParseThreshold(text)
		require.ErrorContains(t, err, want, text)
		assert.Equal(t, 1, strings.Count(err.Error(), "allowed: "), text)
	}
}

func TestAThresholdOnAStageThatTheRunDoesNotHaveIsRefused(t *testing.T) {
	t.Parallel()
	threshold, err := ParseThreshold("outbox.mean < 9ms")
	require.NoError(t, err)
	_, err = threshold.Rule(goldenOf(t, "passing"))
	assert.ErrorContains(t, err,
		`"outbox.mean < 9ms": the run has no outbox; allowed: arrival, from_send, http, canary, schedule,`)
	_, err = threshold.Rule(goldenOf(t, "own-stages"))
	assert.NoError(t, err)
}

func TestAThresholdThatCannotBeJudgedSaysWhy(t *testing.T) {
	t.Parallel()
	latency, count := "arrival.p99 < 250ms", "account.lost == 0"
	for why, run := range map[string]func(r *runfile.Run){
		"the run has not ended":        func(r *runfile.Run) { r.Run.Ended = nil },
		"the account does not balance": func(r *runfile.Run) { r.Account.Balanced = false },
	} {
		r := timely(1000)
		run(r)
		for _, text := range []string{latency, count} {
			rule := ruleOf(t, text, r)
			assert.True(t, rule.Open(), text)
			assert.Equal(t, why, rule.Reason, text)
		}
	}
	few := timely(1000)
	few.Latency.Arrival.Count = 99
	assert.Equal(t, "too few samples", ruleOf(t, latency, few).Reason)
}

// What did not arrive is counted exactly, however late the generator was.
func TestOfAnInvalidRunOnlyCountsAreJudged(t *testing.T) {
	t.Parallel()
	r := timely(1000)
	r.Verdict.Result, r.Account.Lost = runfile.Invalid, 1
	latency := ruleOf(t, "arrival.p99 < 250ms", r)
	assert.True(t, latency.Open())
	assert.Equal(t, "the run is invalid", latency.Reason)
	assert.False(t, *ruleOf(t, "account.lost == 0", r).OK, "the loss counts")
}

func TestAThresholdOnAFigureInDoubtIsUndecidedUnlessItsReadingsAgree(t *testing.T) {
	t.Parallel()
	r := timely(1000)
	r.Verdict.Rules = []runfile.Rule{{Name: "gaps", OK: new(false), Result: runfile.Doubtful,
		Doubts: []runfile.Doubt{{Claim: runfile.ArrivalClaim, Direction: runfile.TooHigh}}}}
	assert.True(t, *ruleOf(t, "arrival.mean < 250ms", r).OK, "it is no higher")
	assert.True(t, ruleOf(t, "arrival.mean < 5ms", r).Undecided)
	assert.True(t, ruleOf(t, "from_send.p99 < 5ms", withFromSend(r)).Undecided)
	assert.Nil(t, ruleOf(t, "http.p99 < 5ms", r).DoubtedBy, "requests are in no doubt")
	assert.False(t, *ruleOf(t, "account.arrived > 0", r).OK)
}

// The reader's connection was lost: what is lost may be its own loss, and nothing lost may be luck.
func TestALossThatMayBeTheSubscribersIsUndecided(t *testing.T) {
	t.Parallel()
	for _, lost := range []int{3, 0} {
		r := timely(1000)
		r.Account.Lost = lost
		r.Verdict.Rules = []runfile.Rule{{Name: "gaps", OK: new(false), Result: runfile.Doubtful,
			Doubts: []runfile.Doubt{{Claim: runfile.AccountClaim, Direction: runfile.Either}}}}
		assert.True(t, ruleOf(t, "account.lost == 0", r).Undecided, lost)
		assert.True(t, *ruleOf(t, "account.queued == 0", r).OK, "it is counted exactly")
	}
}

func withFromSend(r *runfile.Run) *runfile.Run {
	r.Latency.FromSend = r.Latency.Arrival
	return r
}
