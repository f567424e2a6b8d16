package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Answer is the answer of a run: the sentence to read first, and figures beside a limit.
type Answer struct {
	Sentence    string   `json:"sentence"`     // for an unusable run: why
	P99LimitMS  *float64 `json:"p99_limit_ms"` // of the arrival; nil: none is set
	WithinLimit *float64 `json:"within_limit"` // share of the measured phases' deliveries; nil: unknown
	// the highest rate with p99 below the limit, messages/s; 0: none; nil: not known, or not usable
	HeldPerS *float64 `json:"held_per_s"`
}

// Conclude sets what follows from the rest of a run: the rates that its steps carried, the knee, the findings, and the
// answer.
//
// own is the script's answer; empty: none.
func (r *Run) Conclude(own string) {
	carry(r.Steps)
	r.Knee = NewKnee(r.Stages, r.Steps)
	r.Findings = findings(r)
	if r.ArrivalBins == nil { // merged, or of an earlier version
		r.ArrivalBins = r.Latency.Arrival.bins()
	}
	limit := r.p99Limit()
	r.Answer = Answer{Sentence: r.unusable(), P99LimitMS: limit}
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
		r.Answer.Sentence = r.withFailures(cmp.Or(own, r.sentence(best, known)))
	}
}

// withFailures adds what did not arrive and what failed to an answer: before it if that failed the run.
func (r *Run) withFailures(answer string) string {
	failures := strings.TrimSpace(r.missing() + r.failing())
	switch {
	case failures == "":
		return answer
	case r.Verdict.Result == Fail:
		return failures + " " + answer
	}
	return answer + " " + failures
}

// The limits on arrival p99: this module's, and a script's on k6's Trend, which includes the warm-up. A sweep, which
// exceeds its limit, gives it by a figure.
const (
	p99Rule   = "arrival_p99"
	trendRule = "arrival_latency p(99)"
	p99Figure = "limit of arrival p99"
)

func (r *Run) p99Limit() *float64 {
	for _, rule := range r.Verdict.Rules {
		if (rule.Name == p99Rule || rule.Name == trendRule) && strings.HasPrefix(rule.Op, "<") {
			return rule.Limit
		}
	}
	for _, f := range r.Figures {
		if f.Name == p99Figure {
			return f.Value
		}
	}
	return nil
}

// unusable is the reason why a run has no answer; empty: it has one.
func (r *Run) unusable() string {
	switch {
	case r.Run.Ended == nil:
		return fmt.Sprintf("Not finished: %s of %s had arrived by then. Run it again to its end.",
			words.Count(r.Account.Arrived),
			words.Plural(r.Account.Scheduled, "message"))
	case !r.Account.Balanced:
		return "Not usable: " + Unbalanced + "."
	case r.Verdict.Result == Incomplete:
		return r.unjudged()
	case r.Verdict.Result != Invalid:
		return ""
	}
	if cause := r.Cause(); cause != "" {
		return "Not usable: " + cause + "."
	}
	for _, rule := range r.Verdict.Rules {
		if rule.OK != nil && !*rule.OK && rule.Result == Invalid && rule.Remedy != "" {
			return "Not usable: " + rule.Remedy + "."
		}
	}
	if len(r.Verdict.Reasons) > 0 { // an earlier version wrote no remedies
		return "Not usable: " + strings.TrimSuffix(r.Verdict.Reasons[0], ".") + "."
	}
	return "Not usable: the load generator could not be trusted."
}

