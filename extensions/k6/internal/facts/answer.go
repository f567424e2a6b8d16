package facts

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// withFailures adds what did not arrive and what failed to an answer: before it if that failed the run. slow says which
// stage took the time; empty: the run was not too slow.
//
// Where the verdict's line has the figures, the sentence begins with the cause: with the requests that failed if they
// are most.
func withFailures(r *runfile.Run, answer, slow string) string {
	if failed := strings.TrimSpace(failing(r)); muchFailed(r, slow) || failed != "" && endsNamed(r) {
		if refusedShare(r) > mostRefused {
			return joined(" ", failed, slow, answer, othersLatency(r))
		}
		return joined(" ", slow, failed, answer, othersLatency(r))
	}
	answer = joined(" ", answer, slow)
	failures := strings.TrimSpace(missing(r) + failing(r))
	switch {
	case failures == "":
		return answer
	case r.Verdict.Result == runfile.Fail:
		return failures + " " + answer
	}
	return answer + " " + failures
}

// muchFailed reports whether a run failed both by its latency, with a cause that is known, and by messages or requests.
func muchFailed(r *runfile.Run, slow string) bool {
	return r.Verdict.Result == runfile.Fail && slow != "" && missing(r)+failing(r) != ""
}

// endsNamed reports whether the line of a failed verdict counts each end of the messages that did not arrive.
func endsNamed(r *runfile.Run) bool {
	return r.Verdict.Result == runfile.Fail && !slices.ContainsFunc(ledger.MissedEnds(), func(end ledger.EndCount) bool {
		return end.Of(r.Account) > 0 && !slices.ContainsFunc(r.Verdict.Rules, func(rule runfile.Rule) bool {
			return rule.Name == end.Name && rule.IsBroken()
		})
	})
}

// othersLatency says which messages the latencies of a run have or lack, whichever are fewer and not counted before,
// beside a line that counts each end; empty: they have all.
func othersLatency(r *runfile.Run) string {
	ends, a := runfile.Missed(r.Account), r.Account
	all := words.Plural(a.Scheduled, "message")
	switch {
	case len(ends) == 0:
		return ""
	case 2*a.Arrived < a.Scheduled, len(ends) == 1 && ends[0].N == a.Requests.Failed:
		return fmt.Sprintf("Latencies are those of the %s of %s that arrived.", words.Count(a.Arrived), all)
	case len(ends) == 1:
		return fmt.Sprintf("Latencies lack the %s %s of %s.", words.Count(ends[0].N), ends[0].Name, all)
	}
	return fmt.Sprintf("Latencies lack the %s of %s that did not arrive.", words.Count(a.Scheduled-a.Arrived), all)
}

// sentence is the answer of a run without one from its script, by the model of its load.
func sentence(r *runfile.Run, best held, known bool) string {
	arrival, http := r.Latency.Arrival, r.Latency.HTTP
	busiest := busiest(r)
	switch {
	case arrival.Count == 0 && http.Count > 0:
		return fmt.Sprintf("Answered %s with %s p50 %s ms and p99 %s ms.", words.Plural(int(http.Count), "request"),
			r.Run.Protocol,
			words.MS(http.At(50)), words.MS(http.At(99)))
	case arrival.Count == 0 || busiest == nil:
		return "No delivery of a measured phase arrived."
	case r.Run.Model == runfile.Closed && runfile.Sweeps(r.Steps):
		return swept(r, best, known)
	case r.Run.Model == runfile.Closed && busiest.VUs != nil:
		return fmt.Sprintf("%s carried %s with arrival p50 %s ms and %s; %s p99 is %s ms.", load(r, *busiest.VUs),
			words.PerSecond(busiest.CarriedPerS), words.MS(arrival.At(50)), worst(arrival), r.Run.Protocol,
			words.MS(http.At(99)))
	case !known:
		most := ""
		if arrivalTooHigh(r) {
			most = "at most "
		}
		return fmt.Sprintf("Carried %s with arrival p50 %s%s ms and %s%s.", words.PerSecond(busiest.CarriedPerS),
			most, words.MS(arrival.At(50)), strings.Replace(worst(arrival), " ", " "+most, 1), limited(r))
	case best.perS == 0:
		return noneHeld(r, busiest)
	case best.most:
		long := ""
		if busiest.ScheduledPerS*(1-asMuch) > best.offered { // a higher rate was offered in a phase too short to be held
			long = fmt.Sprintf(" for %d s", heldSeconds)
		}
		return fmt.Sprintf("Held %s, the most that was offered%s%s.", words.PerSecond(best.perS), long, atRate(r, best))
	case tooSlow(r):
		if muchFailed(r, slowBy(r)) {
			return fmt.Sprintf("Below the limit %s were held for %d s; %s were offered.", words.PerSecond(best.perS),
				heldSeconds, offeredMost(busiest))
		}
		return fmt.Sprintf("Arrival %s is above the limit of %s ms. Below it %s were held for %d s; %s were offered.",
			worst(arrival), words.Figure(r.Answer.P99LimitMS), words.PerSecond(best.perS), heldSeconds, offeredMost(busiest))
	}
	if best.exact && best.perS >= busiest.ScheduledPerS*(1-asMuch) { // a few seconds at this rate did not keep the limit
		return fmt.Sprintf("Held %s, the most that was offered, though not in each %d s of it%s.",
			words.PerSecond(best.perS), heldSeconds, atRate(r, best))
	}
	return fmt.Sprintf("Held %s%s. %s were offered, and the whole run has %s.", words.PerSecond(best.perS),
		atRate(r, best), offeredMost(busiest), worst(arrival))
}

