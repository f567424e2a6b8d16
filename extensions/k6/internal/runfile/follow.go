package runfile

import "slices"

// Follower fills in what a second owes to the seconds before it. The zero value is at the start of a run.
type Follower struct {
	backlog int // deliveries, at the end of the second before
	waiting int // messages sent and not answered, since the start
}

// Fill sets these members of the next second:
//
//   - Due: deliveries owed for what was accepted in it. They arrived in it, or the backlog grew by them.
//   - InFlight: messages sent and not answered at its end.
func (f *Follower) Fill(s *Interval) {
	s.Due = s.Arrived + int64(s.Backlog-f.backlog)
	f.backlog = s.Backlog
	f.waiting += s.Sent - s.Accepted - s.Rejected - s.Failed
	s.InFlight = max(0, f.waiting)
}

// Follow fills the seconds of one run, from its first.
func Follow(timeline []Interval) {
	var f Follower
	for i := range timeline {
		f.Fill(&timeline[i])
	}
}

// followed reports whether a second has what Follow sets. Where none has, Follow sets what an earlier version left out,
// and nothing else.
func followed(timeline []Interval) bool {
	return slices.ContainsFunc(timeline, func(s Interval) bool { return s.Due != 0 || s.InFlight != 0 })
}
