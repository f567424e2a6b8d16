package runfile

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
