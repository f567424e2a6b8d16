package facts

import (
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// loads say which load each second of a series was under: seconds of phases with equal rates, or equal concurrencies,
// are under one load, and a ramp is one of its own. What follows from the load is the same in another run, so it is not
// an error of a figure.
type loads struct {
	of    []int  // the number of each second's load
	ramps []bool // whether each load is a ramp
}

// loadKey identifies a load.
type loadKey struct {
	rate, vus float64
	ramp      int // the number of its step; 0: none
}

// newLoads are the loads of the measured seconds t of a run; at is the step of each.
func newLoads(r *runfile.Run, at []int) loads {
	numbers := map[loadKey]int{}
	var l loads
	for _, step := range at {
		key := keyOf(r, step)
		number, ok := numbers[key]
		if !ok {
			number = len(numbers)
			numbers[key], l.ramps = number, append(l.ramps, key.ramp > 0)
		}
		l.of = append(l.of, number)
	}
	return l
}

// keyOf is the load of a step: the profile has its phases in the order of steps.
func keyOf(r *runfile.Run, step int) (key loadKey) {
	if step >= len(r.Run.Profile.Phases) {
		return loadKey{ramp: step + 1} // it is not known
	}
	p := r.Run.Profile.Phases[step]
	if p.VUs != nil {
		key.vus = float64(*p.VUs)
	}
	if p.ArrivalRate != nil {
		key.rate = *p.ArrivalRate
		if p.RampTo != nil && *p.RampTo != key.rate {
			key.ramp = step + 1
		}
	}
	return key
}

// terms are the numbers that describe the loads of a series: a level each, and a slope of a ramp.
func (l loads) terms() (n int) {
	for _, ramps := range l.ramps {
		n++
		if ramps {
			n++
		}
	}
	return n
}

// shortest is the number of seconds of the load that has fewest.
func (l loads) shortest() int {
	seconds := make([]int, len(l.ramps))
	for _, of := range l.of {
		seconds[of]++
	}
	least := len(l.of)
	for _, n := range seconds {
		least = min(least, n)
	}
	return least
}

// without is a series without what follows from the loads: their levels, and the slopes of ramps.
func (l loads) without(series []float64) []float64 {
	type sums struct{ n, t, v, tt, tv float64 }
	all := make([]sums, len(l.ramps))
	for i, v := range series {
		t, s := float64(i), &all[l.of[i]]
		s.n, s.t, s.v, s.tt, s.tv = s.n+1, s.t+t, s.v+v, s.tt+t*t, s.tv+t*v
	}
	rest := make([]float64, len(series))
	for i, v := range series {
		s := all[l.of[i]]
		rest[i] = v - s.v/s.n
		if spread := s.tt - s.t*s.t/s.n; l.ramps[l.of[i]] && spread > 0 {
			rest[i] -= (s.tv - s.t*s.v/s.n) / spread * (float64(i) - s.t/s.n)
		}
	}
	return rest
}
