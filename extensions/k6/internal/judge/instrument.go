package judge

import (
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// Limits of the generator's lateness in sending and reading. Lateness counts in the arrival latency, so the
// figures are never too good. Above this share of the latency the run measures the generator rather than the
// pipeline. Below the floor the lateness is the operating system's.
const (
	lateShare   = 0.05
	lateFloorMS = 2
)

// The generator may use this share of its cores in all but this share of the seconds: one second of garbage
// collection does not make a run invalid.
const (
	busyShare   = 0.9
	busySeconds = 0.05
)

// negativeShare is the tolerated share of deliveries with a stage below zero: stamps a few µs apart may be out
// of order.
const negativeShare = 0.01

// instrument returns the rules for the generator itself. If one is broken, the figures describe the generator
// rather than the pipeline.
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
			"the generator was late to read: arrivals waited in the subscriber's socket for up to %.1f ms (p99) of arrival p99 %.1f ms%s",
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
		gaps = because(gaps, "a subscriber had no connection (%s): the wait counts as the pipeline's latency, and it may have "+
			"lost some of %d missing deliveries%s", times(len(health.Gaps)), a.Deliveries.Missing, open(health.Gaps))
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

// unheard names the subscribers' topics if no accepted message arrived: messages may be published to other
// topics.
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

// late compares a lateness of the generator with the arrival latency, both p99 in ms.
func late(name string, ms, arrival float64) report.Rule {
	rule := atMost(name, ms, max(lateFloorMS, lateShare*arrival), "ms", report.Invalid)
	rule.Basis = fmt.Sprintf("%.0f %% of arrival p99, no less than %d ms", lateShare*100, lateFloorMS)
	return rule
}

// clockBound compares the bound of the clocks with the user's limit. Without a limit a wide bound is no reason
// to distrust a run: arrival needs only one clock, and a stage that is short compared with the bound is marked.
func clockBound(r *report.Run) report.Rule {
	rule := atMost("clock_bound", r.Clock.BoundMS, *r.Clock.LimitMS, "ms", report.Invalid)
	if *rule.OK && len(r.Clock.Processes) == 0 && r.Latency.Stages[ledger.Queue.String()].Count > 0 {
		rule.OK = new(false)
		return because(rule, "no process of the pipeline reported its clock bound, so the limit on it holds for the generator only")
	}
	return because(rule, "the clock bound ±%.3f ms is above the limit of %.3f ms", r.Clock.BoundMS, *r.Clock.LimitMS)
}

// busy counts the seconds in which the generator used more of its cores than allowed; known is false without
// CPU data.
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

// stolen names the hypervisor if the CPU steal was high; otherwise it is empty.
func stolen(timeline []report.Interval) string {
	sum, most, seconds := 0.0, 0.0, 0
	for _, i := range timeline {
		if steal := i.Generator.StealPercent; steal != nil {
			sum, most, seconds = sum+*steal, max(most, *steal), seconds+1
		}
	}
	if seconds == 0 || sum < report.StealMuch*float64(seconds) {
		return ""
	}
	return fmt.Sprintf("the hypervisor took %.0f %% of this host's CPU during the run, and %.0f %% in the worst second", sum/float64(seconds), most)
}

// remedy is the advice for a late generator: its CPU back from the hypervisor, more senders if all were busy,
// otherwise more cores.
func (e Evidence) remedy() string {
	if steal := stolen(e.Run.Timeline); steal != "" {
		return steal + ": use a machine that is not shared"
	}
	if 100*e.Unattended >= int64(max(1, e.Run.Account.Requests.Scheduled)) { // as many requests as affect a p99
		return fmt.Sprintf("%d requests were due while all senders waited for answers: more senders are needed", e.Unattended)
	}
	return "more cores are needed"
}

// open names the subscribers that did not reconnect.
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