// unjudged says what an ended run lacks for an answer: limits that nobody judged, or a part of several.
func (r *Run) unjudged() string {
	for _, rule := range r.Verdict.Rules {
		if rule.OK == nil && rule.Limit != nil {
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
func (r *Run) sentence(best held, known bool) string {
	arrival, http := r.Latency.Arrival, r.Latency.HTTP
	busiest := r.busiest()
	switch {
	case arrival.Count == 0 && http.Count > 0:
		return fmt.Sprintf("Answered %s with %s p50 %s ms and p99 %s ms.", words.Plural(int(http.Count), "request"),
			r.Run.protocol(),
			words.MS(http.at(50)), words.MS(http.at(99)))
	case arrival.Count == 0 || busiest == nil:
		return "No delivery of a measured phase arrived."
	case r.Run.Model == Closed && sweeps(r.Steps):
		return r.swept(best, known)
	case r.Run.Model == Closed:
		return fmt.Sprintf("%s carried %s with arrival p50 %s ms and %s; %s p99 is %s ms.", words.Plural(*busiest.VUs, "VU"),
			words.PerSecond(busiest.CarriedPerS), words.MS(arrival.at(50)), arrival.worst(), r.Run.protocol(), words.MS(http.at(99)))
	case !known:
		return fmt.Sprintf("Carried %s with arrival p50 %s ms and %s%s.", words.PerSecond(busiest.CarriedPerS),
			words.MS(arrival.at(50)),
			arrival.worst(), r.limited())
	case best.perS == 0:
		every, with := "", ", with "+arrival.worst()
		if r.missing() != "" { // the p99 of those that arrived would not say why
			every, with = "every message arriving and ", ""
		}
		return fmt.Sprintf("Held no rate for %d s with %sarrival p99 below %s ms: %s were offered%s.", heldSeconds,
			every, words.Figure(r.Answer.P99LimitMS), words.PerSecond(busiest.ScheduledPerS), with)
	case best.most:
		long := ""
		if busiest.ScheduledPerS*(1-asMuch) > best.offered { // in a phase too short to be held
			long = fmt.Sprintf(" for %d s", heldSeconds)
		}
		return fmt.Sprintf("Held %s, the most that was offered%s, with arrival %s%s.", words.PerSecond(best.perS), long,
			arrival.worst(), r.limited())
	case r.tooSlow():
		return fmt.Sprintf("Arrival %s is above the limit of %s ms. Below it %s were held for %d s; %s were offered.",
			arrival.worst(),
			words.Figure(r.Answer.P99LimitMS), words.PerSecond(best.perS), heldSeconds, words.PerSecond(busiest.ScheduledPerS))
	}
	return fmt.Sprintf("Held %s with arrival p99 below %s ms. %s were offered, and the whole run has %s.",
		words.PerSecond(best.perS),
		words.Figure(r.Answer.P99LimitMS), words.PerSecond(busiest.ScheduledPerS), arrival.worst())
}

// tooSlow reports whether the limit on arrival p99 failed the run.
func (r *Run) tooSlow() bool {
	return r.Verdict.Result == Fail && slices.ContainsFunc(r.Verdict.Rules, func(rule Rule) bool {
		return (rule.Name == p99Rule || rule.Name == trendRule) && rule.OK != nil && !*rule.OK
	})
}

// swept is the answer of a sweep of concurrency: the knee, and the highest rate within the limit.
func (r *Run) swept(best held, known bool) string {
	steps := closedSteps(r.Steps)
	s := fmt.Sprintf("No knee up to %s: arrival p50 did not take off.", words.Plural(*steps[len(steps)-1].VUs, "VU"))
	if r.Knee != nil {
		s = r.Knee.sentence(steps)
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
func (k *Knee) sentence(steps []Step) string {
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
	at := slices.IndexFunc(steps, func(s Step) bool { return *s.VUs == k.VUs })
	return fmt.Sprintf("The knee is at %s, %s: from %s VUs on p50 stays high%s.", words.Plural(k.VUs, "VU"),
		words.PerSecond(steps[at].CarriedPerS),
		words.Count(k.Next), grew)
}

// limited is the limit behind a figure; empty: there is none.
func (r *Run) limited() string {
	if r.Answer.P99LimitMS == nil {
		return ""
	}
	return " (limit " + words.Figure(r.Answer.P99LimitMS) + " ms)"
}

// worst is the p99 as text, or the maximum with too few samples for a p99.
func (l Latency) worst() string {
	if p99 := l.at(99); p99 != nil {
		return "p99 " + words.MS(p99) + " ms"
	}
	return "max " + words.MS(l.Max) + " ms"
}

// busiest is the measured step with the highest offered rate; nil: none was reached.
func (r *Run) busiest() (most *Step) {
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Measured && s.DurationS > 0 && (most == nil || s.ScheduledPerS > most.ScheduledPerS) {
			most = s
		}
	}
	return most
}

// ending is how many messages ended in one way.
type ending struct {
	n    int
	name string
}

// missedEndings are the ways in which messages did not arrive, in the order of the message's way, without those of
// none.
func missedEndings(a Account) (all []ending) {
	for _, end := range ledger.MissedEnds() {
		if n := end.Of(a); n > 0 {
			all = append(all, ending{n, end.Word()})
		}
	}
	return all
}

// missing names the messages that did not arrive; empty: all did.
func (r *Run) missing() string {
	a := r.Account
	var ends []string
	for _, end := range missedEndings(a) {
		ends = append(ends, words.Count(end.n)+" "+end.name)
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
