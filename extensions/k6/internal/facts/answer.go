package facts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Conclude sets what follows from the rest of a run: the rates that its steps carried, the knee, the findings, and the
// answer.
//
// own is the script's answer; empty: none.
func Conclude(r *report.Run, own string) {
	carry(r.Steps)
	Offer(r)
	r.Knee = NewKnee(r)
	r.Findings = findings(r)
	if r.ArrivalBins == nil { // merged, or of an earlier version
		r.ArrivalBins = r.Latency.Arrival.NewBins()
	}
	r.Facts = report.Facts{LoadFacts: loadFacts(r)}
	r.Facts.Recovery = recovery(r)
	DivideTime(r)
	r.Facts.ArrivedShare = shareOf(new(float64(r.Account.Arrived)), new(float64(r.Account.Scheduled)))
	if text := disturbed(r); text != "" {
		r.Facts.Disturbed = &text
	}
	r.Facts.Generator = generatorCost(r)
	r.Facts.Bottleneck, r.Facts.NotArrived, r.Facts.Doubts = bottleneck(r), notArrived(r), inDoubt(r)
	r.Facts.Balance, r.Facts.Targets = balance(r.Account), targets(r)
	r.Facts.Instrument, r.Facts.Host, r.Facts.Resources = checks(r), hostUse(r), resources(r)
	r.Verdict.Meaning = meaning(r)
	limit := p99Limit(r)
	r.Answer = report.Answer{Sentence: unusable(r), P99LimitMS: limit}
	var best held
	known := false
	if limit != nil && r.Account.Balanced {
		best, known = heldBelow(r, *limit)
		r.Answer.WithinLimit = r.Latency.Arrival.Within(time.Duration(*limit * float64(time.Millisecond)))
	}
	if r.Answer.Sentence == "" {
		if known {
			r.Answer.HeldPerS = &best.perS
		}
		r.Answer.Sentence = withFailures(r, cmp.Or(own, asked(r), sentence(r, best, known)))
	}
	screen(r, best)
}

// withFailures adds what did not arrive and what failed to an answer: before it if that failed the run.
func withFailures(r *report.Run, answer string) string {
	failures := strings.TrimSpace(missing(r) + failing(r))
	switch {
	case failures == "":
		return answer
	case r.Verdict.Result == report.Fail:
		return failures + " " + answer
	}
	return answer + " " + failures
}

func p99Limit(r *report.Run) *float64 {
	for _, rule := range r.Verdict.Rules {
		if (rule.Name == report.P99Rule || rule.Name == report.TrendRule) && strings.HasPrefix(rule.Op, "<") {
			return rule.Limit
		}
	}
	for _, f := range r.Figures {
		if f.Name == report.P99Figure {
			return f.Value
		}
	}
	return nil
}

// unusable is the reason why a run has no answer; empty: it has one.
func unusable(r *report.Run) string {
	switch {
	case r.Run.Ended == nil:
		return fmt.Sprintf("Not finished: %s of %s had arrived by then. Run it again to its end.",
			words.Count(r.Account.Arrived),
			words.Plural(r.Account.Scheduled, "message"))
	case !r.Account.Balanced:
		return "Not usable: " + report.Unbalanced + "."
	case r.Verdict.Result == report.Incomplete:
		return unjudged(r)
	case r.Verdict.Result != report.Invalid:
		return ""
	}
	for _, rule := range r.Verdict.Rules {
		if rule.Undecided {
			return undecided(r, rule)
		}
	}
	for _, rule := range r.Verdict.Rules {
		switch {
		case !rule.IsBroken() || rule.Result != report.Invalid:
			continue
		case len(rule.Doubts) > 0: // not everything is in doubt
			return "Undecided: " + cmp.Or(Cause(r), rule.Remedy, rule.Reason) + "."
		case Cause(r) != "":
			return "Not usable: " + Cause(r) + "."
		case rule.Remedy != "":
			return "Not usable: " + rule.Remedy + "."
		}
	}
	if len(r.Verdict.Reasons) > 0 {
		return "Not usable: " + strings.TrimSuffix(r.Verdict.Reasons[0], ".") + "."
	}
	return "Not usable: the load generator could not be trusted."
}

// undecided says what a limit can't be decided for, and what to do.
func undecided(r *report.Run, limit report.Rule) string {
	for _, rule := range r.Verdict.Rules {
		if slices.Contains(limit.DoubtedBy, rule.Name) && rule.IsBroken() && rule.Remedy != "" {
			return fmt.Sprintf("Undecided whether %s: %s.", limitText(limit), rule.Remedy)
		}
	}
	return "Undecided whether " + limitText(limit) + "."
}

