package facts

import "github.com/arrival-bench/arrival/extensions/k6/internal/report"

// BacklogGrowth says how the backlog of a phase grew.
type BacklogGrowth struct {
	Phase   string `json:"phase"`
	Seconds int    `json:"seconds"` // whole seconds of the phase, each with the backlog at its end
	// PerS is the slope of the line through the seconds by least squares, in deliveries/s; below 0 it shrank.
	PerS float64 `json:"deliveries_per_s"`
	// ShareOfRate is PerS as a share of the deliveries that were due in a second; nil: none were due.
	ShareOfRate *float64 `json:"share_of_rate"`
	// InFlight is how many deliveries the phase's rate keeps in flight at the limit on arrival p99; nil: there is no
	// limit.
	InFlight *float64 `json:"in_flight"`
	// Grows reports whether the backlog grew over the phase, and by more than InFlight.
	Grows bool `json:"grows"`
}

// NewBacklogGrowth is the growth of the backlog in a step of a run; p99LimitMS is the limit on its arrival p99, nil:
// there is none. NewBacklogGrowth returns nil for a step with fewer than two whole seconds.
func NewBacklogGrowth(r *report.Run, step *report.Step, p99LimitMS *float64) *BacklogGrowth {
	seconds := secondsIn(r.Timeline, spanOf(step))
	if len(seconds) < 2 {
		return nil
	}
	g := &BacklogGrowth{Phase: step.Name, Seconds: len(seconds), PerS: slope(seconds)}
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
	return g
}

// slope is the slope of the backlog over the seconds by least squares, in deliveries/s.
func slope(seconds []*report.Interval) float64 {
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
