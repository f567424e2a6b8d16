package facts

import (
	"cmp"
	"math"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Recover is the recovery of a run with a burst: the one phase with at least twice the rate of both phases beside it.
// factor is how many times the p99 before the burst is back to normal. Recover returns nil if the run has no burst, or
// no second after its start.
func Recover(r *runfile.Run, factor float64) *runfile.Recovery { return recoverFrom(r, factor, 0) }

// LongestS is the longest time that a metric of the recovery can be, s: a generator that was late before the burst made
// a backlog and a p99 normal that are not. is reports whether the metric is one of them.
func LongestS(r *runfile.Run, metric string) (s float64, is bool) {
	late := 0.0
	if b := burstOf(r); b != nil {
		for _, s := range secondsIn(r.Timeline, runfile.Span{ToS: b.step.StartS}) {
			if s.LateMaxMS != nil {
				late = max(late, *s.LateMaxMS)
			}
		}
	}
	var time *float64
	switch found := cmp.Or(recoverFrom(r, backFactorOf(r), Overtaking*late), &runfile.Recovery{}); {
	case strings.HasPrefix(metric, drainRule):
		time = found.DrainedS
	case strings.HasPrefix(metric, backRule):
		time = found.BackS
	default:
		return 0, false
	}
	if time == nil {
		return math.Inf(1), true
	}
	return *time, true
}

// recoverFrom is Recover, where messages before the burst may have arrived late by so much (ms).
func recoverFrom(r *runfile.Run, factor, late float64) *runfile.Recovery {
	b := burstOf(r)
	if b == nil {
		return nil
	}
	during := spanOf(b.step)
	found := &runfile.Recovery{Phase: b.step.Name, PeakBacklog: -1, BackFactor: factor, Arrived99S: b.step.Arrived99S}
	for _, s := range secondsIn(r.Timeline, runfile.Span{FromS: during.FromS, ToS: math.Inf(1)}) {
		if s.Backlog > found.PeakBacklog {
			found.PeakBacklog, found.PeakS = s.Backlog, float64(s.T)
		}
	}
	if found.PeakBacklog < 0 {
		return nil
	}
	calm := secondsIn(r.Timeline, spanOf(b.before))
	if len(calm) > 0 {
		found.CalmBacklog = new(0)
		for _, s := range calm {
			*found.CalmBacklog = max(*found.CalmBacklog, s.Backlog)
		}
		owed := late / 1000 * float64(b.before.Due) / b.before.DurationS
		*found.CalmBacklog = max(0, *found.CalmBacklog-int(math.Ceil(owed)))
		found.DrainedS = drained(r.Timeline, during.ToS, max(ofOneRequest(r), *found.CalmBacklog))
	}
	var few bool
	if found.CalmP99MS, few = worstP99(calm); found.CalmP99MS != nil {
		found.CalmP99MS = new(*found.CalmP99MS - late)
		found.BackS = back(r.Timeline, during.ToS, factor**found.CalmP99MS, few)
	}
	return found
}

// drained is the time from the end of a burst (s) to the end of the first second from which on the backlog stays at or
// below a limit; nil: it does not.
func drained(timeline []runfile.Interval, end float64, limit int) (s *float64) {
	for i := range timeline {
		switch since := float64(timeline[i].T+1) - end; {
		case since < 0:
		case timeline[i].Backlog > limit:
			s = nil
		case s == nil:
			s = &since
		}
	}
	return s
}

// worstP99 is the highest p99 of seconds with enough deliveries, in ms. At a low rate no second has as many: few is
// true, and it is the largest latency. The first second counts only if it is the only one.
func worstP99(seconds []*runfile.Interval) (worst *float64, few bool) {
	if len(seconds) > 1 {
		seconds = seconds[1:]
	}
	most := 0.0
	for _, s := range seconds {
		if p99 := s.Arrival.P99OrNil(); p99 != nil && (worst == nil || *p99 > *worst) {
			worst = p99
		}
		if s.Arrival != nil {
			most, few = max(most, s.Arrival.Max), true
		}
	}
	if worst == nil && few {
		return &most, true
	}
	return worst, false
}

// back is the time from the end of a burst (s) to the start of the first second from which on each second of a phase is
// within a limit (ms); nil: the last one is not, or no second has enough deliveries to show it. few says that the limit
// is of seconds with few deliveries.
func back(timeline []runfile.Interval, end, limit float64, few bool) (s *float64) {
	for i := range timeline {
		second := &timeline[i]
		since := float64(second.T) - end
		if since < 0 || second.Phase == nil {
			continue
		}
		switch normal, known := within(second, limit, few); {
		case !known:
		case !normal:
			s = nil
		case s == nil:
			s = &since
		}
	}
	return s
}

// within reports whether the p99 of a second is within a limit (ms). It is not known of a second with fewer than a
// hundred deliveries, unless the slowest of them, or a second without one while deliveries are owed, shows that the
// pipeline is not back. Beside few deliveries before the burst, the slowest one also shows that it is.
func within(s *runfile.Interval, limit float64, few bool) (normal, known bool) {
	if p99 := s.Arrival.P99OrNil(); p99 != nil {
		return *p99 <= limit, true
	}
	if s.Arrival == nil {
		return false, s.Backlog > 0
	}
	slow := s.Arrival.Max > limit
	return !slow, slow || few
}
