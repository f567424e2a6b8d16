package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// run returns a finished run of 100 messages with an arrival p99 of 10 ms, and applies change.
func run(change func(r *runfile.Run)) *runfile.Run {
	ended := "2026-11-23T10:00:01.000Z"
	r := &runfile.Run{
		Run: runfile.Identity{Ended: &ended},
		Account: runfile.Account{Scheduled: 100, Arrived: 100, Balanced: true,
			Deliveries: runfile.Deliveries{Due: 100, Arrived: 100}},
		Health: runfile.Health{Gaps: []runfile.Gap{}, TrendOneIn: 1},
		Latency: runfile.Latencies{Arrival: latency(10), HTTP: latency(1),
			Stages: map[string]runfile.Latency{"queue": latency(1)}},
	}
	if change != nil {
		change(r)
	}
	return r
}

func latency(p99 float64) runfile.Latency { return runfile.Latency{Count: 100, P99: &p99} }

// limit returns a script's threshold: arrival_p99 below 5 ms.
func limit(value float64, ok *bool) runfile.Rule {
	r := runfile.Rule{Name: "arrival_p99", Value: &value, Op: "<", Limit: new(5.0), Unit: "ms", OK: ok,
		Result: runfile.Fail}
	if ok != nil && !*ok {
		r.Reason = r.Broken()
	}
	return r
}

func broken(v runfile.Verdict) (names []string) {
	for _, rule := range v.Rules {
		if rule.OK != nil && !*rule.OK {
			names = append(names, rule.Name)
		}
	}
	return names
}

func TestEachBadEndFailsTheRun(t *testing.T) {
	t.Parallel()
	v := Of(Evidence{Run: run(nil)})
	assert.Equal(t, runfile.Pass, v.Result, v.Reasons)
	assert.Empty(t, v.Reasons)
	judged := slices.Concat(ledger.JudgedCounts(ledger.Promised), ledger.JudgedCounts(ledger.Always))
	require.NotEmpty(t, judged)
	for _, end := range judged {
		name := end.Name
		v := Of(Evidence{Run: run(func(r *runfile.Run) {
			assert.NoError(t, json.Unmarshal([]byte(`{"`+name+`":3}`), &r.Account))
		})})
		assert.Equal(t, runfile.Fail, v.Result, name)
		assert.Equal(t, []string{name}, broken(v))
		rule := v.Rules[slices.IndexFunc(v.Rules, func(r runfile.Rule) bool { return r.Name == name })]
		assert.InDelta(t, 3, *rule.Value, 0)
		assert.InDelta(t, 0, *rule.Limit, 0)
		unit := "messages"
		if name == runfile.Misdeliveries {
			unit = "deliveries"
		}
		assert.Equal(t, unit, rule.Unit)
		assert.Len(t, v.Reasons, 1)
	}
}

func TestWhatARelayDiedWithIsSaidToWaitForItsLease(t *testing.T) {
	t.Parallel()
	queued := func(process string) string {
		return Of(Evidence{Run: run(func(r *runfile.Run) {
			r.Account.Queued, r.Resources = 3, []runfile.Resource{{Process: process}}
		})}).Reasons[0]
	}
	assert.Contains(t, queued("relay-1"), "RELAY_LEASE_MS")
	assert.NotContains(t, queued("k6"), "RELAY_LEASE_MS", "a pipeline that is not ours")
}

// Regression: when everything was lost, no reason named the topics of the subscribers.
func TestReasonsNameTheTopicsIfNothingArrives(t *testing.T) {
	t.Parallel()
	allLost := run(func(r *runfile.Run) {
		r.Account.Lost, r.Account.Arrived = 9, 0
		r.Latency.Arrival.Count = 0
	})
	heard := *allLost
	heard.Scene = &runfile.Scene{Subscribed: `the subscribers hold FILTER "a/#": does the pipeline publish there?`}
	heard.Account.Deliveries.Arrived = 0
	reasons := strings.Join(Of(Evidence{Run: &heard}).Reasons, "\n")
	assert.Contains(t, reasons, `the subscribers hold FILTER "a/#": does the pipeline publish there?`)
	assert.NotContains(t, strings.Join(Of(Evidence{Run: allLost}).Reasons, "\n"), "subscribers")
}