// limitText is a limit with the name that reports give its figure: arrival p99 < 250 ms.
func limitText(limit report.Rule) string {
	return strings.Replace(limit.Limited(), limit.Name, limit.Label(), 1)
}

// unjudged says what an ended run lacks for an answer: limits that nobody judged, or a part of several.
func unjudged(r *report.Run) string {
	for _, rule := range r.Verdict.Rules {
		if rule.Open() {
			return "Not complete: the limit " + rule.Limited() +
				" was not judged. Correct it or measure its figure, and run again."
		}
	}
	if len(r.Verdict.Reasons) == 0 {
		return "Not complete. Run again."
	}
	return "Not complete: " + r.Verdict.Reasons[0] + ". Merge the missing part, or run again."
}

// sentence is the answer of a run without one from its script, by the model of its load.
func sentence(r *report.Run, best held, known bool) string {
	arrival, http := r.Latency.Arrival, r.Latency.HTTP
	busiest := busiest(r)
	switch {
	case arrival.Count == 0 && http.Count > 0:
		return fmt.Sprintf("Answered %s with %s p50 %s ms and p99 %s ms.", words.Plural(int(http.Count), "request"),
			r.Run.RequestProtocol(),
			words.MS(http.At(50)), words.MS(http.At(99)))
	case arrival.Count == 0 || busiest == nil:
		return "No delivery of a measured phase arrived."
	case r.Run.Model == report.Closed && report.Sweeps(r.Steps):
		return swept(r, best, known)
	case r.Run.Model == report.Closed:
		return fmt.Sprintf("%s carried %s with arrival p50 %s ms and %s; %s p99 is %s ms.", words.Plural(*busiest.VUs, "VU"),
			words.PerSecond(busiest.CarriedPerS), words.MS(arrival.At(50)), worst(arrival), r.Run.RequestProtocol(), words.MS(http.At(99)))
	case !known:
		return fmt.Sprintf("Carried %s with arrival p50 %s ms and %s%s.", words.PerSecond(busiest.CarriedPerS),
			words.MS(arrival.At(50)),
			worst(arrival), limited(r))
	case best.perS == 0:
		return noneHeld(r, busiest)
	case best.most:
		long := ""
		if busiest.ScheduledPerS*(1-asMuch) > best.offered { // in a phase too short to be held
			long = fmt.Sprintf(" for %d s", heldSeconds)
		}
		return fmt.Sprintf("Held %s, the most that was offered%s%s.", words.PerSecond(best.perS), long, atRate(r, best))
	case tooSlow(r):
		return fmt.Sprintf("Arrival %s is above the limit of %s ms. Below it %s were held for %d s; %s were offered.",
			worst(arrival), words.Figure(r.Answer.P99LimitMS), words.PerSecond(best.perS), heldSeconds, offeredMost(busiest))
	}
	return fmt.Sprintf("Held %s%s. %s were offered, and the whole run has %s.", words.PerSecond(best.perS),
		atRate(r, best), offeredMost(busiest), worst(arrival))
}

// noneHeld is the answer of a run that held no rate.
func noneHeld(r *report.Run, busiest *report.Step) string {
	limit, offered := words.Figure(r.Answer.P99LimitMS), offeredMost(busiest)
	switch {
	case r.Account.Rejected > 0:
		return fmt.Sprintf("No rate up to %s was sustained for %d s: some messages were always refused.", offered, heldSeconds)
	case missing(r) != "":
		return fmt.Sprintf("No rate up to %s was sustained for %d s: some messages never arrived.", offered, heldSeconds)
	case oneRate(r):
		return fmt.Sprintf("At %s, the only rate offered, arrival %s (limit %s ms).", offered,
			strings.Replace(worst(r.Latency.Arrival), " ", " was ", 1), limit)
	}
	return fmt.Sprintf("Held no rate for %d s with arrival p99 below %s ms: up to %s were offered, with %s.", heldSeconds,
		limit, offered, worst(r.Latency.Arrival))
}

