package facts

import (
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// measuredSpan is the span from the start of the first measured step to the end of the last one; ok is false without
// one.
func measuredSpan(steps []runfile.Step) (all runfile.Span, ok bool) {
	for _, s := range steps {
		if !s.Measured {
			continue
		}
		if !ok {
			all.FromS, ok = s.StartS, true
		}
		all.ToS = s.StartS + s.DurationS
	}
	return all, ok
}

// plannedSpan is measuredSpan of the phases of the open model, each of which begins where the one before ends. last
// reports whether the last phase is a measured one.
func plannedSpan(phases []runfile.Phase) (all runfile.Span, last, ok bool) {
	start := 0.0
	for _, p := range phases {
		last = p.Measured
		if p.Measured && !ok {
			all.FromS, ok = start, true
		}
		start += p.DurationS
		if p.Measured {
			all.ToS = start
		}
	}
	return all, last, ok
}

// measuredPhases are the measured ones of the planned phases.
func measuredPhases(phases []runfile.Phase) (measured []runfile.Phase) {
	for _, p := range phases {
		if p.Measured {
			measured = append(measured, p)
		}
	}
	return measured
}

// steadyRate reports whether phases of the open model stay at one rate (requests/s) above 0.
func steadyRate(phases []runfile.Phase) bool {
	least, most := math.Inf(1), 0.0
	for _, p := range phases {
		if p.ArrivalRate == nil {
			return false
		}
		least, most = min(least, *p.ArrivalRate), max(most, *p.ArrivalRate)
		if p.RampTo != nil {
			least, most = min(least, *p.RampTo), max(most, *p.RampTo)
		}
	}
	return least > 0 && most < least*(1+steadyWithin)
}

// quarterOf is the n-th quarter of a span, 1 to 4.
func quarterOf(all runfile.Span, n int) runfile.Span {
	length := (all.ToS - all.FromS) / 4
	return runfile.Span{FromS: all.FromS + length*float64(n-1), ToS: all.FromS + length*float64(n)}
}

// secondsIn are the seconds of a timeline that lie in a span as a whole.
func secondsIn(timeline []runfile.Interval, span runfile.Span) (inside []*runfile.Interval) {
	for i := range timeline {
		if s := &timeline[i]; float64(s.T) >= span.FromS && float64(s.T+1) <= span.ToS {
			inside = append(inside, s)
		}
	}
	return inside
}

func spanOf(s *runfile.Step) runfile.Span {
	return runfile.Span{FromS: s.StartS, ToS: s.StartS + s.DurationS}
}

// measuredEnough is the share of a second that lies in measured phases. A step of a closed load begins some ms after
// the second in which the last one has drained.
const measuredEnough = 0.9

// measuredSeconds are the seconds of a run that lie in measured phases, ascending.
func measuredSeconds(r *runfile.Run) (seconds []*runfile.Interval) {
	for i := range r.Timeline {
		if s := &r.Timeline[i]; measuredStep(r, s) >= 0 {
			seconds = append(seconds, s)
		}
	}
	return seconds
}

// measuredStep is the index of the step with the largest part of a second; −1: it does not lie in measured phases.
func measuredStep(r *runfile.Run, s *runfile.Interval) int {
	share, step, most := 0.0, -1, 0.0
	for i := range r.Steps {
		span := spanOf(&r.Steps[i])
		part := min(float64(s.T+1), span.ToS) - max(float64(s.T), span.FromS)
		if !r.Steps[i].Measured || part <= 0 {
			continue
		}
		if share += part; part > most {
			step, most = i, part
		}
	}
	if share < measuredEnough {
		return -1
	}
	return step
}

// arrivalSeconds are the seconds in which deliveries of measured phases arrive: those of the phases, and of the drain
// after the last one. They have no delivery of a warm-up.
func arrivalSeconds(r *runfile.Run) []*runfile.Interval {
	seconds := measuredSeconds(r)
	if len(r.Steps) == 0 || !r.Steps[len(r.Steps)-1].Measured {
		return seconds
	}
	end := spanOf(&r.Steps[len(r.Steps)-1]).ToS
	for i := range r.Timeline {
		if s := &r.Timeline[i]; s.Phase == nil && float64(s.T) >= end {
			seconds = append(seconds, s)
		}
	}
	return seconds
}
