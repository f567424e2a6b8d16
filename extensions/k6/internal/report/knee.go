package report

import (
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// takeOff is how many times the lowest p50 of a sweep a step's p50 must exceed to have taken off.
const takeOff = 5

// owedMuch is the share of a step's messages that, missing at its end, shows a growing backlog.
const owedMuch = 0.1

// Knee is the knee of a sweep of concurrency.
type Knee struct {
	// the last concurrency before p50 takes off for good; 0: below the first, which has a growing backlog
	VUs   int    `json:"vus"`
	Next  int    `json:"next"`  // the one after it
	Stage string `json:"stage"` // the stage whose mean grew most between them (for 0: the longest); empty: unknown
}

// NewKnee finds the knee of a run's measured steps, and the stage of its list that grew there. It returns nil if they
// have one concurrency (no sweep), or the last step has not taken off (no knee).
func NewKnee(list stages.List, steps []Step) *Knee {
	sweep := closedSteps(steps)
	if !sweeps(steps) {
		return nil
	}
	at, ok := knee(sweep)
	switch {
	case !ok:
		return nil
	case at < 0:
		return &Knee{0, *sweep[0].VUs, grown(list, Latencies{}, sweep[0].Latency)}
	}
	return &Knee{*sweep[at].VUs, *sweep[at+1].VUs, grown(list, sweep[at].Latency, sweep[at+1].Latency)}
}

// knee is the index of the last step before p50 takes off for good, in steps by ascending concurrency; −1 if a backlog
// grew in each of them. It reports whether there is a knee.
func knee(sweep []Step) (int, bool) {
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
func grown(list stages.List, from, to Latencies) string {
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
