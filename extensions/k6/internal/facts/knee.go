package facts

import (
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// takeOff is how many times the lowest p50 of a sweep a step's p50 must exceed to have taken off.
const takeOff = 5

// owedMuch is the share of a step's messages that, missing at its end, shows a growing backlog.
const owedMuch = 0.1

// NewKnee finds the knee of a run's measured steps, and the stage of its list that grew there. It returns nil if they
// have one concurrency (no sweep), or the last step has not taken off (no knee).
func NewKnee(list stages.List, steps []report.Step) *report.Knee {
	sweep := report.SweepSteps(steps)
	if !report.Sweeps(steps) {
		return nil
	}
	at, ok := knee(sweep)
	switch {
	case !ok:
		return nil
	case at < 0:
		return &report.Knee{Next: *sweep[0].VUs, Stage: grown(list, report.Latencies{}, sweep[0].Latency)}
	}
	return &report.Knee{VUs: *sweep[at].VUs, Next: *sweep[at+1].VUs, Stage: grown(list, sweep[at].Latency, sweep[at+1].Latency)}
}

// knee is the index of the last step before p50 takes off for good, in steps by ascending concurrency; −1 if a backlog
// grew in each of them. It reports whether there is a knee.
func knee(sweep []report.Step) (int, bool) {
	lowest, behind := math.Inf(1), true
	for _, s := range sweep {
		behind = behind && s.Backlog != nil && float64(*s.Backlog) > owedMuch*float64(s.Scheduled)
		if p50 := s.Latency.Arrival.P50; p50 != nil {
			lowest = min(lowest, *p50)
		}
	}
	if math.IsInf(lowest, 1) { // nothing arrived
		return 0, false
	}
	if behind {
		return -1, true
	}
	last := len(sweep) - 1
	for last >= 0 && (sweep[last].Latency.Arrival.P50 == nil || *sweep[last].Latency.Arrival.P50 > takeOff*lowest) {
		last--
	}
	return last, last < len(sweep)-1
}

// grown is the stage whose mean grew most, or without a first step the longest one.
func grown(list stages.List, from, to report.Latencies) string {
	most, stage := 0.0, ""
	for _, s := range list {
		a, b := from.Stages[s.Name].Mean, to.Stages[s.Name].Mean
		if a == nil && from.Stages == nil {
			a = new(float64)
		}
		if a != nil && b != nil && *b-*a > most {
			most, stage = *b-*a, s.Name
		}
	}
	return stage
}
