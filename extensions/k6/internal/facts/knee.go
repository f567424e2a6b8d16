package facts

import (
	"fmt"
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// takeOff is how many times the lowest p50 of a sweep a step's p50 must exceed to have taken off.
const takeOff = 5

// owedMuch is the share of a step's messages that, missing at its end, shows a growing backlog.
const owedMuch = 0.1

// turning is what a sweep of concurrency shows: a knee, or why there is none.
type turning struct {
	knee *runfile.Knee
	why  string // empty: there is a knee, or p50 never took off
}

// Limits for the steps that a knee is found in.
const (
	fellMuch = 0.05 // where throughput falls by more before the knee, the pipeline does not just fill up
	fullMuch = 0.5  // a host that was full in this share of a step's seconds shows its own limit
)

// turningOf finds the knee of a run's measured steps, and the stage of its list that grew there. There is none if they
// have one concurrency (no sweep), or the last step has not taken off, or something else than the pipeline shows: a
// throughput that fell before, or a full host.
func turningOf(r *runfile.Run) (found turning) {
	steps := runfile.SweepSteps(r.Steps)
	if !runfile.Sweeps(r.Steps) {
		return found
	}
	at, ok := knee(steps)
	switch {
	case !ok:
		return found
	case at < 0:
		found.knee = &runfile.Knee{Next: *steps[0].VUs, Stage: grown(r.Stages, runfile.Latencies{}, steps[0].Latency)}
	default:
		found.knee = &runfile.Knee{VUs: *steps[at].VUs, Next: *steps[at+1].VUs,
			Stage: grown(r.Stages, steps[at].Latency, steps[at+1].Latency)}
	}
	if found.why = unclear(r, steps, max(0, at)); found.why != "" {
		found.knee = nil
	}
	return found
}

// unclear says why the step at is not a knee of the pipeline; empty: it is one.
func unclear(r *runfile.Run, steps []runfile.Step, at int) string {
	most := 0
	for i := range steps[:at+1] {
		if steps[i].CarriedPerS > steps[most].CarriedPerS {
			most = i
		}
	}
	if best := steps[most]; steps[at].CarriedPerS < best.CarriedPerS*(1-fellMuch) {
		return fmt.Sprintf("throughput was highest with %s (%s) and fell before p50 took off", words.Plural(*best.VUs, "VU"),
			words.PerSecond(best.CarriedPerS))
	}
	for _, s := range steps[:at+1] {
		if hostFull(r, s) {
			return fmt.Sprintf("the host was saturated from %s on, so it shows the host's limit", words.Plural(*s.VUs, "VU"))
		}
	}
	return ""
}

// hostFull reports whether the generator's host, which the pipeline shares, was full for much of a step.
func hostFull(r *runfile.Run, step runfile.Step) bool {
	full, known := 0, 0
	for _, s := range secondsIn(r.Timeline, spanOf(&step)) {
		if s.Generator.HostPercent == nil {
			continue
		}
		known++
		if *s.Generator.HostPercent >= Full {
			full++
		}
	}
	return known > 0 && sharesHost(r) && float64(full) >= fullMuch*float64(known)
}

// knee is the index of the last step before p50 takes off for good, in steps by ascending concurrency; −1 if a backlog
// grew in each of them. It reports whether there is a knee.
func knee(sweep []runfile.Step) (int, bool) {
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
func grown(list stages.List, from, to runfile.Latencies) string {
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