func TestLossIsAllowedAtMostOnce(t *testing.T) {
	t.Parallel()
	lost := run(func(r *runfile.Run) { r.Account.Lost = 3 })
	assert.Equal(t, runfile.Pass, Of(Evidence{Run: lost, AtMostOnce: true}).Result)
	assert.Equal(t, []string{"rejected"},
		broken(Of(Evidence{Run: run(func(r *runfile.Run) { r.Account.Rejected, r.Account.Lost = 1, 1 }),
			AtMostOnce: true})))
	assert.Empty(t, broken(Of(Evidence{Run: run(func(r *runfile.Run) { r.Account.Rejected = 1 }),
		Replaced: []string{"rejected"}})),
		"the script has a limit of its own")
}

func TestTheMostSevereRuleDecides(t *testing.T) {
	t.Parallel()
	crossed := []runfile.Rule{limit(14.4, new(false))}
	v := Of(Evidence{Run: run(nil), Limits: crossed})
	assert.Equal(t, runfile.Fail, v.Result)
	assert.Equal(t, []string{"arrival p99 14.4 ms, limit < 5 ms"}, v.Reasons)

	v = Of(Evidence{Run: run(nil), Limits: crossed, Doubts: []string{"a doubt"}})
	assert.Equal(t, runfile.Invalid, v.Result)
	assert.Equal(t, []string{"a doubt", "arrival p99 14.4 ms, limit < 5 ms"}, v.Reasons)

	v = Of(Evidence{Run: run(func(r *runfile.Run) { r.Run.Ended = nil }), CutOff: "cut off", Limits: crossed,
		Doubts: []string{"a doubt"}})
	assert.Equal(t, runfile.Incomplete, v.Result)
	assert.Equal(t, []string{"cut off", "a doubt"}, v.Reasons, "an incomplete run is not judged")
	for _, rule := range v.Rules[2:] {
		assert.Nil(t, rule.OK, rule.Name)
	}
}

// Regression: a run passed although k6, by a flag or because it was killed, judged no limit.
func TestAnUnjudgedLimitMakesTheRunIncomplete(t *testing.T) {
	t.Parallel()
	v := Of(Evidence{Run: run(nil), Limits: []runfile.Rule{limit(1, nil)}})
	assert.Equal(t, runfile.Incomplete, v.Result)
	assert.Equal(t, []string{"not judged: arrival_p99 < 5 ms"}, v.Reasons)
	v = Of(Evidence{Run: run(func(r *runfile.Run) { r.Account.Rejected = 1 }), Limits: []runfile.Rule{limit(1, nil)}})
	assert.Equal(t, runfile.Fail, v.Result, "a known failure decides")
}

// Regression: where nothing arrived, a late generator was compared with an arrival p99 of 0.0 ms.
func TestLatenessIsNotComparedWithWhatWasNotMeasured(t *testing.T) {
	t.Parallel()
	v := Of(Evidence{Run: run(func(r *runfile.Run) {
		late := latency(3)
		r.Health.Lateness, r.Latency.Arrival = &late, runfile.Latency{}
	})})
	assert.Contains(t, strings.Join(v.Doubts, "\n"), "lateness p99 3.00 ms;")
	assert.NotContains(t, strings.Join(v.Doubts, "\n"), "0.0 ms;")
}

