package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Answer is the answer of a run: the sentence to read first, and figures beside a limit.
type Answer struct {
	Sentence    string   `json:"sentence"`     // for an unusable run: why
	P99LimitMS  *float64 `json:"p99_limit_ms"` // of the arrival; nil: none is set
	WithinLimit *float64 `json:"within_limit"` // share of the measured phases' deliveries; nil: unknown
	HeldPerS    *float64 `json:"held_per_s"`   // the highest rate with p99 below the limit, messages/s; 0: none; nil: not known, or not usable
}

// Conclude sets what follows from the rest of a run: the rates that its steps carried, the knee, the findings, and the answer.
//
// own is the script's answer; empty: none.
func (r *Run) Conclude(own string) {
	carry(r.Steps)
	r.Knee = NewKnee(r.Steps)
	r.Findings = findings(r)
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
		r.Answer.Sentence = cmp.Or(own, r.sentence(best, known)) + r.missing()
	}
}

// The limits on arrival p99: this module's, and a script's on k6's Trend, which includes the warm-up. A sweep, which exceeds its limit,
// gives it by a figure.
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

// doubtful lists rules that make the figures of a run unusable, with a remedy.
var doubtful = []struct{ rule, sentence string }{
	{"balanced", "the account does not balance, so no latency is shown. This is an error of the instrument: please report it"},
	{"lateness", "the load generator was late. Lower the rate or give it more cores, and run again"},
	{"cpu", "the load generator was out of CPU. Lower the rate or give it more cores, and run again"},
	{"socket_wait", "the load generator was late to read what arrived. Lower the rate or give it more cores, and run again"},
	{"dropped", "the load generator did not send every message. Lower the rate or give it more senders, and run again"},
	{"gaps", "a subscriber lost its connection. Find out why, and run again"},
	{"negative", "the clocks disagree. See which process is off in the report, and run again"},
	{"clock_bound", "the clocks are not known well enough. Put the generator nearer to Redis or allow a wider bound, and run again"},
	{"samples_discarded", "k6 did not take every sample. Lower the rate, and run again"},
	{"measured", "no delivery was measured. Check that the pipeline delivers to the subscribers' topics, and run again"},
}

// unusable is the reason why a run has no answer; empty: it has one.
func (r *Run) unusable() string {
	switch {
	case r.Run.Ended == nil:
		return fmt.Sprintf("Not finished: %s of %s had arrived by then. Run it again to its end.", count(r.Account.Arrived),
			plural(r.Account.Scheduled, "message"))
	case !r.Account.Balanced:
		return "Not usable: " + doubtful[0].sentence + "."
	case r.Verdict.Result == Incomplete:
		return r.unjudged()
	case r.Verdict.Result != Invalid:
		return ""
	}
	broken := func(name string) bool {
		return slices.ContainsFunc(r.Verdict.Rules, func(rule Rule) bool {
			return rule.Name == name && rule.OK != nil && !*rule.OK && rule.Result == Invalid
		})
	}
	for _, d := range doubtful {
		if broken(d.rule) {
			return "Not usable: " + d.sentence + "."
		}
	}
	return "Not usable: the load generator could not be trusted."
}

