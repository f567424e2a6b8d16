package facts

import (
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// phaseSeconds is the least length of a phase that says something about a backlog that grows.
const phaseSeconds = 5

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

// grownBacklogs are about the phases in which more messages came than the pipeline carried. Phases that follow each
// other have one finding.
func grownBacklogs(r *runfile.Run) (found []runfile.Finding) {
	var names []string // phases that follow each other, and grew
	var whole runfile.Span
	var was int
	for i := range r.Steps {
		step := &r.Steps[i]
		before, after, grew := backlogGrew(r, step)
		if !grew {
			names = nil
			continue
		}
		at := spanOf(step)
		if names == nil {
			whole.FromS, was = at.FromS, before
		} else {
			found = found[:len(found)-1]
		}
		names, whole.ToS = append(names, "“"+words.Short(step.Name)+"”"), at.ToS
		found = append(found, runfile.Finding{
			Text: fmt.Sprintf("In %s more messages came than the pipeline carried: "+
				"the backlog grew from %s to %s deliveries.", listed(names), words.Count(was), words.Count(after)),
			Next: "lower the rate, or start more relays (RELAY_WORKERS) where queue grows",
			Span: new(whole),
		})
	}
	return found
}

// backlogGrew is the backlog at the ends of a phase, deliveries, and whether it grew by more than what is in flight.
func backlogGrew(r *runfile.Run, step *runfile.Step) (before, after int, grew bool) {
	inside := secondsIn(r.Timeline, spanOf(step))
	if !step.Measured || len(inside) < phaseSeconds {
		return 0, 0, false
	}
	arrived := 0.0
	for _, s := range inside {
		arrived += float64(s.Arrived) / float64(len(inside))
	}
	before, after = inside[0].Backlog, inside[len(inside)-1].Backlog
	return before, after, float64(after-before) > backlogSeconds*arrived
}
