package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// reported is a percentile as the report states it, in ms.
func reported(l runfile.Latency, percentile float64) float64 {
	all := []*float64{l.P50, l.P75, l.P90, l.P95, l.P99, l.P999}
	i := slices.Index(known, percentile)
	if i < 0 || all[i] == nil {
		must.Fail("the report has no p%g", percentile)
	}
	return *all[i]
}

// percentiles compares all percentiles, and the slowest, of a distribution in which each has a time of its own.
func percentiles(o *outcome) (rows []row) {
	l, logged := o.generators[0].run.Latency.Arrival, o.arrivals()
	for _, p := range known {
		least, of := at(logged, p), int(math.Ceil(p/100*spreadOver))
		rows = append(rows, between(fmt.Sprintf("arrival, p%g", p), recorded(millisOf(held(of)), least), reported(l, p),
			least, 0, o.form.frozenSlack()))
	}
	last := at(logged, 100)
	return append(rows, between("arrival, slowest", recorded(millisOf(held(spreadOver)), last), *l.Max, last, 0,
		o.form.frozenSlack()))
}

// means compares the mean of the arrival latency. From send it is shorter by the mean lateness.
func means(o *outcome) []row {
	r, sum := o.generators[0].run, 0.0
	logged := o.arrivals()
	for _, ms := range logged {
		sum += ms
	}
	mean, got := sum/float64(len(logged)), *r.Latency.Arrival.Mean
	late := got - *r.Latency.FromSend.Mean
	const rounding = 0.001 // ms
	return []row{
		between("arrival, mean", fmt.Sprintf("fake ≥ %s ms", trim(mean)), got, mean, 0, o.form.frozenSlack()),
		proven(row{"from send, earlier by", "lateness " + millis(*r.Health.Lateness.Mean), millis(late), "±0.001 ms",
			math.Abs(late-*r.Health.Lateness.Mean) <= rounding}),
	}
}

// reportLate is how much later than a second ends a report may count what came in it.
const reportLate = 200 * ms

// bySecond compares counts of arrivals by the second of the run with the logs of its pipelines.
func bySecond(what string, began time.Time, counts []int, logs ...[]fake.Delivery) row {
	by := func(end time.Time) (n int) {
		for _, d := range slices.Concat(logs...) {
			if d.Written.Before(end) {
				n++
			}
		}
		return n
	}
	expected, measured, sum, before, ok := []string{}, []string{}, 0, 0, true
	for t, n := range counts {
		end := began.Add(time.Duration(t+1) * time.Second)
		sum += n
		ok = ok && by(end.Add(-reportLate)) <= sum && sum <= by(end.Add(reportLate))
		expected, measured = append(expected, count(by(end)-before)), append(measured, count(n))
		before = by(end)
	}
	ok = ok && sum == len(slices.Concat(logs...))
	return row{what, strings.Join(expected, " "), strings.Join(measured, " "), "±200 ms of time", ok}
}

// seconds compares the arrivals of each second, and requires that the slowest is in one of them.
func seconds(o *outcome) []row {
	g, slowest := o.generators[0], 0.0
	counts := make([]int, len(g.run.Timeline))
	for i, second := range g.run.Timeline {
		if counts[i] = int(second.Arrived); second.Arrival != nil {
			slowest = max(slowest, second.Arrival.Max)
		}
	}
	most := *g.run.Latency.Arrival.Max
	return []row{
		bySecond("arrivals by second", g.began(), counts, g.log),
		{"seconds, slowest", millis(most), millis(slowest), exact, slowest == most},
	}
}

// lateness compares how late one sender was. It sends when the answer before has come, and the pipeline has received
// what was sent, so both limits hold on any machine.
func lateness(o *outcome) (rows []row) {
	least, most := o.late()
	l := o.generators[0].run.Health.Lateness
	if l == nil {
		must.Fail("no lateness was measured")
	}
	slices.Sort(least)
	slices.Sort(most)
	compare := func(what string, p, got float64) {
		const bucket = 1.001 // three digits
		low, high := at(least, p), at(most, p)*bucket
		rows = append(rows, proven(row{"lateness, " + what, trim(low) + " to " + millis(high), millis(got),
			"by the pipeline's log", got >= low && got <= high}))
	}
	for _, p := range []float64{90, 95, 99} {
		compare(fmt.Sprintf("p%g", p), p, reported(*l, p))
	}
	compare("slowest", 100, *l.Max)
	return rows
}

