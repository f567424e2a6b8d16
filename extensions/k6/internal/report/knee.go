package report

import (
	"slices"
	"sort"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// takeOff is how many times the lowest p50 of a sweep a step's p50 must exceed to have taken off.
const takeOff = 5

// owedMuch is the share of a step's messages that, owed at its end, says that a backlog grew: so much is not just under way.
const owedMuch = 0.1

// Knee is where a sweep of concurrency turns.
type Knee struct {
	VUs   int    `json:"vus"`   // the last concurrency before p50 takes off for good; 0: it is below the first, where a backlog grows already
	Next  int    `json:"next"`  // the one after it
	Stage string `json:"stage"` // whose mean grew most from the one to the other, or of the first the longest; empty: not known
}

// NewKnee finds the knee of a run's measured steps; nil if they have one concurrency, which is no sweep, or there is no knee: the last
// step has not taken off.
func NewKnee(steps []Step) *Knee {
	var sweep []Step
	several := map[int]bool{}
	for _, s := range steps {
		if s.Measured && s.VUs != nil && *s.VUs > 0 {
			sweep = append(sweep, s)
			several[*s.VUs] = true
		}
	}
	if len(several) < 2 {
		return nil
	}
	sort.SliceStable(sweep, func(i, j int) bool { return *sweep[i].VUs < *sweep[j].VUs })
	points := make([]kneePoint, len(sweep))
	for i, s := range sweep {
		points[i] = kneePoint{s.Latency.Arrival.P50, s.Backlog != nil && float64(*s.Backlog) > owedMuch*float64(s.Scheduled)}
	}
	at, ok := knee(points)
	if !ok {
		return nil
	}
	if at < 0 {
		return &Knee{0, *sweep[0].VUs, grown(Latencies{}, sweep[0].Latency)}
	}
	return &Knee{*sweep[at].VUs, *sweep[at+1].VUs, grown(sweep[at].Latency, sweep[at+1].Latency)}
}

type kneePoint struct {
	p50  *float64 // ms; nil: nothing arrived
	owed bool     // more than owedMuch
}

// knee is the index of the last point before p50 takes off for good, in points by ascending concurrency; -1: a backlog grew at each of
// them. It reports whether there is one.
func knee(points []kneePoint) (int, bool) {
	var known []float64
	behind := true
	for _, p := range points {
		behind = behind && p.owed
		if p.p50 != nil {
			known = append(known, *p.p50)
		}
	}
	if len(known) == 0 {
		return 0, false
	}
	if behind {
		return -1, true
	}
	limit := takeOff * slices.Min(known)
	last := len(points) - 1
	for last >= 0 && (points[last].p50 == nil || *points[last].p50 > limit) {
		last--
	}
	return last, last < len(points)-1
}

// grown is the stage whose mean grew most; from none, the one that is longest.
func grown(from, to Latencies) string {
	most, stage := 0.0, ""
	for i := range ledger.Stages {
		a, b := from.Stages[i.String()].Mean, to.Stages[i.String()].Mean
		if a == nil && from.Stages == nil {
			a = new(float64)
		}
		if a != nil && b != nil && *b-*a > most {
			most, stage = *b-*a, i.String()
		}
	}
	return stage
}