// load is what sent a load of the closed model: the script's own executors, or so many VUs.
func load(r *runfile.Run, vus int) string {
	if names, ok := r.Environment[runfile.Executors].(string); ok {
		return "Scenario " + names
	}
	return words.Plural(vus, "VU")
}

// noneHeld is the answer of a run that held no rate.
func noneHeld(r *runfile.Run, busiest *runfile.Step) string {
	limit, offered := words.Figure(r.Answer.P99LimitMS), offeredMost(busiest)
	p99 := r.Latency.Arrival.At(99)
	slow := p99 != nil && *p99 >= *r.Answer.P99LimitMS // what is missing is not the only cause
	switch {
	case !slow && r.Account.Rejected > 0:
		return fmt.Sprintf("No rate up to %s was sustained for %d s without refusals.", offered, heldSeconds)
	case !slow && missing(r) != "":
		return fmt.Sprintf("No rate up to %s was sustained for %d s: some messages did not arrive.", offered,
			heldSeconds)
	case muchFailed(r, slowBy(r)):
		return fmt.Sprintf("No rate up to %s kept the limit for %d s.", offered, heldSeconds)
	case oneRate(r):
		return fmt.Sprintf("At %s, the only rate offered, arrival %s (limit %s ms).", offered,
			strings.Replace(worst(r.Latency.Arrival), " ", " was ", 1), limit)
	}
	return fmt.Sprintf("Held no rate for %d s with arrival p99 below %s ms: up to %s were offered, with %s.", heldSeconds,
		limit, offered, worst(r.Latency.Arrival))
}

// oneRate reports whether the measured phases have one rate.
func oneRate(r *runfile.Run) bool {
	least, most := math.Inf(1), 0.0
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Measured {
			least, most = min(least, s.ScheduledPerS), max(most, s.ScheduledPerS)
			if ramps(r, s.Name) {
				return false
			}
		}
	}
	return most > 0 && most-least <= asMuch*most
}

// offeredMost is the rate of the busiest step as it was offered.
func offeredMost(busiest *runfile.Step) string {
	rate := busiest.ScheduledPerS
	if offered := busiest.OfferedPerS; offered != nil && *offered < rate*(1-asMuch) {
		return fmt.Sprintf("%s (of %s that were planned)", words.PerSecond(*offered), words.PerSecond(rate))
	}
	return words.PerSecond(rate)
}

// atRate is the arrival p99 at a held rate, with its limit and what the generator's lateness has in it.
func atRate(r *runfile.Run, h held) string {
	figure, most := worst(r.Latency.Arrival), ""
	if h.p99 != nil {
		figure = "p99 " + words.MS(h.p99) + " ms"
	}
	if h.p99 != nil && !h.exact || arrivalTooHigh(r) {
		most = " at most"
	}
	inside := ""
	if late := lateInside(r); late != "" {
		inside = "; " + late
	}
	return ", with arrival " + strings.Replace(figure, " ", most+" ", 1) + limited(r) + inside
}

// arrivalTooHigh reports whether the instrument may only have lengthened the arrival latency.
func arrivalTooHigh(r *runfile.Run) bool {
	return slices.ContainsFunc(r.Verdict.Rules, func(rule runfile.Rule) bool {
		return rule.IsBroken() && slices.Contains(rule.Doubts,
			runfile.Doubt{Claim: runfile.ArrivalClaim, Direction: runfile.TooHigh})
	})
}

// lateInside says how much of the arrival latency is the generator's lateness; empty: little.
func lateInside(r *runfile.Run) string {
	for _, rule := range r.Verdict.Rules {
		if rule.Name == "lateness" && rule.IsBroken() && rule.Value != nil {
			return "up to " + words.MS(rule.Value) + " ms of it are the generator's"
		}
	}
	return ""
}

// limited is the limit behind a figure; empty: there is none.
func limited(r *runfile.Run) string {
	if r.Answer.P99LimitMS == nil {
		return ""
	}
	return " (limit " + words.Figure(r.Answer.P99LimitMS) + " ms)"
}

// worst is the p99 as text, or the maximum with too few samples for a p99.
func worst(l runfile.Latency) string {
	if p99 := l.At(99); p99 != nil {
		return "p99 " + words.MS(p99) + " ms"
	}
	return "max " + words.MS(l.Max) + " ms"
}

// busiest is the measured step with the highest offered rate; nil: none was reached.
func busiest(r *runfile.Run) (most *runfile.Step) {
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Measured && s.DurationS > 0 && (most == nil || s.ScheduledPerS > most.ScheduledPerS) {
			most = s
		}
	}
	return most
}

// missing names the messages that did not arrive; empty: all did.
func missing(r *runfile.Run) string {
	a := r.Account
	var ends []string
	for _, end := range runfile.Missed(a) {
		ends = append(ends, words.Count(end.N)+" "+end.Name)
	}
	if len(ends) == 0 {
		return ""
	}
	whole := ""
	if a.Altered > 0 {
		whole = " whole"
	}
	return fmt.Sprintf(" %s of %s did not arrive%s (%s): latencies are those of the others.",
		words.Count(a.Scheduled-a.Arrived),
		words.Plural(a.Scheduled, "message"), whole, strings.Join(ends, ", "))
}
