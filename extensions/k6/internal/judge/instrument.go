package judge

import (
	"fmt"
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Limits of the generator's lateness in sending and reading. Lateness counts in the arrival latency, so the
// figures are never too good. Above this share of the latency the run measures the generator rather than the
// pipeline. Below the floor the lateness is the operating system's.
const (
	lateShare   = 0.05
	lateFloorMS = 2
)

// The generator may use this share of its cores in all but this share of the seconds, and in one second of a short run:
// one second of garbage collection does not make a run invalid.
const (
	busyShare   = 0.9
	busySeconds = 0.05
)

// negativeShare is the tolerated share of deliveries with a stage below zero: stamps a few µs apart may be out
// of order.
const negativeShare = 0.01

// instrument are the rules for the generator itself. Each function is a rule, with all that reports say of it and the
// claims that it puts in doubt when it is broken; one without such claims puts everything in doubt. It returns nil
// where it does not apply. The first broken one gives the run's answer.
var instrument = []func(e Evidence) *runfile.Rule{
	balanced, lateness, cpu, socketWait, dropped, offered, gaps, negative, clockBound, samplesDiscarded, measured,
}

// doubt is a claim in a direction.
func doubt(claim, direction string) runfile.Doubt {
	return runfile.Doubt{Claim: claim, Direction: direction}
}

func balanced(e Evidence) *runfile.Rule {
	return because(runfile.Rule{
		Name: "balanced", OK: &e.Run.Account.Balanced, Result: runfile.Invalid, Part: runfile.WholeRun,
		Remedy: runfile.Unbalanced,
	}, "the account does not balance")
}

func lateness(e Evidence) *runfile.Rule {
	arrival, own := value(e.Run.Latency.Arrival.P99), e.Run.Health.Lateness
	if own == nil {
		return nil
	}
	rule := late(lateRule, value(own.P99), arrival)
	rule.Part = runfile.Sending
	// What is sent late is sent in a burst, which may queue where a steady load does not; but it is not sent while an
	// answer is awaited.
	rule.Doubts = []runfile.Doubt{
		doubt(runfile.ArrivalClaim, runfile.TooHigh), doubt(runfile.RequestsClaim, runfile.Either),
	}
	why, remedy := e.lateBy(*rule.Limit)
	rule.Remedy = "the load generator was late. " + remedy + ", and run again"
	if e.Halted {
		return &rule
	}
	if e.Run.Latency.Arrival.P99 == nil { // nothing arrived
		return because(rule, "the generator was late: lateness p99 %s ms; %s", words.MS(own.P99), why)
	}
	return because(rule, "the generator was late: lateness p99 %s ms of arrival p99 %s ms; %s",
		words.MS(own.P99), words.MS(e.Run.Latency.Arrival.P99), why)
}

func cpu(e Evidence) *runfile.Rule {
	timeline := e.Run.Timeline
	seconds, known := busy(timeline, e.Cores)
	if !known {
		return nil
	}
	rule := atMost("cpu", float64(seconds), max(1, busySeconds*float64(len(timeline))), "s", runfile.Doubtful)
	rule.Basis = fmt.Sprintf("%s of the seconds, or one, may be above %s of %d cores", words.Percent(busySeconds),
		words.Percent(busyShare), e.Cores)
	rule.Part = runfile.Sending
	rule.Doubts = []runfile.Doubt{
		doubt(runfile.ArrivalClaim, runfile.TooHigh), doubt(runfile.RequestsClaim, runfile.TooHigh),
		doubt(runfile.StagesClaim, runfile.TooHigh),
	}
	rule.Remedy = "the load generator was out of CPU. " + e.lowerRate(lateFloorMS) +
		" or give it more cores, and run again"
	return because(rule, "the generator was out of CPU: above %s of its %d cores in %s of %s seconds%s",
		words.Percent(busyShare), e.Cores, words.Count(seconds), words.Count(len(timeline)), after(stolen(e.Run)))
}

func socketWait(e Evidence) *runfile.Rule {
	arrival, own := value(e.Run.Latency.Arrival.P99), e.Run.Health.SocketWait
	if own == nil {
		return nil
	}
	rule := late("socket_wait", value(own.P99), arrival)
	rule.Part = runfile.Receiving
	rule.Doubts = []runfile.Doubt{
		doubt(runfile.ArrivalClaim, runfile.TooHigh), doubt(runfile.StagesClaim, runfile.TooHigh),
	}
	rule.Remedy = "the load generator was late to read what arrived. Lower the rate or give it " +
		"more cores, and run again"
	where := "in the subscriber's socket"
	if e.Unread != "" {
		where = e.Unread
		rule.Remedy = "the consumer's handler was late. Pass at, the time when its client received the message, " +
			"or let it do less, and run again"
	}
	return because(rule, "the generator was late to read: arrivals waited %s for up to %s ms "+
		"(p99) of arrival p99 %s ms%s",
		where, words.MS(own.P99), words.MS(e.Run.Latency.Arrival.P99), after(stolen(e.Run)))
}

func dropped(e Evidence) *runfile.Rule {
	a := e.Run.Account
	rule := atMost("dropped", float64(a.Dropped), 0, "messages", runfile.Invalid)
	rule.Part = runfile.Sending
	rule.Doubts = []runfile.Doubt{doubt(runfile.LoadClaim, runfile.TooHigh), doubt(runfile.ArrivalClaim, runfile.TooLow),
		doubt(runfile.RequestsClaim, runfile.TooLow)}
	rule.Remedy = "the load generator did not send every message. Lower the rate or give it more senders, and run again"
	if e.Halted {
		return &rule
	}
	return because(rule, "the generator never sent %s of %s messages", words.Count(a.Dropped),
		words.Count(a.Scheduled))
}

// offeredShare is the share of a phase's messages that may be sent in another second than they were due in.
const offeredShare = 0.01

// offered compares the load of each measured phase with what was sent: a rate that was not offered is not held.
func offered(e Evidence) *runfile.Rule {
	least, at := 1.0, -1
	for i, s := range e.Run.Steps {
		if s.Measured && s.OfferedPerS != nil && s.ScheduledPerS > 0 && *s.OfferedPerS/s.ScheduledPerS <= least {
			least, at = *s.OfferedPerS/s.ScheduledPerS, i
		}
	}
	if at < 0 {
		return nil
	}
	value := 100 * least
	rule := runfile.Rule{Name: "offered", Value: &value, Op: ">=", Limit: new(100 * (1 - offeredShare)), Unit: "%",
		OK: new(least >= 1-offeredShare), Result: runfile.Doubtful, Part: runfile.Sending,
		Basis:  "messages that were sent in the second they were due in, of each measured phase",
		Doubts: []runfile.Doubt{doubt(runfile.LoadClaim, runfile.TooHigh)}}
	step := e.Run.Steps[at]
	rule.Remedy = "the load was not offered as planned. " + e.lowerRate(lateFloorMS) + ", and run again"
	return because(rule, "the load was not offered: in “%s” %s of %s were sent in their second", words.Short(step.Name),
		words.PerSecond(*step.OfferedPerS), words.PerSecond(step.ScheduledPerS))
}

func gaps(e Evidence) *runfile.Rule {
	all := e.Run.Health.Gaps
	rule := atMost("gaps", float64(len(all)), 0, "", runfile.Doubtful)
	rule.Part = runfile.Receiving
	rule.Doubts = []runfile.Doubt{
		doubt(runfile.ArrivalClaim, runfile.TooHigh), doubt(runfile.StagesClaim, runfile.TooHigh),
	}
	if e.Run.Account.Deliveries.Missing > 0 { // the slowest may be among them, or they were lost with the connection
		rule.Doubts = []runfile.Doubt{
			doubt(runfile.AccountClaim, runfile.TooHigh), doubt(runfile.ArrivalClaim, runfile.Either),
			doubt(runfile.StagesClaim, runfile.Either),
		}
	}
	rule.Remedy = "a subscriber lost its connection. Find out why, and run again"
	if e.Halted {
		return &rule
	}
	lost := ""
	switch n := e.Run.Account.Deliveries.Missing; {
	case n == 1:
		lost = ", and it may have lost the missing delivery"
	case n > 1:
		lost = fmt.Sprintf(", and it may have lost some of %s missing deliveries", words.Count(n))
	}
	return because(rule, "a subscriber had no connection (%s): the wait counts as the pipeline's latency%s%s",
		times(len(all)), lost, open(all))
}

func negative(e Evidence) *runfile.Rule {
	a := e.Run.Account
	rule := atMost("negative", float64(a.Negative), math.Floor(negativeShare*float64(a.Deliveries.Arrived)),
		"deliveries", runfile.Doubtful)
	rule.Basis = words.Percent(negativeShare) + " of the deliveries"
	rule.Part, rule.Doubts = runfile.Receiving, []runfile.Doubt{doubt(runfile.StagesClaim, runfile.Either)}
	rule.Remedy = "the clocks disagree. See which process is off in the report, and run again"
	return because(rule, "the clocks disagree: %s of %s deliveries have a stage below zero",
		words.Count(a.Negative), words.Count(a.Deliveries.Arrived))
}

func samplesDiscarded(e Evidence) *runfile.Rule {
	n := e.Run.Health.SamplesDiscarded
	if len(e.Aborted) > 0 { // k6 ended the test by those that it had taken
		return nil
	}
	rule := atMost("samples_discarded", float64(n), 0, "samples", runfile.Doubtful)
	rule.Part, rule.Doubts = runfile.Sending, []runfile.Doubt{doubt(runfile.SamplesClaim, runfile.Either)}
	rule.Remedy = "k6 did not take every sample. Lower the rate, and run again"
	return because(rule, "k6 did not take %s samples, so its thresholds are about the others only", words.Count(n))
}

func measured(e Evidence) *runfile.Rule {
	n, result := float64(e.Run.Latency.Arrival.Count), runfile.Invalid
	if e.Run.Account.Misdeliveries > 0 { // the instrument has seen what the pipeline did
		result = runfile.Fail
	}
	return because(runfile.Rule{
		Name: "measured", Value: &n, Op: ">=", Limit: new(1.0), Unit: "deliveries", OK: new(n >= 1),
		Result: result, Part: runfile.Receiving,
		Remedy: "no delivery was measured. Check that the pipeline delivers to the subscribers' topics, and run again",
	}, "no delivery was measured, so there is no latency to judge%s", after(facts.Cause(e.Run)))
}

// after puts a cause behind a reason.
func after(cause string) string {
	if cause == "" {
		return ""
	}
	return "; " + cause
}

// late compares a lateness of the generator with the arrival latency, both p99 in ms.
func late(name string, ms, arrival float64) runfile.Rule {
	rule := atMost(name, ms, max(lateFloorMS, lateShare*arrival), "ms", runfile.Doubtful)
	rule.Basis = fmt.Sprintf("%s of arrival p99, no less than %d ms", words.Percent(lateShare), lateFloorMS)
	return rule
}

// clockBound compares the bound of the clocks with the user's limit. Without a limit a wide bound is not a reason
// to distrust a run: arrival needs only one clock, and a stage that is short compared with the bound is marked.
func clockBound(e Evidence) *runfile.Rule {
	r := e.Run
	if r.Clock.LimitMS == nil {
		return nil
	}
	rule := atMost("clock_bound", r.Clock.BoundMS, *r.Clock.LimitMS, "ms", runfile.Invalid)
	rule.Part, rule.Doubts = runfile.Receiving, []runfile.Doubt{doubt(runfile.StagesClaim, runfile.Either)}
	rule.Remedy = "the clocks are not known well enough. Put the generator nearer to Redis or allow a " +
		"wider bound, and run again"
	if *rule.OK && len(r.Clock.Processes) == 0 && r.Stamped() {
		rule.OK = new(false)
		return because(rule, "no process of the pipeline reported its clock bound, "+
			"so the limit on it holds for the generator only")
	}
	return because(rule, "the clock bound ±%s ms is above the limit of %s ms",
		words.Against(&r.Clock.BoundMS, r.Clock.LimitMS, ""), words.Figure(r.Clock.LimitMS))
}

// open names the subscribers that did not reconnect.
func open(gaps []runfile.Gap) (all string) {
	for _, g := range gaps {
		if g.ToS == nil {
			all += fmt.Sprintf("; subscriber %d from %s on: %s", g.Subscriber, words.Duration(g.FromS), g.Reason)
		}
	}
	return all
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return words.Count(n) + " times"
}

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}
