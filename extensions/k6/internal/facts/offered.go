package facts

import "github.com/arrival-bench/arrival/extensions/k6/internal/runfile"

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
