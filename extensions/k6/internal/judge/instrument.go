package judge

import (
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// How late a generator may be, to send and to read: lateness counts in the arrival latency, so a run stays honest whatever
// it is, but past this share of it the run says more of the generator than of the pipeline. Below the floor it is the
// operating system's.
const (
	lateShare   = 0.05
	lateFloorMS = 2
)

// The generator may use this share of its cores, in all but this share of the seconds: a second of garbage collection is no
// reason to throw a run away.
const (
	busyShare   = 0.9
	busySeconds = 0.05
)

// stealMuch is the % of the host's CPU from which a hypervisor that gives it to others is named where the generator was held up.
const stealMuch = 2

// negativeShare of the deliveries may have a stage below zero: stamps of a few µs may cross each other.
const negativeShare = 0.01

// instrument are the rules for what measures: where one does not hold, the figures say more of it than of the pipeline.
func (e Evidence) instrument() []report.Rule {
	r := e.Run
	a, health, arrival := r.Account, r.Health, value(r.Latency.Arrival.P99)
	also := ""
	if steal := stolen(r.Timeline); steal != "" {
		also = "; " + steal
	}
	rules := []report.Rule{
		because(report.Rule{Name: "balanced", OK: &a.Balanced, Result: report.Invalid}, "the account does not balance"),
		because(measured(r), "no delivery was measured, so there is no latency to judge%s", e.unheard()),
	}
	if health.Lateness != nil {
		rule := late("lateness", value(health.Lateness.P99), arrival)
		if !e.Halted {
			rule = because(rule, "the generator was late: lateness p99 %.1f ms of arrival p99 %.1f ms; %s",
				value(health.Lateness.P99), arrival, e.remedy())
		}
		rules = append(rules, rule)
	}
	if health.SocketWait != nil {
		rules = append(rules, because(late("socket_wait", value(health.SocketWait.P99), arrival),
			"the generator was late to read: what arrived may have lain in the subscriber's socket for %.1f ms (p99) of arrival p99 %.1f ms%s",
			value(health.SocketWait.P99), arrival, also))
	}
	if seconds, known := busy(r.Timeline, e.Cores); known {
		rule := atMost("cpu", float64(seconds), busySeconds*float64(len(r.Timeline)), "s", report.Invalid)
		rule.Basis = fmt.Sprintf("%.0f %% of the seconds may be above %.0f %% of %d cores", busySeconds*100, busyShare*100, e.Cores)
		rules = append(rules, because(rule, "the generator was out of CPU: above %.0f %% of its %d cores in %d of %d seconds%s",
			busyShare*100, e.Cores, seconds, len(r.Timeline), also))
	}
	dropped := atMost("dropped", float64(a.Dropped), 0, "messages", report.Invalid)
	gaps := atMost("gaps", float64(len(health.Gaps)), 0, "", report.Invalid)
	if !e.Halted {
		dropped = because(dropped, "the generator never sent %d of %d messages", a.Dropped, a.Scheduled)
		gaps = because(gaps, "a subscriber was without its connection (%s): what waited for it counts as the pipeline's latency, and of "+
			"%d missing deliveries it may have lost some%s", times(len(health.Gaps)), a.Deliveries.Missing, open(health.Gaps))
	}
	negative := atMost("negative", float64(a.Negative), negativeShare*float64(a.Deliveries.Arrived), "deliveries", report.Invalid)
	negative.Basis = fmt.Sprintf("%.0f %% of the deliveries", negativeShare*100)
	rules = append(rules, dropped,
		because(atMost("samples_discarded", float64(health.SamplesDiscarded), 0, "samples", report.Invalid),
			"k6 did not take %d samples, so its thresholds are about the others only", health.SamplesDiscarded),
		gaps, because(negative, "the clocks disagree: %d of %d deliveries have a stage below zero", a.Negative, a.Deliveries.Arrived))
	if r.Clock.LimitMS != nil {
		rules = append(rules, clockBound(r))
	}
	return rules
}

// unheard says what the subscribers held where all that was accepted went to nobody: it may be other topics than were published to.
func (e Evidence) unheard() string {
	if a := e.Run.Account; a.Lost == 0 || a.Arrived > 0 || e.Subscribed == "" {
		return ""
	}
	return "; nothing arrived at all, and the subscribers hold " + e.Subscribed + ": does the pipeline publish there?"
}

func measured(r *report.Run) report.Rule {
	n := float64(r.Latency.Arrival.Count)
	return report.Rule{Name: "measured", Value: &n, Op: ">=", Limit: new(1.0), Unit: "deliveries", OK: new(n >= 1), Result: report.Invalid}
}

// late weighs a lateness of the generator against the arrival latency, both p99 in ms.
func late(name string, ms, arrival float64) report.Rule {
	rule := atMost(name, ms, max(lateFloorMS, lateShare*arrival), "ms", report.Invalid)
	rule.Basis = fmt.Sprintf("%.0f %% of arrival p99, no less than %d ms", lateShare*100, lateFloorMS)
	return rule
}

// clockBound holds the clocks to the limit that the user set. Without one a wide bound is no reason to distrust a run: arrival needs one
// clock only, and a stage that is short beside the bound is marked.
func clockBound(r *report.Run) report.Rule {
	rule := atMost("clock_bound", r.Clock.BoundMS, *r.Clock.LimitMS, "ms", report.Invalid)
	if *rule.OK && len(r.Clock.Processes) == 0 && r.Latency.Stages[ledger.Queue.String()].Count > 0 {
		rule.OK = new(false)
		return because(rule, "no process of the pipeline has said how well it knows the time, so the limit of the clock bound holds for the generator alone")
	}
	return because(rule, "the clock bound ±%.3f ms is above the limit of %.3f ms", r.Clock.BoundMS, *r.Clock.LimitMS)
}

// busy counts the seconds in which the generator used more of its cores than it may, and reports whether its CPU is known.
func busy(timeline []report.Interval, cores int) (seconds int, known bool) {
	for _, i := range timeline {
		if cpu := i.Generator.CPUPercent; cpu != nil {
			known = true
			if *cpu > busyShare*100*float64(cores) {
				seconds++
			}
		}
	}
	return seconds, known
}

// stolen names the hypervisor where it took much; empty where it did not.
func stolen(timeline []report.Interval) string {
	sum, most, seconds := 0.0, 0.0, 0
	for _, i := range timeline {
		if steal := i.Generator.StealPercent; steal != nil {
			sum, most, seconds = sum+*steal, max(most, *steal), seconds+1
		}
	}
	if seconds == 0 || sum < stealMuch*float64(seconds) {
		return ""
	}
	return fmt.Sprintf("the hypervisor took %.0f %% of this host's CPU meanwhile, and %.0f %% in the worst second", sum/float64(seconds), most)
}

// remedy says what a late generator wants: its cores, where somebody else had them, senders, where its requests found them
// all busy, and otherwise more cores.
func (e Evidence) remedy() string {
	if steal := stolen(e.Run.Timeline); steal != "" {
		return steal + ": a machine that is not shared is needed"
	}
	if 100*e.Unattended >= int64(max(1, e.Run.Account.Requests.Scheduled)) { // as many as a p99 is made of
		return fmt.Sprintf("%d requests were due while all senders waited for answers: more senders are needed", e.Unattended)
	}
	return "more cores are needed"
}

// open names the subscribers that did not come back.
func open(gaps []report.Gap) (all string) {
	for _, g := range gaps {
		if g.ToS == nil {
			all += fmt.Sprintf("; subscriber %d from %.1f s on: %s", g.Subscriber, g.FromS, g.Reason)
		}
	}
	return all
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}
