package facts

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// steadyRun is a passing run of so many seconds at a constant rate, each delivery with the same latency, and a limit of
// 250 ms.
func steadyRun(seconds, perS int, ms float64) *runfile.Run {
	ended, phase := "2026-11-25T12:00:00.000Z", "hold"
	r := &runfile.Run{}
	r.Run.Model, r.Run.Protocol, r.Run.Ended = runfile.Open, "HTTP", &ended
	r.Run.Profile.Flows = []runfile.Flow{{Messages: 1, Deliveries: 1}}
	r.Verdict = runfile.Verdict{Result: runfile.Pass, Rules: []runfile.Rule{{Name: runfile.P99Rule, Op: "<",
		Limit: new(250.0), Unit: "ms",
		OK: new(true), Result: runfile.Fail}}}
	var all, all1 ledger.Series
	all1.AddMany(int64(ms*1000), perS)
	all.AddMany(int64(ms*1000), perS*seconds)
	for t := range seconds {
		r.Timeline = append(r.Timeline, runfile.Interval{
			T: t, Phase: &phase, Scheduled: perS, Sent: perS, Accepted: perS, Arrived: int64(perS),
			Arrival: runfile.NewQuantiles(&all1), Bins: runfile.NewBins(&all1),
		})
	}
	n := perS * seconds
	r.Account = runfile.Account{Scheduled: n, Arrived: n, Balanced: true, Deliveries: runfile.Deliveries{Due: n, Arrived: n}}
	r.Latency.Arrival = runfile.NewLatency(&all, true)
	r.Steps = []runfile.Step{{
		Name: phase, DurationS: float64(seconds), Measured: true, Requests: n, Scheduled: n, Accepted: n, Taken: n,
		Due: n, Arrived: n, ScheduledPerS: float64(perS), AcceptedPerS: float64(perS), ArrivedPerS: float64(perS),
	}}
	return r
}

// Regression: a second needed a hundred deliveries, so a run of 50/s that passed "held no rate".
func TestALowRateIsHeldWithEnoughDeliveriesInAll(t *testing.T) {
	t.Parallel()
	for _, perS := range []int{1, 2, 7, 50, 99, 100, 400} {
		r := steadyRun(120, perS, 3)
		Conclude(r, "")
		require.NotNil(t, r.Answer.HeldPerS, perS)
		assert.InDelta(t, perS, *r.Answer.HeldPerS, 1e-6)
		assert.Contains(t, r.Answer.Sentence, fmt.Sprintf("Held %d messages/s, the most that was offered", perS))
	}
}

func TestALowRateWithTooFewDeliveriesIsNotJudged(t *testing.T) {
	t.Parallel()
	r := steadyRun(20, 2, 3)
	Conclude(r, "")
	assert.Nil(t, r.Answer.HeldPerS)
	assert.Regexp(t, `^Carried 2 messages/s with arrival p50 3\.00 ms`, r.Answer.Sentence)
}

func TestALowRateAboveTheLimitIsNotHeld(t *testing.T) {
	t.Parallel()
	slow := steadyRun(120, 10, 400)
	Conclude(slow, "")
	assert.Zero(t, *slow.Answer.HeldPerS)
	assert.Equal(t, "At 10 messages/s, the only rate offered, arrival p99 was 400 ms (limit 250 ms).",
		slow.Answer.Sentence)

	// Two of a hundred deliveries are slow.
	some := steadyRun(120, 10, 3)
	var s ledger.Series
	s.AddMany(3000, 9)
	s.Add(400_000)
	for i := range some.Timeline {
		if i%5 == 0 {
			some.Timeline[i].Arrival, some.Timeline[i].Bins = runfile.NewQuantiles(&s), runfile.NewBins(&s)
		}
	}
	Conclude(some, "")
	assert.Zero(t, *some.Answer.HeldPerS)

	// A backlog grows: nothing arrives.
	stuck := steadyRun(120, 10, 3)
	for i := range stuck.Timeline {
		row := &stuck.Timeline[i]
		row.Arrived, row.Arrival, row.Bins, row.Backlog = 0, nil, nil, 10*(i+1)
	}
	Conclude(stuck, "")
	assert.Zero(t, *stuck.Answer.HeldPerS)
}

// Regression: seconds of merged runs have no percentiles, so no such run held a rate.
func TestARateIsHeldWithoutPercentilesOfSeconds(t *testing.T) {
	t.Parallel()
	for ms, held := range map[float64]float64{3: 400, 400: 0} {
		r := steadyRun(20, 400, ms)
		for i := range r.Timeline {
			q := *r.Timeline[i].Arrival
			q.P50, q.P95, q.P99 = nil, nil, nil
			r.Timeline[i].Arrival = &q
		}
		Conclude(r, "")
		assert.InDelta(t, held, *r.Answer.HeldPerS, 1e-6, ms)
	}
}

// The deliveries of a second above a limit are never too few: a gate errs against the pipeline.
func TestTheDeliveriesAboveALimitAreNeverTooFew(t *testing.T) {
	t.Parallel()
	for _, slow := range []int{0, 1, 3, 20, 60} {
		var s ledger.Series
		s.AddMany(100_000, 60-slow)
		s.AddMany(251_500, slow)
		row := runfile.Interval{Arrival: runfile.NewQuantiles(&s), Bins: runfile.NewBins(&s)}
		assert.GreaterOrEqual(t, above(&row, 250), int64(slow))
		row.Bins = nil
		assert.GreaterOrEqual(t, above(&row, 250), int64(slow), "without bins")
	}
}

