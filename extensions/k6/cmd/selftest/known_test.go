package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// spreadOutcome is the outcome of a distribution as the pipeline spreads it, measured as it was.
func spreadOutcome() *outcome {
	times := make([]float64, spreadOver)
	f := spread()
	for i := range times {
		times[i] = millisOf(f.Late(i + 1))
	}
	o := newOutcome(&testCase{rate: 100}, spreadOver, times...)
	logDeliveries(o, times...)
	return o
}

// Otherwise a percentile could be taken from the rank beside it.
func TestEachPercentileHasATimeOfItsOwn(t *testing.T) {
	t.Parallel()
	o := spreadOutcome()
	assert.True(t, holds(percentiles(o)))
	for i, p := range known {
		rank := int(math.Ceil(p / 100 * spreadOver))
		assert.GreaterOrEqual(t, held(rank)-held(rank-1), 100*ms, "p%g", p)
		if i < len(known)-1 {
			assert.GreaterOrEqual(t, held(rank+1)-held(rank), 100*ms, "p%g", p)
		}
	}
	l := &o.generators[0].run.Latency.Arrival
	l.P99 = l.P95
	assert.False(t, holds(percentiles(o)))
}

func TestLatenessMustFollowFromTheAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		share float64
		late  func(due int) float64 // in the report
		want  bool
	}{
		"as it was":                {1, nil, true},
		"a tenth":                  {0.1, nil, false},
		"without the first second": {1, func(i int) float64 { return map[bool]float64{true: 0, false: 1}[i < 100] }, false},
		"ten times":                {10, nil, false},
	} {
		o := newOutcome(&testCase{rate: 100, seconds: [2]int{2, 2}}, 200)
		began := o.generators[0].began()
		free, series := began, &ledger.Series{}
		for i := range 200 {
			due := began.Add(o.due(i))
			sent := due
			if free.After(sent) {
				sent = free
			}
			o.generators[0].log = append(o.generators[0].log, fake.Delivery{ID: seqID(i), Received: sent.Add(ms)})
			free = sent.Add(ms + answers(i+1))
			late := millisOf(sent.Sub(due)) * c.share
			if c.late != nil {
				late *= c.late(i)
			}
			series.Add(int64(late * 1000))
		}
		l := runfile.NewLatency(series, true)
		o.generators[0].run.Health.Lateness = &l
		assert.Equal(t, c.want, holds(lateness(o)), name)
	}
}

func seqID(seq int) string { return fmt.Sprintf("run.1.%d", seq) }

func TestTheBacklogMustBeThatOfTheLog(t *testing.T) {
	t.Parallel()
	for share, want := range map[int]bool{1: true, 2: false} {
		o := newOutcome(&testCase{rate: 100, seconds: [2]int{2, 2}}, 200)
		began := o.generators[0].began()
		for i := range 200 {
			at := began.Add(o.due(i))
			o.generators[0].log = append(o.generators[0].log, fake.Delivery{Received: at, Written: at.Add(500 * ms)})
		}
		for range 2 {
			o.generators[0].run.Timeline = append(o.generators[0].run.Timeline, runfile.Interval{Backlog: 50 / share})
		}
		assert.Equal(t, want, holds(backlog(o)), share)
	}
}

func TestArrivalsMustBeInTheirSecond(t *testing.T) {
	t.Parallel()
	began := time.Now()
	log := make([]fake.Delivery, 200)
	for i := range log {
		log[i].Written = began.Add(time.Duration(i) * 10 * ms)
	}
	assert.True(t, bySecond("", began, []int{100, 100}, log).ok)
	assert.True(t, bySecond("", began, []int{85, 115}, log).ok, "the reader may be late")
	assert.False(t, bySecond("", began, []int{50, 50}, log[:100]).ok, "none may be in another second")
	assert.False(t, bySecond("", began, []int{0, 100, 100}, log).ok)
	assert.False(t, bySecond("", began, []int{100, 99}, log).ok)
}

func TestALogMustReadAlikeElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		late float64 // ms
		want bool
	}{"right": {0, true}, "half a second late": {500, false}, "a second late": {1000, false}} {
		o := spreadOutcome()
		g := o.generators[0]
		start := float64(g.began().UnixMilli())
		g.run.Timeline = make([]runfile.Interval, 7)
		read := elsewhere{Count: spreadOver}
		for _, p := range known {
			read.Percentiles = append(read.Percentiles, 1000*reported(g.run.Latency.Arrival, p))
		}
		for t := range 6 {
			from, n := g.began().Add(time.Duration(t)*time.Second), 0
			for _, d := range g.log {
				if !d.Written.Before(from) && d.Written.Before(from.Add(time.Second)) {
					n++
				}
			}
			read.Log = append(read.Log, struct {
				Tag      string
				From, To float64
				Count    int
				Max      float64
			}{"arrival", start + c.late + 1000*float64(t), start + c.late + 1000*float64(t+1), n, 4e6})
		}
		require.Len(t, g.log, spreadOver)
		assert.Equal(t, c.want, holds(g.compared(read, g.log)), name)
		read.Percentiles[0] *= 1.1
		assert.False(t, holds(g.compared(read, g.log)), name)
	}
}

func TestAMergeMustHaveTheEndsOfAllParts(t *testing.T) {
	t.Parallel()
	part := func(least, most float64) *generated {
		l := runfile.Latency{Count: 2, Min: &least, Max: &most}
		return &generated{run: &runfile.Run{
			Latency: runfile.Latencies{Arrival: l, FromSend: l, HTTP: l}, Health: runfile.Health{Lateness: &l},
			Flows:    []runfile.FlowResult{{Arrival: l}},
			Timeline: []runfile.Interval{{Arrival: &runfile.Quantiles{Max: most}}},
		}}
	}
	for name, c := range map[string]struct {
		whole *generated
		want  bool
	}{
		"of all":                        {part(50, 700), true},
		"the first part's max":          {part(50, 300), false},
		"the last part's min":           {part(200, 700), false},
		"the max of no part, but later": {part(50, 701), false},
	} {
		o := &outcome{generators: []*generated{part(50, 300), part(200, 700)}, whole: c.whole}
		assert.Equal(t, c.want, holds(mergedEnds(o)), name)
	}
}

func TestOnlyTheMeasuredPhaseMayBeInTheFigures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flow, due int64
		slowest   string
		want      bool
	}{
		"alone":                     {10, 10, "run.1.5", true},
		"warm-up in the flows":      {15, 10, "run.1.5", false},
		"warm-up in the seconds":    {10, 15, "run.1.5", false},
		"warm-up among the slowest": {10, 10, "run.1.4", false},
	} {
		o := newOutcome(&testCase{}, 15)
		o.measured = 10
		r := o.generators[0].run
		ten := runfile.Latency{Count: 10}
		r.Latency = runfile.Latencies{Arrival: ten, FromSend: ten, HTTP: ten}
		r.Health = runfile.Health{Lateness: &ten, ArrivalStamps: runfile.ArrivalStamps{Kernel: 9, Read: 1}}
		r.Steps = []runfile.Step{{}, {Latency: runfile.Latencies{Arrival: ten}}}
		r.Flows = []runfile.FlowResult{{Arrival: runfile.Latency{Count: c.flow}}}
		r.Timeline = []runfile.Interval{{}, {DueBins: []int64{40, c.due}}}
		r.Messages = &runfile.Messages{Slowest: []runfile.Slow{{ID: c.slowest}}}
		assert.Equal(t, c.want, holds(measuredAlone(o)), name)
	}
}

func TestABrokenRuleMustSaySo(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, c := range map[string]struct {
		rules  []runfile.Rule
		doubts []string
		want   bool
	}{
		"broken":            {[]runfile.Rule{{Name: "cpu", OK: &no, Reason: "out of CPU"}}, []string{"out of CPU"}, true},
		"held":              {[]runfile.Rule{{Name: "cpu", OK: &yes}}, nil, false},
		"broken in silence": {[]runfile.Rule{{Name: "cpu", OK: &no, Reason: "out of CPU"}}, nil, false},
		"no such rule":      {nil, nil, false},
	} {
		o := newOutcome(&testCase{}, 1)
		o.generators[0].run.Verdict = runfile.Verdict{Rules: c.rules, Doubts: c.doubts}
		assert.Equal(t, c.want, holds(brokenRule("cpu")(o)), name)
	}
}