func TestFaultsOfTheInstrumentPutClaimsInDoubt(t *testing.T) {
	t.Parallel()
	seconds := func(cpu, steal float64, busy, n int) (timeline []runfile.Interval) {
		idle := 1.0
		for i := range n {
			used := &idle
			if i < busy {
				used = &cpu
			}
			timeline = append(timeline, runfile.Interval{Generator: runfile.Usage{CPUPercent: used,
				StealPercent: &steal}})
		}
		return timeline
	}
	for name, c := range map[string]struct {
		change func(r *runfile.Run)
		more   Evidence
		want   []string
	}{
		"no harm":            {nil, Evidence{}, nil},
		"late to send":       {func(r *runfile.Run) { l := latency(2.1); r.Health.Lateness = &l }, Evidence{}, []string{"lateness"}},
		"late, at the floor": {func(r *runfile.Run) { l := latency(2); r.Health.Lateness = &l }, Evidence{}, nil},
		"late, at 5 %": {func(r *runfile.Run) {
			l := latency(50)
			r.Health.Lateness, r.Latency.Arrival = &l, latency(1000)
		}, Evidence{}, nil},
		"late to read":         {func(r *runfile.Run) { l := latency(6); r.Health.SocketWait = &l }, Evidence{}, []string{"socket_wait"}},
		"out of CPU":           {func(r *runfile.Run) { r.Timeline = seconds(181, 0, 3, 40) }, Evidence{Cores: 2}, []string{"cpu"}},
		"busy for two seconds": {func(r *runfile.Run) { r.Timeline = seconds(181, 0, 2, 40) }, Evidence{Cores: 2}, nil},
		// Regression: one busy second of a run of six made it invalid.
		"busy for one of six":    {func(r *runfile.Run) { r.Timeline = seconds(181, 0, 1, 6) }, Evidence{Cores: 2}, nil},
		"busy for two of six":    {func(r *runfile.Run) { r.Timeline = seconds(181, 0, 2, 6) }, Evidence{Cores: 2}, []string{"cpu"}},
		"busy, with spare cores": {func(r *runfile.Run) { r.Timeline = seconds(181, 0, 40, 40) }, Evidence{Cores: 4}, nil},
		"dropped":                {func(r *runfile.Run) { r.Account.Dropped = 1 }, Evidence{}, []string{"dropped"}},
		"unbalanced account":     {func(r *runfile.Run) { r.Account.Balanced = false }, Evidence{}, []string{"balanced"}},
		"nothing arrived":        {func(r *runfile.Run) { r.Latency.Arrival = runfile.Latency{} }, Evidence{}, []string{"measured"}},
		"discarded samples":      {func(r *runfile.Run) { r.Health.SamplesDiscarded = 1 }, Evidence{}, []string{"samples_discarded"}},
		"a gap":                  {func(r *runfile.Run) { r.Health.Gaps = []runfile.Gap{{}} }, Evidence{}, []string{"gaps"}},
		"negative, 1 %":          {func(r *runfile.Run) { r.Account.Negative = 1 }, Evidence{}, nil},
		"negative, 2 %":          {func(r *runfile.Run) { r.Account.Negative = 2 }, Evidence{}, []string{"negative"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.more.Run = run(c.change)
			v := Of(c.more)
			assert.Equal(t, c.want, broken(v))
			assert.Len(t, slices.Concat(v.Reasons, v.Doubts), len(c.want))
			if c.want == nil {
				return
			}
			assert.Contains(t, []string{runfile.Pass, runfile.Invalid}, v.Result)
			if v.Result == runfile.Pass {
				assert.NotEmpty(t, v.Doubts)
			}
		})
	}
}

// Regression: every run on two hosts was invalid, as its clock bound exceeded 10 % of the shortest
// stage. Arrival needs only one clock.
func TestAWideClockBoundInvalidatesOnlyWithALimit(t *testing.T) {
	t.Parallel()
	bound := func(bound float64, limit *float64, processes ...runfile.ProcessClock) runfile.Verdict {
		return Of(Evidence{Run: run(func(r *runfile.Run) {
			r.Clock = runfile.Clock{BoundMS: bound, LimitMS: limit, Processes: processes}
		})})
	}
	ingest := runfile.ProcessClock{Process: "ingest-1"}
	assert.Equal(t, runfile.Pass, bound(0.054, nil, ingest).Result)
	assert.Equal(t, runfile.Pass, bound(5, nil, ingest).Result)
	assert.Equal(t, runfile.Pass, bound(0.02, new(0.02), ingest).Result)
	assert.Equal(t, []string{"the clock bound ±0.020 ms is above the limit of 0.010 ms"},
		bound(0.02, new(0.01), ingest).Reasons)
	assert.Equal(t, []string{"clock_bound"}, broken(bound(0.01, new(0.02))), "no process reported its clock")
}

// Regression: "some of 1 missing deliveries", and of none.
func TestAGapSaysWhatItMayHaveLost(t *testing.T) {
	t.Parallel()
	for missing, says := range map[int]string{0: "latency", 1: "lost the missing delivery",
		2345: "lost some of 2,345 missing deliveries"} {
		v := Of(Evidence{Run: run(func(r *runfile.Run) {
			r.Health.Gaps = []runfile.Gap{{Subscriber: 1, FromS: 2, ToS: new(3.0), Reason: "EOF"}}
			r.Account.Deliveries.Missing = missing
		})})
		assert.Regexp(t, says+"$", strings.Join(slices.Concat(v.Reasons, v.Doubts), "\n"))
	}
}