// oneRate reports whether the measured phases have one rate.
func oneRate(r *report.Run) bool {
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
func offeredMost(busiest *report.Step) string {
	rate := busiest.ScheduledPerS
	if offered := busiest.OfferedPerS; offered != nil && *offered < rate*(1-asMuch) {
		return fmt.Sprintf("%s (of %s that were planned)", words.PerSecond(*offered), words.PerSecond(rate))
	}
	return words.PerSecond(rate)
}

// atRate is the arrival p99 at a held rate, with its limit and what the generator's lateness has in it.
func atRate(r *report.Run, h held) string {
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
func arrivalTooHigh(r *report.Run) bool {
	return slices.ContainsFunc(r.Verdict.Rules, func(rule report.Rule) bool {
		return rule.IsBroken() && slices.Contains(rule.Doubts,
			report.Doubt{Claim: report.ArrivalClaim, Direction: report.TooHigh})
	})
}

// lateInside says how much of the arrival latency is the generator's lateness; empty: little.
func lateInside(r *report.Run) string {
	for _, rule := range r.Verdict.Rules {
		if rule.Name == "lateness" && rule.IsBroken() && rule.Value != nil {
			return "up to " + words.MS(rule.Value) + " ms of it are the generator's"
		}
	}
	return ""
}

// tooSlow reports whether the limit on arrival p99 failed the run.
func tooSlow(r *report.Run) bool {
	return r.Verdict.Result == report.Fail && slices.ContainsFunc(r.Verdict.Rules, func(rule report.Rule) bool {
		return (rule.Name == report.P99Rule || rule.Name == report.TrendRule) && rule.OK != nil && !*rule.OK
	})
}

// swept is the answer of a sweep of concurrency: the knee, and the highest rate within the limit.
func swept(r *report.Run, best held, known bool) string {
	steps := report.SweepSteps(r.Steps)
	s := fmt.Sprintf("No knee up to %s: arrival p50 did not take off.", words.Plural(*steps[len(steps)-1].VUs, "VU"))
	switch why := turningOf(r).why; {
	case r.Knee != nil:
		s = kneeSentence(r.Knee, steps)
	case why != "":
		s = "No knee can be told: " + why + "."
	}
	if !known {
		return s
	}
	limit := words.Figure(r.Answer.P99LimitMS)
	switch {
	case best.perS == 0:
		return s + fmt.Sprintf(" No step held arrival p99 below %s ms.", limit)
	case len(best.over) == 0:
		return s + fmt.Sprintf(" Every step held arrival p99 below %s ms: the highest rate is %s, with %s.", limit,
			words.PerSecond(best.perS), words.Plural(best.vus, "VU"))
	}
	over, last := "", best.over[len(best.over)-1]
	for i, vus := range best.over[:len(best.over)-1] {
		over += words.Count(vus) + [2]string{", ", " and "}[min(1, max(0, i+3-len(best.over)))]
	}
	return s + fmt.Sprintf(" The highest rate with arrival p99 below %s ms is %s, with %s; %s%s exceeded it.", limit,
		words.PerSecond(best.perS),
		words.Plural(best.vus, "VU"), over, words.Plural(last, "VU"))
}

// sentence describes the knee of a sweep, and the rate there.
func kneeSentence(k *report.Knee, steps []report.Step) string {
	grew := ""
	if k.VUs == 0 {
		if k.Stage != "" {
			grew = ", and " + k.Stage + " takes longest"
		}
		return fmt.Sprintf("The knee is below %s: with %s a backlog already grows%s.", words.Plural(k.Next, "VU"),
			words.Count(k.Next), grew)
	}
	if k.Stage != "" {
		grew = "; " + k.Stage + " has grown most"
	}
	at := slices.IndexFunc(steps, func(s report.Step) bool { return *s.VUs == k.VUs })
	if at+2 == len(steps) { // of one step nobody knows whether it stays
		return fmt.Sprintf("The knee is at %s, %s: with %s VUs p50 is %s ms%s.", words.Plural(k.VUs, "VU"),
			words.PerSecond(steps[at].CarriedPerS), words.Count(k.Next), words.MS(steps[at+1].Latency.Arrival.At(50)), grew)
	}
	return fmt.Sprintf("The knee is at %s, %s: from %s VUs on p50 stays high%s.", words.Plural(k.VUs, "VU"),
		words.PerSecond(steps[at].CarriedPerS), words.Count(k.Next), grew)
}

// limited is the limit behind a figure; empty: there is none.
func limited(r *report.Run) string {
	if r.Answer.P99LimitMS == nil {
		return ""
	}
	return " (limit " + words.Figure(r.Answer.P99LimitMS) + " ms)"
}

// worst is the p99 as text, or the maximum with too few samples for a p99.
func worst(l report.Latency) string {
	if p99 := l.At(99); p99 != nil {
		return "p99 " + words.MS(p99) + " ms"
	}
	return "max " + words.MS(l.Max) + " ms"
}

// busiest is the measured step with the highest offered rate; nil: none was reached.
func busiest(r *report.Run) (most *report.Step) {
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Measured && s.DurationS > 0 && (most == nil || s.ScheduledPerS > most.ScheduledPerS) {
			most = s
		}
	}
	return most
}

// missing names the messages that did not arrive; empty: all did.
func missing(r *report.Run) string {
	a := r.Account
	var ends []string
	for _, end := range report.Missed(a) {
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
