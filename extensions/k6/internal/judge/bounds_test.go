package judge

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// lateRun is a run of ten seconds in which each message took ms, and was sent late by as much as lateMS says of the
// second it was due in.
func lateRun(ms float64, lateMS ...float64) *runfile.Run {
	return run(func(r *runfile.Run) {
		r.Latency.Arrival = latency(ms)
		worst := 0.0
		for t := range 10 {
			late := lateMS[min(t, len(lateMS)-1)]
			worst = max(worst, late)
			r.Timeline = append(r.Timeline, runfile.Interval{T: t, LateMaxMS: &late,
				DueBins: []int64{ledger.BinOf(int64(ms * 1000)), 100}})
		}
		r.ArrivalBins = []int64{ledger.BinOf(int64(ms * 1000)), 1000}
		own := latency(worst)
		own.Max = &worst
		r.Health.Lateness = &own
	})
}

// p99Below is a limit on arrival p99, as limits judges it without a doubt.
func p99Below(limit, measured float64) runfile.Rule {
	r := runfile.Rule{Name: runfile.P99Rule, Value: &measured, Op: "<", Limit: &limit, Unit: "ms",
		OK: new(measured < limit), Result: runfile.Fail}
	if !*r.OK {
		r.Reason = r.Broken()
	}
	return r
}

func TestALimitThatHoldsWithTheLatenessInsideHolds(t *testing.T) {
	t.Parallel()
	v := Of(Evidence{Run: lateRun(29, 7.22), Limits: []runfile.Rule{p99Below(250, 29)}})
	assert.Equal(t, runfile.Pass, v.Result)
	assert.Empty(t, v.Reasons)
	require.Len(t, v.Doubts, 1)
	assert.Contains(t, v.Doubts[0], "lateness p99 7.22 ms of arrival p99 29.0 ms")
	rule := ruleNamed(t, v, runfile.P99Rule)
	assert.True(t, *rule.OK)
	assert.Equal(t, []string{"lateness"}, rule.DoubtedBy)
	assert.InDelta(t, 29, *rule.AtMost, 0)
	assert.InDelta(t, 14.56, *rule.AtLeast, 1e-9, "twice the lateness: senders overtake each other")
}

func TestALimitThatIsBrokenWithoutTheLatenessIsBroken(t *testing.T) {
	t.Parallel()
	v := Of(Evidence{Run: lateRun(4000, 300), Limits: []runfile.Rule{p99Below(250, 4000)}})
	assert.Equal(t, runfile.Fail, v.Result)
	assert.Contains(t, v.Reasons[0], "limit < 250 ms")
}

func TestALimitBetweenTheReadingsIsUndecided(t *testing.T) {
	t.Parallel()
	v := Of(Evidence{Run: lateRun(310, 300), Limits: []runfile.Rule{p99Below(250, 310)}})
	assert.Equal(t, runfile.Invalid, v.Result)
	rule := ruleNamed(t, v, runfile.P99Rule)
	assert.True(t, rule.Undecided)
	assert.Nil(t, rule.OK)
	assert.Contains(t, v.Reasons[0], "lateness p99 300 ms")
	assert.Contains(t, v.Reasons[1], "lies between 0 and 310 ms (lateness)")
}

// Regression: within the tolerance of 5 % a lateness of 2.4 ms made 55.5 ms of 50.
func TestALimitIsBrokenOnlyByMoreThanTheLateness(t *testing.T) {
	t.Parallel()
	v := Of(Evidence{Run: lateRun(55.5, 2), Limits: []runfile.Rule{p99Below(55, 55.5)}})
	assert.Equal(t, runfile.Invalid, v.Result)
	assert.Equal(t, runfile.Fail, Of(Evidence{Run: lateRun(60, 2), Limits: []runfile.Rule{p99Below(55, 60)}}).Result)
	assert.Empty(t, Of(Evidence{Run: lateRun(54, 2), Limits: []runfile.Rule{p99Below(55, 54)}}).Doubts)
}

func TestWithoutTheLatenessOfEachSecondNothingIsKnownFromBelow(t *testing.T) {
	t.Parallel()
	r := lateRun(4000, 300)
	r.Timeline[3].LateMaxMS, r.Timeline[3].Requests = nil, 100
	assert.Equal(t, runfile.Invalid, Of(Evidence{Run: r, Limits: []runfile.Rule{p99Below(250, 4000)}}).Result)
}