// late is how late each message was sent at least and at most, in ms, in the order of their numbers. A report truncates
// the start of its run to whole ms.
func (o *outcome) late() (least, most []float64) {
	g := o.generators[0]
	log := slices.SortedFunc(slices.Values(g.log),
		func(a, b fake.Delivery) int { return cmp.Compare(seqOf(a.ID), seqOf(b.ID)) })
	free := g.began()
	for i, d := range log {
		due := g.began().Add(o.due(seqOf(d.ID)))
		least = append(least, max(0, millisOf(free.Sub(due.Add(ms)))))
		most = append(most, millisOf(d.Received.Sub(due)))
		free = d.Received.Add(answers(i + 1))
	}
	return least, most
}

// lateSeconds requires that each second has the lateness of the messages that were due in it.
func lateSeconds(o *outcome) []row {
	least, _ := o.late()
	expected, measured, ok := []string{}, []string{}, true
	for t := range o.seconds[o.form] {
		low, got := slices.Max(least[t*o.rate:(t+1)*o.rate]), math.NaN()
		if second := o.generators[0].run.Timeline[t]; second.LateMaxMS != nil {
			got = *second.LateMaxMS
		}
		ok = ok && got >= low
		expected, measured = append(expected, trim(low)), append(measured, trim(got))
	}
	return []row{{"latest by second", "≥ " + strings.Join(expected, ", ") + " ms", strings.Join(measured, ", ") + " ms",
		exact, ok}}
}

// slowestAnswer compares the longest time of a request with that of its answer.
func slowestAnswer(expected time.Duration) check {
	return func(o *outcome) []row {
		least := millisOf(expected)
		return []row{between("http, slowest", millis(least), *o.generators[0].run.Latency.HTTP.Max, least, 0,
			o.form.slack(least))}
	}
}

// brokenRule requires that a rule on the instrument is broken, and that the verdict says so.
func brokenRule(name string) check {
	return func(o *outcome) []row {
		v := o.generators[0].run.Verdict
		got := "no such rule"
		for _, r := range v.Rules {
			switch {
			case r.Name != name:
			case r.OK == nil || *r.OK:
				got = "held"
			case slices.Contains(slices.Concat(v.Reasons, v.Doubts), r.Reason):
				got = "broken"
			default:
				got = "broken in silence"
			}
		}
		return []row{{"rule " + name, "broken", got, exact, got == "broken"}}
	}
}

// outOfCPU requires that k6 says so when it uses up its only core, and knows how much it uses. The kernel's account is
// the truth: a busy machine may not have given it the core.
func outOfCPU(o *outcome) []row {
	const enough = 0.93
	g := o.generators[0]
	text := fmt.Sprintf("%.0f %% of its core", 100*g.cpu)
	if g.cpu < enough {
		return []row{{"k6 in the kernel's account", "a whole core", text, "needs a core", false}}
	}
	rule := brokenRule("cpu")(o)[0]
	rule.expected += ", " + text
	i := slices.IndexFunc(g.run.Resources, func(r runfile.Resource) bool { return r.Process == g.run.Run.Tool.Name })
	if i < 0 || g.run.Resources[i].CPUPercent.Mean == nil {
		must.Fail("the report does not say how much CPU k6 used")
	}
	mean := *g.run.Resources[i].CPUPercent.Mean
	return []row{rule, {"CPU of k6, mean", fmt.Sprintf("%.0f %%", 100*g.cpu), fmt.Sprintf("%.0f %%", mean), "±15 %",
		math.Abs(mean-100*g.cpu) <= 15}}
}

