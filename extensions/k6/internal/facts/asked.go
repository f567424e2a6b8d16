package facts

import (
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// These thresholds of scripts have limits that an answer quotes.
const (
	drainRule  = "spike_drain_s"
	backRule   = "spike_p99_back_s"
	driftRule  = "soak_latency_drift_ms"
	growthRule = "soak_memory_growth_mb"
	canaryRule = "connections_canary_p99_ms"
)

// asked is the answer to the question of a run's script, each figure beside its limit; empty: it has none, or no figure
// that would answer it.
func asked(r *runfile.Run) string {
	f := r.Facts
	switch {
	case f.Asks(runfile.Recovering) && f.Recovery != nil:
		return recovered(r, f.Recovery)
	case f.Asks(runfile.Steadiness):
		return stayed(r)
	case f.Asks(runfile.OfConnections) && f.Connections != nil:
		return heldConnections(r, f.Connections)
	case f.Sessions != nil:
		return sentSessions(r, f.Sessions)
	case f.Clients != nil:
		return fmt.Sprintf("All clients together exchanged at most %s, with %s.",
			words.PerSecond(f.Clients.Most.PerS), words.Plural(f.Clients.Most.Clients, "client"))
	}
	return ""
}

// recovered says how long a pipeline took to recover from a burst.
func recovered(r *runfile.Run, f *runfile.Recovery) string {
	burst, after, since := runfile.Phase{}, 0.0, false
	for _, p := range r.Run.Profile.Phases {
		if since {
			after += p.DurationS
		}
		if p.Name == f.Phase {
			burst, since = p, true
		}
	}
	about, most := "", "" // lateness before the burst makes the first times too short, later lateness too long
	if arrivalTooHigh(r) {
		about, most = "about ", "at most "
	}
	load := "the burst of " + words.Duration(burst.DurationS)
	if burst.ArrivalRate != nil && burst.RampTo == nil {
		load = words.Rate(*burst.ArrivalRate, "requests") + " for " + words.Duration(burst.DurationS)
	}
	text := "After " + load
	switch {
	case f.CalmBacklog == nil:
		text += " the backlog has no second before it to compare with"
	case f.DrainedS == nil:
		text += " the backlog did not drain within " + words.Duration(after)
	case leftNone(f):
		text += " there was no backlog behind the ingest" + besideLimit(r, drainRule, "s")
	case *f.DrainedS <= 0:
		text += " the backlog had drained at its end" + besideLimit(r, drainRule, "s")
	default:
		text += " the backlog drained in " + about + words.Duration(*f.DrainedS) + besideLimit(r, drainRule, "s")
	}
	switch {
	case f.CalmP99MS == nil:
		text += "; no message arrived before it to compare p99 with."
	case f.BackS == nil:
		text += "; p99 was not back within " + words.Duration(after) + "."
	case *f.BackS <= 0:
		text += "; p99 was back at once" + besideLimit(r, backRule, "s") + "."
	default:
		text += "; p99 was back after " + about + words.Duration(*f.BackS) + besideLimit(r, backRule, "s") + "."
	}
	if f.Arrived99S == nil {
		return text + " Less than 99 % of the burst arrived."
	}
	return text + fmt.Sprintf(" 99 %% of the burst had arrived %s%s after it began.", most, words.Duration(*f.Arrived99S))
}

// leftNone reports whether the backlog never grew: requests waited before the ingest had accepted them, if anywhere.
func leftNone(f *runfile.Recovery) bool {
	return f.CalmBacklog != nil && f.PeakBacklog <= max(1, *f.CalmBacklog)
}

// stayed says how much latency and memory changed over a steady load.
//
// A late generator may have lengthened the p99 of either quarter, so the difference is not a bound but an estimate.
func stayed(r *runfile.Run) string {
	phases := measuredPhases(r.Run.Profile.Phases)
	length := 0.0
	for _, p := range phases {
		length += p.DurationS
	}
	load := "Over " + words.Duration(length)
	if steadyRate(phases) {
		load += " at " + words.Rate(*phases[0].ArrivalRate, "requests")
	}
	text := load + " too few messages arrived for a p99 of the second quarter and the last"
	if d := r.Facts.Drift; d != nil && d.GrewMS != nil {
		change, about, ms := "grew", "", *d.GrewMS
		if ms < 0 {
			change, ms = "fell", -ms
		}
		if arrivalTooHigh(r) {
			about = "about "
		}
		text = fmt.Sprintf("%s, p99 %s by %s%s ms from the second quarter to the last%s", load, change, about,
			words.MS(&ms), besideLimit(r, driftRule, "ms"))
	}
	m := r.Facts.Memory
	switch limit := besideLimit(r, growthRule, "MB"); {
	case m == nil || m.MostGrewMB == nil:
		return text + "; a process did not report its memory."
	case *m.MostGrewMB <= 0:
		return text + ", and the memory of no process grew" + limit + "."
	default:
		return text + fmt.Sprintf(", and memory grew by %s MB at most%s.", words.Level(*m.MostGrewMB), limit)
	}
}

// heldConnections says how many connections were held, and what the canary saw meanwhile.
func heldConnections(r *runfile.Run, c *runfile.Connections) string {
	by := "The broker"
	if c.Brokers != 1 {
		by = words.Plural(c.Brokers, "broker")
	}
	beside := ""
	if r.Canary != nil && r.Canary.Sent > 0 {
		beside = ", and no canary arrived"
		if p99 := r.Canary.Latency.P99; p99 != nil {
			beside = ", with canary p99 " + words.MS(p99) + " ms" + besideLimit(r, canaryRule, "ms")
		}
	}
	return fmt.Sprintf("%s held %s of %s for %s%s.", by, words.Count(c.Held), words.Plural(c.Wanted, "connection"),
		words.Duration(c.During.ToS-c.During.FromS), beside)
}

// sentSessions says which sessions there were, and how fast their messages arrived.
func sentSessions(r *runfile.Run, s *runfile.Sessions) string {
	text := fmt.Sprintf("%s of %s sent %s", words.Rate(s.PerS, "sessions"),
		words.Plural(r.Facts.Question.Calls, "call"), words.Rate(s.RequestsPerS, "requests"))
	arrival := r.Latency.Arrival
	if arrival.Count == 0 {
		return text + "."
	}
	return text + fmt.Sprintf(", with arrival p50 %s ms and %s.", words.MS(arrival.At(50)), worst(arrival))
}

// besideLimit is a script's limit as text, in a unit; empty: it has none.
func besideLimit(r *runfile.Run, name, unit string) string {
	for _, rule := range r.Verdict.Rules {
		if rule.Name == name && rule.Limit != nil {
			return " (limit " + words.Exact(*rule.Limit) + " " + unit + ")"
		}
	}
	return ""
}
