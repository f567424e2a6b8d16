package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// notKnown is the figure of what was not measured.
const notKnown = "not available"

// checks are the figures of the instrument, each beside its limit. Without a balanced account no latency is shown.
func checks(r *runfile.Run) []runfile.Check {
	a := r.Account
	var rows []runfile.Check
	add := func(rule string, row runfile.Check) { rows = append(rows, judgedBy(r, rule, row)) }
	if a.Balanced && r.Run.Model != runfile.Closed {
		add("lateness", waited(r, "lateness", "due → sent", r.Health.Lateness))
	}
	if known(r, "offered") {
		add("offered", offeredShare(r))
	}
	add("cpu", cpu(r))
	add("dropped", runfile.Check{What: "dropped", Meaning: "messages never sent by the generator",
		Figure: words.Count(a.Dropped)})
	if a.Balanced {
		add("socket_wait", socketWait(r))
	}
	if r.Canary != nil {
		rows = append(rows, canary(r))
	}
	add("gaps", gaps(r.Health.Gaps))
	add("samples_discarded", runfile.Check{What: "discarded", Meaning: "samples that k6 did not take",
		Figure: words.Count(r.Health.SamplesDiscarded)})
	if n := r.Health.TrendOneIn; n > 1 {
		rows = append(rows, runfile.Check{What: "k6’s Trend", Meaning: "in thresholds",
			Figure: "1 sample in " + words.Count(n), More: "this report is made from histograms, which hold all"})
	}
	add("negative", negative(r))
	if a.Balanced && r.Clock.Reference != "monotonic" && r.Clock.Reference != "" {
		add("clock_bound", clockBound(r))
	}
	if mean, worst, known := Steal(r); known && worst > 0 {
		rows = append(rows, runfile.Check{What: "hypervisor", Meaning: "took of the CPU of the generator’s host",
			Figure: "mean " + words.MS(&mean) + " %", More: words.MS(&worst) + " % in the worst second"})
	}
	return append(rows, others(r, rows)...)
}

// others are the broken rules on the instrument that have no row of their own.
func others(r *runfile.Run, own []runfile.Check) (rows []runfile.Check) {
	for _, rule := range r.Verdict.Rules {
		has := func(row runfile.Check) bool { return row.Rule == rule.Name }
		if rule.Part != runfile.Sending && rule.Part != runfile.Receiving || !rule.IsBroken() || rule.Limit == nil ||
			rule.Unit == "ms" && !r.Account.Balanced ||
			slices.ContainsFunc(own, has) || slices.ContainsFunc(rows, has) {
			continue
		}
		rows = append(rows, judgedBy(r, rule.Name, runfile.Check{What: strings.ReplaceAll(rule.Name, "_", " "),
			Figure: words.WithUnit(ruleOf(r, rule.Name).Value, rule.Unit)}))
	}
	return rows
}

// judgedBy adds to a row the rule that it is held against, the worst one of several instances.
func judgedBy(r *runfile.Run, name string, row runfile.Check) runfile.Check {
	row.Rule = name
	rule := ruleOf(r, name)
	if rule == nil {
		return row
	}
	row.Basis, row.OK, row.Undecided = rule.Basis, rule.OK, rule.Undecided
	if rule.IsBroken() {
		row.Doubts = doubts(r, rule)
	}
	if limit := limitOf(r, rule); limit != nil && *limit == 0 {
		row.Limit = "none"
	} else if limit != nil {
		whole := *rule
		whole.Limit = limit
		row.Limit = whole.LimitText()
	}
	return row
}

func known(r *runfile.Run, rule string) bool { return ruleOf(r, rule) != nil }

// ruleOf is the rule of a name, the worst one of several instances; nil: the run has none.
func ruleOf(r *runfile.Run, name string) (worst *runfile.Rule) {
	gravity := func(rule *runfile.Rule) int {
		switch {
		case rule.IsBroken():
			return 2
		case rule.OK == nil:
			return 1
		}
		return 0
	}
	for i := range r.Verdict.Rules {
		rule := &r.Verdict.Rules[i]
		if rule.Name == name && (worst == nil || gravity(rule) > gravity(worst)) {
			worst = rule
		}
	}
	return worst
}

// limitOf is the limit beside a figure of the whole run: of counts that of all instances together.
func limitOf(r *runfile.Run, worst *runfile.Rule) *float64 {
	if worst.Limit == nil || !slices.Contains([]string{"messages", "deliveries", "samples"}, worst.Unit) {
		return worst.Limit
	}
	sum, own := 0.0, false
	for _, rule := range r.Verdict.Rules {
		if rule.Name == worst.Name && rule.Generator != 0 && rule.Limit != nil {
			sum, own = sum+*rule.Limit, true
		}
	}
	if !own {
		return worst.Limit
	}
	return &sum
}

// doubts says what a broken rule puts in doubt.
func doubts(r *runfile.Run, rule *runfile.Rule) string {
	if len(rule.Doubts) == 0 {
		if rule.Result != runfile.Invalid {
			return ""
		}
		return "puts everything in doubt"
	}
	claims := map[string]string{runfile.RequestsClaim: r.Run.Protocol, runfile.SamplesClaim: "k6’s metrics"}
	parts := make([]string, len(rule.Doubts))
	for i, d := range rule.Doubts {
		direction := map[string]string{runfile.TooHigh: "too high", runfile.TooLow: "too low"}[d.Direction]
		parts[i] = cmp.Or(claims[d.Claim], d.Claim) + ", " + cmp.Or(direction, "in either direction")
	}
	return "puts in doubt: " + strings.Join(parts, "; ")
}