// measuredAlone requires that all figures of the run, and none more, are about the messages of the measured phase.
func measuredAlone(o *outcome) []row {
	r := o.generators[0].run
	inFlows, inBins := int64(0), int64(0)
	for _, f := range r.Flows {
		inFlows += f.Arrival.Count
	}
	for _, second := range r.Timeline {
		if len(second.DueBins) > 0 {
			for _, n := range second.DueBins[1:] {
				inBins += n
			}
		}
	}
	n, others := int64(o.measured), []string{}
	for _, place := range []struct {
		name string
		got  int64
	}{
		{"arrival", r.Latency.Arrival.Count}, {"from send", r.Latency.FromSend.Count}, {"http", r.Latency.HTTP.Count},
		{"lateness", r.Health.Lateness.Count}, {"flows", inFlows}, {"due seconds", inBins},
		{"stamps", r.Health.ArrivalStamps.Kernel + r.Health.ArrivalStamps.Read},
		{"last step", r.Steps[len(r.Steps)-1].Latency.Arrival.Count},
	} {
		if place.got != n {
			others = append(others, fmt.Sprintf("%s %d", place.name, place.got))
		}
	}
	warmUp := 0
	for _, slow := range r.Messages.Slowest {
		if seqOf(slow.ID) < o.messages-o.measured {
			warmUp++
		}
	}
	if warmUp > 0 {
		others = append(others, fmt.Sprintf("%d slowest of the warm-up", warmUp))
	}
	got := cmp.Or(strings.Join(others, ", "), count(o.measured))
	return []row{{"samples of the measured phase", count(o.measured) + " everywhere", got, exact, len(others) == 0}}
}

// flows compares each flow with the messages of its targets in the pipeline's log.
func flows(o *outcome) (rows []row) {
	weights := []int{5, 3, 2}
	r := o.generators[0].run
	for i, f := range r.Flows {
		logged, delay := o.arrivalsOf(f.Name+"/"), o.generators[0].fake.Delay+distances[f.Name]
		least, n := at(logged, 50), o.measured*weights[i]/10
		rows = append(rows, counted("flow "+f.Name, n, int(f.Arrival.Count)),
			between("flow "+f.Name+", p50", recorded(millisOf(delay), least), *f.Arrival.P50, least, 0,
				o.form.slack(millisOf(delay))))
	}
	return rows
}

// steps compares the warm-up and the measured phase with the messages of each in the pipeline's log.
func steps(o *outcome) (rows []row) {
	warmUp := o.messages - o.measured
	for i, s := range o.generators[0].run.Steps {
		logged := o.generators[0].written(false, func(d *fake.Delivery) (due time.Duration, counts bool) {
			seq := seqOf(d.ID)
			return o.due(seq), (seq < warmUp) == (i == 0)
		})
		least := at(logged, 50)
		rows = append(rows, counted("step "+s.Name, len(logged), int(s.Latency.Arrival.Count)),
			between("step "+s.Name+", p50", fmt.Sprintf("fake ≥ %s", millis(least)), *s.Latency.Arrival.P50, least, 0,
				o.form.slack(least)))
	}
	return rows
}

// backlog compares the backlog at the end of each second of the load: what the pipeline had accepted and not written.
// A report may look up to 100 ms later.
func backlog(o *outcome) []row {
	g := o.generators[0]
	expected, measured, ok := []string{}, []string{}, true
	for t := range o.warmUp + o.seconds[o.form] {
		low, high := math.MaxInt, 0
		for after := -10 * ms; after <= 100*ms; after += ms {
			at, n := g.began().Add(time.Duration(t+1)*time.Second+after), 0
			for _, d := range g.log {
				if d.Received.Before(at) && !d.Written.Before(at) {
					n++
				}
			}
			low, high = min(low, n), max(high, n)
		}
		got := g.run.Timeline[t].Backlog
		ok = ok && low <= got && got <= high
		expected, measured = append(expected, fmt.Sprintf("%d-%d", low, high)), append(measured, count(got))
	}
	return []row{{"backlog by second", strings.Join(expected, " "), strings.Join(measured, " "), "+100 ms of time", ok}}
}