func TestAWaitInTheSocketIsTakenOffToo(t *testing.T) {
	t.Parallel()
	r := lateRun(310, 0.1)
	wait := latency(100)
	wait.Max = new(120.0)
	r.Health.SocketWait, r.Health.ArrivalStamps.Kernel = &wait, 1000
	assert.Equal(t, runfile.Invalid, Of(Evidence{Run: r, Limits: []runfile.Rule{p99Below(250, 310)}}).Result)
	assert.Equal(t, runfile.Fail, Of(Evidence{Run: r, Limits: []runfile.Rule{p99Below(150, 310)}}).Result)
	r.Health.ArrivalStamps.Read = 1
	assert.Equal(t, runfile.Invalid, Of(Evidence{Run: r, Limits: []runfile.Rule{p99Below(150, 310)}}).Result,
		"before the read it may have waited for longer")
}

// Regression: a generator that stood still for 300 ms read late too, within the tolerance of the rule, and the run
// failed.
func TestWhatPausedTheSendersMayHavePausedTheReader(t *testing.T) {
	t.Parallel()
	r := lateRun(320, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 300)
	wait := latency(10)
	wait.Max = new(80.0)
	r.Health.SocketWait, r.Health.ArrivalStamps.Kernel = &wait, 1000
	assert.Equal(t, runfile.Invalid, Of(Evidence{Run: r, Limits: []runfile.Rule{p99Below(250, 320)}}).Result)
	assert.Equal(t, runfile.Fail, Of(Evidence{Run: r, Limits: []runfile.Rule{p99Below(200, 320)}}).Result)
}

// Regression: a broken limit without a reading from below was undecided, though the generator was punctual.
func TestAFigureWithoutALowerReadingIsDecidedWhereTheGeneratorWasPunctual(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"spike_drain_s", "spike_p99_back_s", "soak_latency_drift_ms", "backlog_growth"} {
		limit := runfile.Rule{Name: name, Value: new(12.0), Op: "<", Limit: new(10.0), OK: new(false), Result: runfile.Fail}
		v := Of(Evidence{Run: lateRun(50, 0.1), Limits: []runfile.Rule{limit}})
		assert.Equal(t, runfile.Fail, v.Result, "%s: %s", name, v.Reasons)
	}
}

// Lateness before a burst makes a backlog and a p99 normal that are not.
func TestAChangeBetweenTwoTimesIsInDoubtBothWays(t *testing.T) {
	t.Parallel()
	for _, value := range []float64{2, 12} {
		limit := runfile.Rule{Name: "spike_drain_s", Value: &value, Op: "<", Limit: new(10.0), OK: new(value < 10),
			Result: runfile.Fail}
		v := Of(Evidence{Run: lateRun(50, 40), Limits: []runfile.Rule{limit}})
		assert.Equal(t, runfile.Invalid, v.Result, v.Reasons)
	}
}

func TestACountOfRequestsIsNoLatency(t *testing.T) {
	t.Parallel()
	limit := runfile.Rule{Name: "http_reqs count", Value: new(900.0), Op: ">=", Limit: new(1000.0), OK: new(false),
		Result: runfile.Fail}
	assert.Equal(t, runfile.Fail, Of(Evidence{Run: lateRun(50, 40), Limits: []runfile.Rule{limit}}).Result)
}

// One frozen second says nothing against the others.
func TestASecondInWhichTheGeneratorWasLateDoesNotExcuseTheOthers(t *testing.T) {
	t.Parallel()
	v := Of(Evidence{Run: lateRun(320, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 300),
		Limits: []runfile.Rule{p99Below(250, 320)}})
	assert.Equal(t, runfile.Fail, v.Result, v.Reasons)
}

func TestAShareInTimeIsReadTheOtherWayRound(t *testing.T) {
	t.Parallel()
	within := func(measured float64) runfile.Rule {
		return runfile.Rule{Name: "arrival_within_250ms", Value: &measured, Op: ">=", Limit: new(99.0), Unit: "%",
			OK: new(measured >= 99), Result: runfile.Fail}
	}
	assert.Equal(t, runfile.Pass, Of(Evidence{Run: lateRun(100, 80), Limits: []runfile.Rule{within(100)}}).Result)
	assert.Equal(t, runfile.Invalid, Of(Evidence{Run: lateRun(310, 300), Limits: []runfile.Rule{within(0)}}).Result)
	assert.Equal(t, runfile.Fail, Of(Evidence{Run: lateRun(4000, 300), Limits: []runfile.Rule{within(0)}}).Result)
}