// waited is a time of the instrument that is weighed against the arrival latency; nil: not known.
func waited(r *runfile.Run, what, meaning string, l *runfile.Latency) runfile.Check {
	row := runfile.Check{What: what, Meaning: meaning, Figure: notKnown}
	switch {
	case l == nil:
		return row
	case l.P99 == nil:
		row.Figure = "no sample yet"
		return row
	case l.At(99) == nil:
		row.Figure = "max " + words.MS(l.Max) + " ms"
	default:
		row.Figure = "p99 " + words.MS(l.P99) + " ms"
	}
	if share := shareOf(l.P99, r.Latency.Arrival.P99); share != nil {
		row.More = words.Percent(*share) + " of arrival p99; "
	}
	row.More += "p50 " + inMS(l.At(50)) + ", max " + inMS(l.Max)
	return row
}

// inMS is a time with its unit.
func inMS(v *float64) string {
	if v == nil {
		return notKnown
	}
	return words.MS(v) + " ms"
}

func socketWait(r *runfile.Run) runfile.Check {
	row := waited(r, "socket wait", "arrived, and not read yet", r.Health.SocketWait)
	stamps := r.Health.ArrivalStamps
	if stamps.Kernel+stamps.Read == 0 {
		return row
	}
	by := fmt.Sprintf("%s by the kernel’s stamp, %s by the read", words.Plural(int(stamps.Kernel), "arrival"),
		words.Count(int(stamps.Read)))
	row.More = strings.TrimSuffix(by+"; "+row.More, "; ")
	return row
}

// offeredShare is the least part of a measured phase's messages that were sent in the second they were due in.
func offeredShare(r *runfile.Run) runfile.Check {
	row := runfile.Check{What: "offered",
		Meaning: "messages sent in the second they were due in, of the phase with the fewest",
		Figure:  notKnown}
	if v := ruleOf(r, "offered").Value; v != nil {
		row.Figure = words.Percent(*v / 100)
	}
	return row
}

func cpu(r *runfile.Run) runfile.Check {
	row := runfile.Check{What: "CPU", Meaning: "of " + r.Run.Tool.Name + ", in % of one core", Figure: notKnown}
	n, sum, most, memory := 0, 0.0, 0.0, 0.0
	for i := range r.Timeline {
		own := r.Timeline[i].Generator
		if own.CPUPercent != nil {
			n, sum, most = n+1, sum+*own.CPUPercent, max(most, *own.CPUPercent)
		}
		if own.RSSMB != nil {
			memory = max(memory, *own.RSSMB)
		}
	}
	if n == 0 {
		return row
	}
	mean := sum / float64(n)
	row.Figure = "mean " + words.MS(&mean) + " %"
	if rule := ruleOf(r, "cpu"); rule != nil && rule.Value != nil {
		row.Figure += fmt.Sprintf(", too busy in %s of %s s", words.Count(int(*rule.Value)), words.Count(len(r.Timeline)))
	}
	row.More = "max " + words.MS(&most) + " %"
	if memory > 0 {
		row.More += "; memory at most " + words.MS(&memory) + " MB"
	}
	return row
}

func canary(r *runfile.Run) runfile.Check {
	own := r.Canary
	row := runfile.Check{What: "canary", Meaning: "on a connection of its own",
		Figure: fmt.Sprintf("%s of %s arrived", words.Count(own.Arrived), words.Count(own.Sent))}
	if !r.Account.Balanced || own.Arrived == 0 {
		return row
	}
	row.More = "p50 " + inMS(own.Latency.At(50))
	if share := shareOf(own.Latency.At(50), r.Latency.Arrival.At(50)); share != nil {
		row.More += ", " + words.Percent(*share) + " of arrival p50"
	}
	row.More += "; max " + inMS(own.Latency.Max)
	return row
}

func gaps(all []runfile.Gap) runfile.Check {
	row := runfile.Check{What: "gaps", Meaning: "a subscriber without connection", Figure: "none"}
	if len(all) == 0 {
		return row
	}
	row.Figure = words.Count(len(all))
	lasted, open := 0.0, 0
	for _, gap := range all {
		if gap.ToS == nil {
			open++
		} else {
			lasted += *gap.ToS - gap.FromS
		}
	}
	var parts []string
	if open < len(all) {
		parts = append(parts, fmt.Sprintf("%.1f s in all", lasted))
	}
	if open > 0 {
		parts = append(parts, words.Count(open)+" without end")
	}
	row.More = strings.Join(parts, "; ")
	return row
}

func negative(r *runfile.Run) runfile.Check {
	n, arrived := r.Account.Negative, r.Account.Deliveries.Arrived
	row := runfile.Check{What: "negative", Meaning: "deliveries with a stage below zero", Figure: words.Count(n)}
	if n > 0 && arrived > 0 {
		row.More = words.Percent(float64(n)/float64(arrived)) + " of the deliveries"
	}
	return row
}

func clockBound(r *runfile.Run) runfile.Check {
	row := runfile.Check{What: "clock bound", Meaning: "between stamps of two processes",
		Figure: "±" + inMS(&r.Clock.BoundMS)}
	if r.Clock.OneHost {
		row.Meaning = "one host, one clock"
	}
	for _, stage := range r.Stages {
		if r.Latency.Stages[stage.Name].Count > 0 && r.BoundOf(stage) != nil {
			row.More = "stages shorter than ten times as much are marked ±"
		}
	}
	return row
}
