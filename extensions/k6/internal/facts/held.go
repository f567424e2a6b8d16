package facts

import (
	"math"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const (
	heldSeconds    = 5    // seconds that a rate has to be kept
	backlogSeconds = 0.5  // a backlog that grows by more than the arrivals of this time is not just in flight
	asMuch         = 0.01 // rates that differ by less are equal: each second has a whole number of requests
)

// carry sets the rate that each step carried: messages/s that arrived during the step, however their requests ended.
// Lost and late messages do not count.
func carry(steps []runfile.Step) {
	for i := range steps {
		s := &steps[i]
		s.CarriedPerS = 0
		if s.Due == 0 || s.DurationS <= 0 {
			continue
		}
		grew := owed(s.Backlog)
		// After a wait between steps the earlier backlog is unknown: the backlog at the end counts as this step's.
		if i > 0 && s.StartS-steps[i-1].StartS-steps[i-1].DurationS < 0.001 {
			grew -= owed(steps[i-1].Backlog)
		}
		arrived := max(0, min(s.Arrived, s.Due-max(0, grew)))
		s.CarriedPerS = float64(arrived) / float64(s.Due) * float64(max(s.Taken, s.Accepted)) / s.DurationS
	}
}

func owed(backlog *int) int {
	if backlog == nil {
		return 0
	}
	return *backlog
}

// whole reports whether all messages of a step arrived, except those in flight at its end.
func whole(s runfile.Step) bool {
	return s.Accepted >= s.Scheduled && s.Arrived >= s.Due && float64(owed(s.Backlog)) <= owedMuch*float64(s.Scheduled)
}

// held is the highest rate that kept arrival p99 below a limit.
type held struct {
	perS    float64 // messages/s that were accepted and arrived; 0: none
	offered float64 // messages/s that were due meanwhile; 0 in a sweep
	most    bool    // in the open model: no higher rate was offered for as long
	vus     int     // the concurrency, in a sweep
	over    []int   // the concurrencies that did not hold, in a sweep

	p99   *float64 // arrival p99 at that rate, ms; nil: it has too few deliveries
	exact bool     // p99 is that of all deliveries at the rate; else no second of the window is above it
}

// heldBelow finds the highest held rate: among the steps of a sweep, or over some seconds of another run. In a sweep a
// rate counts only if all steps with fewer VUs held too. It is unknown for a run with too few seconds.
func heldBelow(r *runfile.Run, limit float64) (h held, known bool) {
	if r.Run.Model != runfile.Closed {
		return heldSecondsBelow(r, limit)
	}
	steps := runfile.SweepSteps(r.Steps)
	for _, s := range steps {
		p99 := s.Latency.Arrival.At(99)
		if p99 == nil || *p99 >= limit || !whole(s) {
			h.over = append(h.over, *s.VUs)
		}
		if len(h.over) == 0 && s.CarriedPerS > h.perS {
			h.perS, h.vus, h.p99 = s.CarriedPerS, *s.VUs, p99
		}
	}
	return h, len(steps) > 0
}

// window is a span of consecutive seconds in measured phases, long enough for a percentile.
type window struct {
	offered, perS float64 // messages/s: due, and accepted and arrived
	kept          bool
	seconds       []runfile.Interval
}

// aboutAsMuch is the share within which windows are at one rate.
const aboutAsMuch = 0.02

func heldSecondsBelow(r *runfile.Run, limit float64) (h held, known bool) {
	all := windows(r, limit)
	var best window
	for _, w := range all {
		if w.kept && w.perS > best.perS && mostlyKept(all, w.offered) {
			best = w
		}
	}
	more := slices.ContainsFunc(all, func(w window) bool { return !w.kept && w.offered >= best.offered*(1-asMuch) })
	h = held{perS: best.perS, offered: best.offered, most: !more}
	h.p99, h.exact = p99At(r, best, limit)
	return h, len(all) > 0
}

// mostlyKept reports whether most of the windows at a rate were kept: a few lucky seconds hold no rate.
func mostlyKept(all []window, offered float64) bool {
	kept, of := 0, 0
	for _, w := range all {
		if math.Abs(w.offered-offered) <= aboutAsMuch*offered {
			of++
			if w.kept {
				kept++
			}
		}
	}
	return 2*kept > of
}

// p99At is the arrival p99 at the rate of a window: that of the phase with this rate, if all of it held the limit (ms),
// or else the highest of its seconds.
func p99At(r *runfile.Run, w window, limit float64) (p99 *float64, exact bool) {
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Measured && w.offered > 0 && math.Abs(s.ScheduledPerS-w.offered) <= asMuch*w.offered && !ramps(r, s.Name) {
			if p99 := s.Latency.Arrival.At(99); p99 != nil && *p99 < limit {
				return p99, true
			}
		}
	}
	for i := range w.seconds {
		if own := w.seconds[i].Arrival.P99OrNil(); own != nil && (p99 == nil || *own > *p99) {
			p99 = own
		}
	}
	return p99, false
}

// ramps reports whether a phase changes its rate.
func ramps(r *runfile.Run, name string) bool {
	return slices.ContainsFunc(r.Run.Profile.Phases, func(p runfile.Phase) bool {
		return p.Name == name && p.RampTo != nil
	})
}