func TestTheLatencyOfRequestsIsInDoubtBothWays(t *testing.T) {
	t.Parallel()
	http := func(measured float64) runfile.Verdict {
		return Of(Evidence{Run: lateRun(50, 15), Limits: []runfile.Rule{{Name: "http_req_duration p(95)", Value: &measured,
			Op: "<", Limit: new(100.0), Unit: "ms", OK: new(measured < 100), Result: runfile.Fail}}})
	}
	assert.Equal(t, runfile.Pass, http(60).Result)
	assert.Equal(t, runfile.Invalid, http(80).Result, "sent when due, they may have queued")
	assert.Equal(t, runfile.Invalid, http(120).Result, "sent when due, they may not have queued")
	assert.Equal(t, runfile.Fail, http(140).Result)
}

// What was lost or refused is so however late the generator was.
func TestTheAccountIsNotInDoubtForALateGenerator(t *testing.T) {
	t.Parallel()
	r := lateRun(310, 300)
	r.Account.Rejected = 3
	assert.Equal(t, runfile.Fail, Of(Evidence{Run: r, Limits: []runfile.Rule{p99Below(250, 310)}}).Result)
}

func TestMessagesThatWereNeverSentLeaveTheRunUndecided(t *testing.T) {
	t.Parallel()
	dropped := func(limits ...runfile.Rule) runfile.Verdict {
		return Of(Evidence{Run: run(func(r *runfile.Run) { r.Account.Dropped = 1 }), Limits: limits})
	}
	assert.Equal(t, runfile.Invalid, dropped().Result)
	assert.Equal(t, runfile.Invalid, dropped(p99Below(250, 10)).Result)
	assert.Equal(t, runfile.Fail, dropped(p99Below(5, 10)).Result, "the dropped ones would not have made it faster")
}

func TestALossBesideALostConnectionIsUndecided(t *testing.T) {
	t.Parallel()
	gap := func(missing int) runfile.Verdict {
		return Of(Evidence{Run: run(func(r *runfile.Run) {
			r.Health.Gaps = []runfile.Gap{{Subscriber: 1, FromS: 2, ToS: new(3.0), Reason: "EOF"}}
			r.Account.Lost, r.Account.Deliveries.Missing = missing, missing
		}), Limits: []runfile.Rule{p99Below(250, 10)}})
	}
	assert.Equal(t, runfile.Pass, gap(0).Result, "a gap that was bridged only lengthens")
	assert.Equal(t, runfile.Invalid, gap(3).Result)
}

func TestStagesInDoubtDecideNothing(t *testing.T) {
	t.Parallel()
	v := Of(Evidence{Run: run(func(r *runfile.Run) { r.Account.Negative = 50 }), Limits: []runfile.Rule{p99Below(250, 10)}})
	assert.Equal(t, runfile.Pass, v.Result)
	assert.Len(t, v.Doubts, 1)
}

func TestDiscardedSamplesPutOnlyK6sOwnMetricsInDoubt(t *testing.T) {
	t.Parallel()
	discarded := func(limit runfile.Rule) string {
		return Of(Evidence{Run: run(func(r *runfile.Run) { r.Health.SamplesDiscarded = 7 }),
			Limits: []runfile.Rule{limit}}).Result
	}
	assert.Equal(t, runfile.Pass, discarded(p99Below(250, 10)))
	assert.Equal(t, runfile.Invalid, discarded(runfile.Rule{Name: "checks rate", Value: new(1.0), Op: ">", Limit: new(0.9),
		OK: new(true), Result: runfile.Fail}))
}

func ruleNamed(t *testing.T, v runfile.Verdict, name string) runfile.Rule {
	t.Helper()
	for _, rule := range v.Rules {
		if rule.Name == name {
			return rule
		}
	}
	require.Fail(t, "no rule "+name)
	return runfile.Rule{}
}