// unjudged says what an ended run lacks for an answer: limits that nobody judged, or a part of several.
func (r *Run) unjudged() string {
	for _, rule := range r.Verdict.Rules {
		if rule.OK == nil && rule.Limit != nil {
			return "Not complete: the limit " + rule.Limited() + " was not judged. Correct it or measure its figure, and run again."
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
		return fmt.Sprintf("Answered %s with %s p50 %s ms and p99 %s ms.", plural(int(http.Count), "request"), r.Run.protocol(),
			num(http.at(50)), num(http.at(99)))
	case arrival.Count == 0 || busiest == nil:
		return "No delivery of a measured phase arrived."
	case r.Run.Model == Closed && sweeps(r.Steps):
		return r.swept(best, known)
	case r.Run.Model == Closed:
		return fmt.Sprintf("%s carried %s with arrival p50 %s ms and %s; %s p99 is %s ms.", plural(*busiest.VUs, "VU"),
			perSecond(busiest.CarriedPerS), num(arrival.at(50)), arrival.worst(), r.Run.protocol(), num(http.at(99)))
	case !known:
		return fmt.Sprintf("Carried %s with arrival p50 %s ms and %s%s.", perSecond(busiest.CarriedPerS), num(arrival.at(50)),
			arrival.worst(), r.limited())
	case best.perS == 0:
		return fmt.Sprintf("Held no rate for %d s with arrival p99 below %s ms: %s were offered, with %s.", heldSeconds,
			figure(r.Answer.P99LimitMS), perSecond(busiest.ScheduledPerS), arrival.worst())
	case best.most:
		return fmt.Sprintf("Held %s, the most that was offered, with arrival %s%s.", perSecond(best.perS), arrival.worst(), r.limited())
	}
	return fmt.Sprintf("Held %s with arrival p99 below %s ms. %s were offered, and the whole run has %s.", perSecond(best.perS),
		figure(r.Answer.P99LimitMS), perSecond(busiest.ScheduledPerS), arrival.worst())
}

// swept is the answer of a sweep of concurrency: the knee, and the highest rate within the limit.
func (r *Run) swept(best held, known bool) string {
	steps := closedSteps(r.Steps)
	s := fmt.Sprintf("No knee up to %s: arrival p50 did not take off.", plural(*steps[len(steps)-1].VUs, "VU"))
	if r.Knee != nil {
		s = r.Knee.sentence(steps)
	}
	if !known {
		return s
	}
	limit := figure(r.Answer.P99LimitMS)
	switch {
	case best.perS == 0:
		return s + fmt.Sprintf(" No step held arrival p99 below %s ms.", limit)
	case len(best.over) == 0:
		return s + fmt.Sprintf(" Every step held arrival p99 below %s ms: the highest rate is %s, with %s.", limit, perSecond(best.perS), plural(best.vus, "VU"))
	}
	over, last := "", best.over[len(best.over)-1]
	for i, vus := range best.over[:len(best.over)-1] {
		over += count(vus) + [2]string{", ", " and "}[min(1, max(0, i+3-len(best.over)))]
	}
	return s + fmt.Sprintf(" The highest rate with arrival p99 below %s ms is %s, with %s; %s%s exceeded it.", limit, perSecond(best.perS),
		plural(best.vus, "VU"), over, plural(last, "VU"))
}

// sentence describes the knee of a sweep, and the rate there.
func (k *Knee) sentence(steps []Step) string {
	grew := ""
	if k.VUs == 0 {
		if k.Stage != "" {
			grew = ", and " + k.Stage + " takes longest"
		}
		return fmt.Sprintf("The knee is below %s: with %s a backlog already grows%s.", plural(k.Next, "VU"), count(k.Next), grew)
	}
	if k.Stage != "" {
		grew = ", and " + k.Stage + " has grown most"
	}
	at := slices.IndexFunc(steps, func(s Step) bool { return *s.VUs == k.VUs })
	return fmt.Sprintf("The knee is at %s, %s: with %s p50 has taken off for good%s.", plural(k.VUs, "VU"), perSecond(steps[at].CarriedPerS),
		count(k.Next), grew)
}

// limited is the limit behind a figure; empty: there is none.
func (r *Run) limited() string {
	if r.Answer.P99LimitMS == nil {
		return ""
	}
	return " (limit " + figure(r.Answer.P99LimitMS) + " ms)"
}

// worst is the p99 as text, or the maximum with too few samples for a p99.
func (l Latency) worst() string {
	if p99 := l.at(99); p99 != nil {
		return "p99 " + num(p99) + " ms"
	}
	return "max " + num(l.Max) + " ms"
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

// missing names the messages that did not arrive; empty: all did.
func (r *Run) missing() string {
	a := r.Account
	var ends []string
	for _, end := range []struct {
		n    int
		name string
	}{
		{a.Dropped, "dropped"}, {a.Rejected, "rejected"}, {a.Unknown, "unknown"}, {a.DeadLettered, "dead-lettered"},
		{a.Queued, "queued"}, {a.Lost, "lost"},
	} {
		if end.n > 0 {
			ends = append(ends, count(end.n)+" "+end.name)
		}
	}
	if len(ends) == 0 {
		return ""
	}
	return fmt.Sprintf(" %s of %s did not arrive (%s): latencies are those of the others.", count(a.Scheduled-a.Arrived),
		plural(a.Scheduled, "message"), strings.Join(ends, ", "))
}

// perSecond is a rate as text.
func perSecond(rate float64) string {
	if rate >= hundred {
		return count(int(rate+0.5)) + " messages/s"
	}
	return num(&rate) + " messages/s"
}