// Regression: the sentence of a run with 78,751 of 89,300 rejected began with a rate and a p99 of 4.25 ms.
func TestTheFailureComesFirst(t *testing.T) {
	t.Parallel()
	r := golden(t, "refusing")
	Conclude(r, "")
	assert.Contains(t, r.Verdict.Meaning, "78,751 messages were rejected")
	assert.Regexp(t, `^The ingest refused 41,356 of 47,000 requests`, r.Answer.Sentence)
	assert.NotContains(t, r.Answer.Sentence, "78,751", "the line above has it")
	assert.NotContains(t, r.Answer.Sentence, "4.25")
	Conclude(r, "The backlog drained in 3 s.")
	assert.Regexp(t, `^The ingest refused .* The backlog drained in 3 s\. Latencies are those of the 10,549 `,
		r.Answer.Sentence, "of a script's answer too")

	allowed := golden(t, "passing")
	allowed.Account.Lost, allowed.Account.Arrived = 5, allowed.Account.Arrived-5
	Conclude(allowed, "")
	assert.Regexp(t, `^Held .* 5 of 89,300 messages did not arrive`, allowed.Answer.Sentence,
		"an allowed loss failed nothing")
}

// The bins of the whole run have as many deliveries as its latency, also those that arrived in the drain.
func TestTheDistributionHasAllMeasuredDeliveries(t *testing.T) {
	t.Parallel()
	r := steadyRun(10, 100, 3)
	Conclude(r, "")
	sum := int64(0)
	for _, n := range r.ArrivalBins[1:] {
		sum += n
	}
	assert.Equal(t, r.Latency.Arrival.Count, sum)
}

// Regression: "p99 842 ms is above the limit of 250 ms. Below it 40 messages/s were held for 5 s; 40 messages/s were
// offered."
func TestLuckySecondsAtTheOfferedRateAreNoLowerRate(t *testing.T) {
	t.Parallel()
	r := steadyRun(60, 40, 842)
	var calm ledger.Series
	calm.AddMany(3000, 40)
	for i := range 7 {
		r.Timeline[20+i].Arrival, r.Timeline[20+i].Bins = runfile.NewQuantiles(&calm), runfile.NewBins(&calm)
	}
	Conclude(r, "")
	assert.Zero(t, *r.Answer.HeldPerS)
	assert.Equal(t, "At 40 messages/s, the only rate offered, arrival p99 was 842 ms (limit 250 ms).", r.Answer.Sentence)
}

func TestARateThatWasNotOfferedIsNotHeld(t *testing.T) {
	t.Parallel()
	r := steadyRun(60, 400, 3)
	for i := range r.Timeline {
		r.Timeline[i].Offered = new(400)
		if i%2 == 0 { // sent in a burst in the next second
			r.Timeline[i].Offered = new(300)
		}
	}
	Offer(r)
	Conclude(r, "")
	assert.Zero(t, *r.Answer.HeldPerS)
	assert.InDelta(t, 350, *r.Steps[0].OfferedPerS, 1e-9)
	assert.Contains(t, r.Answer.Sentence, "350 messages/s (of 400 messages/s that were planned)")
}

// Regression: "Held 2,850 messages/s … with arrival p99 4.39 ms" had the p99 of ramp and hold together.
func TestARateStandsWithThePercentileAtThatRate(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	Conclude(r, "")
	at := r.Steps[len(r.Steps)-1].Latency.Arrival
	assert.Greater(t, *at.P99, *r.Latency.Arrival.P99)
	assert.Contains(t, r.Answer.Sentence, "p99 "+words.MS(at.P99)+" ms")
}

// Regression: "Held 1,345 messages/s … 1,345 messages/s were offered" read as if more had been offered.
func TestARateThatWasHeldInMostOfItsSecondsIsTheMostThatWasOffered(t *testing.T) {
	t.Parallel()
	r := steadyRun(20, 400, 3)
	r.Timeline[2].Arrival.P99, r.Timeline[2].Arrival.Max = new(300.0), 300
	r.Steps[0].Latency.Arrival = r.Latency.Arrival
	Conclude(r, "")
	assert.Equal(t, "Held 400 messages/s, the most that was offered, though not in each 5 s of it, with arrival "+
		"p99 3.00 ms (limit 250 ms).", r.Answer.Sentence)
}

func TestAPassWithALateGeneratorSaysSoAtTheFigure(t *testing.T) {
	t.Parallel()
	r := steadyRun(60, 400, 29)
	r.Verdict.Rules = append(r.Verdict.Rules, runfile.Rule{Name: "lateness", Value: new(7.22), Op: "<=", Limit: new(2.0),
		Unit: "ms", OK: new(false), Result: runfile.Doubtful,
		Doubts: []runfile.Doubt{{Claim: runfile.ArrivalClaim, Direction: runfile.TooHigh}}})
	Conclude(r, "")
	assert.Regexp(t, `^Held 400 messages/s, .* arrival p99 at most 29\.0 ms \(limit 250 ms\); `+
		`up to 7\.22 ms of it are the generator's\.$`, r.Answer.Sentence)
}
