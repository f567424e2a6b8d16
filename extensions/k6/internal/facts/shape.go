package facts

import (
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const (
	burstTimes   = 2    // a burst is so many times the load before and after it
	steadyWithin = 0.05 // rates of a steady load differ by less than this share
	steadyPhases = 3    // a steady load of fewer phases says nothing about time
)

// ShapeOf is the shape of a run's load, which says what its first question is.
func ShapeOf(r *runfile.Run) string {
	switch {
	case runfile.Sweeps(r.Steps):
		return runfile.SweepShape
	case r.Run.Model == runfile.Closed:
		return runfile.OtherShape
	case burstOf(r) != nil:
		return runfile.SpikeShape
	}
	phases, least, most := 0, math.Inf(1), 0.0
	for _, s := range r.Steps {
		if s.Measured {
			phases++
			least, most = min(least, s.ScheduledPerS), max(most, s.ScheduledPerS)
		}
	}
	if phases >= steadyPhases && least > 0 && most < least*(1+steadyWithin) {
		return runfile.SteadyShape
	}
	return runfile.OtherShape
}

// burst is the phase with more than the phases beside it.
type burst struct{ before, step *runfile.Step }

// burstOf is the one burst of an open load; nil: there is none, or there are several.
func burstOf(r *runfile.Run) (found *burst) {
	if r.Run.Model == runfile.Closed {
		return nil
	}
	for i := 1; i < len(r.Steps)-1; i++ {
		before, after := &r.Steps[i-1], &r.Steps[i+1]
		around := burstTimes * max(before.ScheduledPerS, after.ScheduledPerS)
		if before.ScheduledPerS <= 0 || after.ScheduledPerS <= 0 || r.Steps[i].ScheduledPerS < around {
			continue
		}
		if found != nil {
			return nil
		}
		found = &burst{before, &r.Steps[i]}
	}
	return found
}
