package report

import (
	"slices"
	"sort"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// takeOff is how many times the lowest p50 of a sweep a step's p50 must exceed to have taken off. reports/sweep.ts has the
// same rule; both are tested against reports/sweep.vectors.json.
const takeOff = 5

// Knee is where a sweep of concurrency turns.
type Knee struct {
	VUs   int    // the last concurrency before p50 takes off for good
	Next  int    // the one after it
	Stage string // whose mean grew most from the one to the other; empty: not known
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
		points[i] = kneePoint{*s.VUs, s.Latency.Arrival.P50}
	}
	at := knee(points)
	if at < 0 {
		return nil
	}
	return &Knee{points[at].vus, points[at+1].vus, grown(sweep[at].Latency, sweep[at+1].Latency)}
}

type kneePoint struct {
	vus int
	p50 *float64 // ms; nil: nothing arrived
}

// knee is the index of the last point before p50 takes off for good, in points by ascending concurrency; -1: there is none.
func knee(points []kneePoint) int {
	var known []float64
	for _, p := range points {
		if p.p50 != nil {
			known = append(known, *p.p50)
		}
	}
	if len(known) == 0 {
		return -1
	}
	limit := takeOff * slices.Min(known)
	last := len(points) - 1
	for last >= 0 && (points[last].p50 == nil || *points[last].p50 > limit) {
		last--
	}
	if last == len(points)-1 {
		return -1
	}
	return last
}

// grown is the stage whose mean grew most.
func grown(from, to Latencies) string {
	most, stage := 0.0, ""
	for i := range ledger.Stages {
		a, b := from.Stages[i.String()].Mean, to.Stages[i.String()].Mean
		if a != nil && b != nil && *b-*a > most {
			most, stage = *b-*a, i.String()
		}
	}
	return stage
}
