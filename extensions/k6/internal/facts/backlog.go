package facts

import "github.com/arrival-bench/arrival/extensions/k6/internal/runfile"

// NewBacklogGrowth is the growth of the backlog in a step of a run; p99LimitMS is the limit on its arrival p99, nil:
// there is none. NewBacklogGrowth returns nil for a step with fewer than two whole seconds.
func NewBacklogGrowth(r *runfile.Run, step *runfile.Step, p99LimitMS *float64) *runfile.BacklogGrowth {
	seconds := secondsIn(r.Timeline, spanOf(step))
	if len(seconds) < 2 {
		return nil
	}
	g := &runfile.BacklogGrowth{Phase: step.Name, Seconds: len(seconds), PerS: slope(seconds)}
	g.Grows = g.PerS > 0
	if step.DurationS <= 0 || step.Due <= 0 {
		return g
	}
	rate := float64(step.Due) / step.DurationS
	g.ShareOfRate = new(g.PerS / rate)
	if p99LimitMS != nil {
		g.InFlight = new(rate * *p99LimitMS / 1000)
		g.Grows = g.PerS*step.DurationS > *g.InFlight
	}
	if g.Grows {
		g.CountedShare = *g.ShareOfRate
	}
	return g
}

// slope is the slope of the backlog over the seconds by least squares, in deliveries/s.
func slope(seconds []*runfile.Interval) float64 {
	n := float64(len(seconds))
	var t, backlog float64
	for _, s := range seconds {
		t, backlog = t+float64(s.T)/n, backlog+float64(s.Backlog)/n
	}
	var both, spread float64
	for _, s := range seconds {
		both += (float64(s.T) - t) * (float64(s.Backlog) - backlog)
		spread += (float64(s.T) - t) * (float64(s.T) - t)
	}
	return both / spread
}

// backlogOf is the growth of the backlog in the one measured phase of an open load; nil: there are several, or its rate
// does not stay.
func backlogOf(r *runfile.Run) *runfile.BacklogGrowth {
	phases := measuredPhases(r.Run.Profile.Phases)
	if len(phases) != 1 || !steadyRate(phases) {
		return nil
	}
	for i := range r.Steps {
		if r.Steps[i].Measured {
			return NewBacklogGrowth(r, &r.Steps[i], p99Limit(r))
		}
	}
	return nil
}
