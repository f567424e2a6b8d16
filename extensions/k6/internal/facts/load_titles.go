package facts

import (
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// refusedMuch is the share of refused messages from which on a run's first chart is about them.
const refusedMuch = 0.01

// refusalsTitle is about accepted and refused messages; empty: few were refused.
func refusalsTitle(r *runfile.Run) string {
	a := r.Account
	share := float64(a.Rejected) / float64(max(1, a.Scheduled))
	if share < refusedMuch {
		return ""
	}
	return fmt.Sprintf("%s of %s (%s) were rejected", words.Count(a.Rejected), words.Plural(a.Scheduled, "message"),
		words.Percent(share))
}

func messagesTitle(r *runfile.Run, seconds []*runfile.Interval) string {
	how := "scheduled"
	if r.Run.Model == runfile.Closed {
		how = "sent"
	}
	scheduled, accepted := 0, 0
	for i := range r.Timeline {
		scheduled, accepted = scheduled+r.Timeline[i].Scheduled, accepted+r.Timeline[i].Accepted
	}
	if scheduled == 0 {
		return "0 messages were " + how
	}
	left := fmt.Sprintf("all %s were accepted", words.Count(scheduled))
	if accepted < scheduled {
		left = fmt.Sprintf("%s of %s were not accepted", words.Count(scheduled-accepted), words.Count(scheduled))
		if r.Run.Ended == nil {
			left = fmt.Sprintf("%s of %s had not been accepted when the record ended", words.Count(scheduled-accepted),
				words.Count(scheduled))
		}
	}
	most, at, known := highestCount(seconds, func(s *runfile.Interval) int { return s.Scheduled })
	if !known {
		return fmt.Sprintf("No measured phase yet: %s", left)
	}
	return fmt.Sprintf("Up to %s a second were %s (%s); %s", words.Plural(most, "message"), how, moment(at), left)
}

func deliveriesTitle(r *runfile.Run, seconds []*runfile.Interval) string {
	d := r.Account.Deliveries
	if d.Due == 0 {
		return "0 deliveries were due: no message was accepted"
	}
	arrived := fmt.Sprintf("all %s that were due did", words.Count(d.Due))
	if d.Missing > 0 {
		arrived = fmt.Sprintf("%s of %s did not arrive", words.Count(d.Missing), words.Count(d.Due))
		if r.Run.Ended == nil {
			arrived = fmt.Sprintf("%s of %s had not arrived when the record ended", words.Count(d.Missing), words.Count(d.Due))
		}
	}
	most, at, known := highestCount(seconds, func(s *runfile.Interval) int { return int(s.Arrived) })
	if !known {
		return "No delivery of a measured phase: " + arrived
	}
	return fmt.Sprintf("Up to %s a second arrived (%s); %s", deliveriesOf(most), moment(at), arrived)
}

func backlogTitle(seconds []*runfile.Interval) string {
	most, at, known := highestCount(seconds, func(s *runfile.Interval) int { return s.Backlog })
	if !known {
		return "Backlog: 0 deliveries at the end of every measured second"
	}
	return fmt.Sprintf("Backlog peaked at %s (%s)", deliveriesOf(most), moment(at))
}

func inFlightTitle(seconds []*runfile.Interval) string {
	most, at, known := highestCount(seconds, func(s *runfile.Interval) int { return s.InFlight })
	if !known {
		return "0 messages waited for an answer at the end of every measured second"
	}
	return fmt.Sprintf("Up to %s waited for an answer (%s)", words.Plural(most, "message"), moment(at))
}

func payloadTitle(seconds []*runfile.Interval) string {
	most, at, known := highestCount(seconds, func(s *runfile.Interval) int { return int(s.ArrivedBytes) })
	if !known {
		return "0 kB of payload arrived in the measured seconds"
	}
	size, unit := float64(most)/1e3, "kB"
	if most >= 1e6 {
		size, unit = float64(most)/1e6, "MB"
	}
	return fmt.Sprintf("Up to %s %s of payload arrived a second (%s)", words.MS(&size), unit, moment(at))
}