// windows are all windows within measured phases. A window takes heldSeconds, or as long as a hundred deliveries take:
// a low rate has few a second.
func windows(r *runfile.Run, limit float64) (all []window) {
	steps := map[string]*runfile.Step{}
	for i := range r.Steps {
		if r.Steps[i].Measured {
			steps[r.Steps[i].Name] = &r.Steps[i]
		}
	}
	// A lost message stays in the backlog: if a later second ends without backlog, nothing was lost before.
	least := make([]int, len(r.Timeline)+1)
	least[len(r.Timeline)] = math.MaxInt
	for i := len(r.Timeline) - 1; i >= 0; i-- {
		least[i] = min(least[i+1], r.Timeline[i].Backlog)
	}
	request := ofOneRequest(r)
	for i := range r.Timeline {
		var sum sums
		lost := false
		for j := i; j < len(r.Timeline) && !sum.enough(); j++ {
			s := &r.Timeline[j]
			if s.Phase == nil || steps[*s.Phase] == nil {
				break
			}
			step := steps[*s.Phase]
			lost = lost || r.Account.Pending == 0 && step.Due > step.Arrived
			sum.add(s, limit)
		}
		if !sum.enough() {
			continue
		}
		before := 0
		if i > 0 {
			before = r.Timeline[i-1].Backlog
		}
		last, seconds := i+sum.seconds-1, float64(sum.seconds)
		arrived, grew := float64(sum.arrived)/seconds, float64(max(0, r.Timeline[last].Backlog-before))
		w := window{offered: float64(sum.scheduled) / seconds, kept: sum.below() && sum.wasOffered(),
			seconds: r.Timeline[i : last+1]}
		if arrived > 0 {
			w.perS = min(w.offered, float64(sum.accepted)/seconds*arrived/(arrived+grew/seconds))
		}
		w.kept = w.kept && grew <= max(backlogSeconds*arrived, float64(request)) && (!lost || least[last] == 0)
		all = append(all, w)
	}
	return all
}

// ofOneRequest is the most deliveries of one request: they may be in flight at any time.
func ofOneRequest(r *runfile.Run) int {
	most := 0
	for _, f := range r.Run.Profile.Flows {
		most = max(most, f.Messages*f.Deliveries)
	}
	return most
}

// sums adds up consecutive seconds.
type sums struct {
	seconds, scheduled, accepted int
	offered                      int   // messages that were sent in their second
	arrived, above               int64 // deliveries; of those, the ones that may have taken the limit or longer
	broken                       bool  // a second alone did not keep the limit, or requests failed in it
}

func (w *sums) add(s *runfile.Interval, limit float64) {
	above := above(s, limit)
	w.seconds, w.scheduled, w.accepted = w.seconds+1, w.scheduled+s.Scheduled, w.accepted+s.Accepted
	w.arrived, w.above = w.arrived+s.Arrived, w.above+above
	if w.offered += s.Scheduled; s.Offered != nil {
		w.offered += *s.Offered - s.Scheduled
	}
	p99 := s.Arrival.P99OrNil()
	switch {
	case s.Rejected > 0 || s.Failed > 0:
		w.broken = true
	case p99 != nil:
		w.broken = w.broken || *p99 >= limit
	case s.Arrived >= runfile.Hundred: // merged, without a percentile
		w.broken = w.broken || runfile.Hundred*above > s.Arrived
	}
}

// enough reports whether the seconds are as many as a rate has to be kept for, and have what a 99th percentile needs.
func (w *sums) enough() bool {
	return w.seconds >= heldSeconds && (w.scheduled >= runfile.Hundred || w.arrived >= runfile.Hundred)
}

// wasOffered reports whether the load was sent when it was due.
func (w *sums) wasOffered() bool { return float64(w.offered) >= (1-asMuch)*float64(w.scheduled) }

// below reports whether the p99 of all deliveries is below the limit.
func (w *sums) below() bool {
	return !w.broken && w.arrived >= runfile.Hundred && runfile.Hundred*w.above <= w.arrived
}

// above is how many deliveries of a second took a limit (ms) or longer, at most: a bin that holds the limit counts as a
// whole.
func above(s *runfile.Interval, limit float64) int64 {
	q := s.Arrival
	if q == nil || q.Max < limit {
		return 0
	}
	n := q.Count
	if len(s.Bins) > 1 {
		n = 0
		for i, of := range s.Bins[1:] {
			if ledger.BinEnd(s.Bins[0]+int64(i)) > limit*1000 {
				n += of
			}
		}
	}
	for _, quantile := range []struct {
		ms    *float64
		above float64
	}{{q.P99, 0.01}, {q.P95, 0.05}, {q.P50, 0.5}} {
		if quantile.ms != nil && *quantile.ms < limit {
			n = min(n, max(1, int64(quantile.above*float64(q.Count))))
		}
	}
	return n
}

// Offer sets the rate that was offered in each step of the open model: messages/s that were sent in a second in which
// as many were due. A load that is sent later, in a burst, was not offered at its rate.
func Offer(r *runfile.Run) {
	for i := range r.Steps {
		step := &r.Steps[i]
		due, sent := 0, 0
		for j := range r.Timeline {
			if s := &r.Timeline[j]; s.Offered != nil && s.Phase != nil && *s.Phase == step.Name {
				due, sent = due+s.Scheduled, sent+*s.Offered
			}
		}
		step.OfferedPerS = nil
		if due > 0 {
			step.OfferedPerS = new(step.ScheduledPerS * float64(sent) / float64(due))
		}
	}
}
