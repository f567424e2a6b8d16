package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// The verdict is proven by pipelines whose arrival p99 a punctual load generator is known to measure, by limits around
// it, and by load generators that are disturbed. A limit may be undecided. It must not hold where a punctual generator
// finds it broken, nor break where one finds it held.

const boundsRate = 200 // requests per second

// boundsSeconds is how long the cases take by form; the short form has those that shortBounds names.
var boundsSeconds = [2]int{3, 2}

// truths are below, near and above their limits.
var truths = []truth{
	{name: "delay of 50 ms", delay: 50 * ms, limits: []float64{20, 2, 1.1}},
	{name: "delay of 50 ms, too slow", delay: 50 * ms, limits: []float64{0.9, 0.5}},
	{name: "delay of 600 ms", delay: 600 * ms, limits: []float64{0.9, 0.45}},
	{name: "one server, 75 % busy", service: pausing, limits: []float64{10, 2, 1.1}},
	{name: "one server, 75 % busy, too slow", service: pausing, limits: []float64{0.9, 0.5}},
	{name: "one server, 120 % busy", service: mostly(6 * ms), limits: []float64{0.9, 0.3}},
}

// pausing takes 3 ms, and 80 ms each hundredth time: in the mean 3.77 ms of the 5 ms between two messages.
var pausing = mostly(3*ms, rule[time.Duration]{100, 50, 80 * ms})

// disturbance is something that makes a load generator late.
type disturbance struct {
	name  string
	apply func(c *testCase)
	needs func() (why string) // why this machine can't have it; nil: it always can
}

var disturbances = []disturbance{
	{name: "undisturbed", apply: func(*testCase) {}},
	{name: "k6 frozen once", apply: func(c *testCase) { c.frozenAt = []time.Duration{time.Second} }},
	{name: "k6 frozen each second", apply: func(c *testCase) {
		c.frozenAt = []time.Duration{200 * ms, 1200 * ms, 2200 * ms}
	}},
	{name: "beside a busy loop", apply: func(c *testCase) { c.busyLoops = 1 }},
	{name: "beside two busy loops", apply: func(c *testCase) { c.busyLoops = 2 }},
	{name: "k6 throttled to a tenth of a core", apply: func(c *testCase) { c.cpuShare = 0.1 }, needs: noCPUGroups},
	{name: "CPU stolen", needs: noSteal},
	{name: "reader late by 4 ms", apply: func(c *testCase) { c.consumer = &consumer{late: 4 * ms} }},
	{name: "one sender, slow answers", apply: func(c *testCase) {
		c.options = map[string]any{"senders": 1, "maxSenders": 1}
		pipeline := c.pipelines[0]
		c.pipelines = one(func() *fake.Pipeline {
			f := pipeline()
			f.Answer = mostly(0, rule[time.Duration]{100, 20, 150 * ms})
			return f
		})
	}},
}

func noSteal() (why string) {
	return "only a hypervisor makes the kernel count stolen time; what it does to k6, the freezes do"
}

func noCPUGroups() (why string) {
	_, why = cpuGroups()
	return why
}

// shortBounds names the cases that the short form includes. It runs two at once, so none of them binds the pipeline to
// a core.
var shortBounds = []string{
	"bounds, delay of 50 ms, k6 frozen once", "bounds, delay of 50 ms, too slow, undisturbed",
	"bounds, one server, 75 % busy, one sender, slow answers",
}

// impossible is why this machine can't have a disturbance; empty: it can.
func (d disturbance) impossible() (why string) {
	if d.needs == nil {
		return ""
	}
	return d.needs()
}

// boundsCases are all truths beside all disturbances that this machine can have.
func boundsCases() (all []testCase) {
	for _, d := range disturbances {
		if d.impossible() != "" {
			continue
		}
		for _, t := range truths {
			all = append(all, boundsCase(t, d))
		}
	}
	return all
}

func boundsCase(t truth, d disturbance) testCase {
	c := testCase{
		name: "bounds, " + t.name + ", " + d.name, rate: boundsRate, seconds: boundsSeconds, onLinux: true,
		pipelines: one(t.pipeline), checks: []check{onlyWrong(allArrived), decided(t), onlyWrong(follows)},
	}
	if !slices.Contains(shortBounds, c.name) {
		c.seconds[short] = 0
	}
	whole := t.p99(dues(boundsRate, boundsRate*boundsSeconds[full]), nil)
	for _, share := range t.limits {
		c.limits = append(c.limits, math.Round(share*whole))
	}
	d.apply(&c)
	return c
}

// thresholds returns the thresholds of the script, as JSON.
func (c *testCase) thresholds() string {
	own := map[string][]string{}
	for _, limit := range c.limits {
		own[runfile.P99Rule] = append(own[runfile.P99Rule], fmt.Sprintf("value<%g", limit))
	}
	return string(must.Get(json.Marshal(own)))
}

// Tolerances of the lines about limits: what the verdict makes of a limit, and whether a punctual generator agrees.
const (
	passRight  = "pass, right"
	failRight  = "fail, right"
	falseGreen = "pass, FALSE"
	falseRed   = "fail, FALSE"
	undecided  = "undecided"
)

// loopback is what HTTP and MQTT on this host add to a truth at most, ms.
const loopback = 1

// decided compares what the verdict makes of each limit with what a punctual generator makes of it. The pipeline shares
// the process of the self-test: when that stood still, the pipeline was slower than configured, for any generator.
func decided(t truth) check {
	return func(o *outcome) (rows []row) {
		g, due := o.generators[0], dues(o.rate, o.messages)
		least, most := t.p99(due, nil), t.p99(due, since(g.began(), g.beats))+loopback
		v := g.run.Verdict
		p99, lateness := g.run.Latency.Arrival.P99, g.run.Health.Lateness
		if p99 == nil || lateness == nil || lateness.P99 == nil || lateness.Max == nil {
			must.Fail("the report has no arrival p99 or no lateness")
		}
		measured := fmt.Sprintf("%s, late %s/%s ms", trim(*p99), trim(*lateness.P99), trim(*lateness.Max))
		for _, limit := range o.limits {
			rows = append(rows, judged(limit, least, most, resultOf(v, limit), measured))
		}
		return rows
	}
}

// follows requires that the run ends as its limits do: a broken one decides, then one that is undecided.
func follows(o *outcome) []row {
	g := o.generators[0]
	v, want := g.run.Verdict, runfile.Pass
	for _, limit := range o.limits {
		if got := resultOf(v, limit); want != runfile.Fail && got != runfile.Pass {
			want = got
		}
	}
	return []row{{"verdict", want, fmt.Sprintf("%s, exit %d", v.Result, g.exit), exact,
		v.Result == want && (g.exit == 0) == (want == runfile.Pass)}}
}

// onlyWrong leaves out the lines that hold.
func onlyWrong(of check) check {
	return func(o *outcome) []row { return slices.DeleteFunc(of(o), func(r row) bool { return r.ok }) }
}

// judged is the line of a limit, in ms. A punctual generator measures a p99 between least and most.
func judged(limit, least, most float64, got, measured string) row {
	says, tolerance := "held", undecided
	switch {
	case limit <= least:
		says = "broken"
	case limit <= most:
		says = "either"
	}
	truth := trim(least)
	if says == "either" || says == "held" && most >= least+2*loopback {
		truth += " to " + trim(most)
	}
	switch {
	case got == runfile.Pass && says == "broken":
		tolerance = falseGreen
	case got == runfile.Fail && says == "held":
		tolerance = falseRed
	case got == runfile.Pass:
		tolerance = passRight
	case got == runfile.Fail:
		tolerance = failRight
	}
	return row{fmt.Sprintf("arrival p99 < %s ms", trim(limit)), says + ", p99 " + truth + " ms", measured, tolerance,
		tolerance != falseGreen && tolerance != falseRed}
}

// resultOf is the result of a limit on arrival p99: runfile.Invalid if it is undecided, alone or with the whole
// run.
func resultOf(v runfile.Verdict, limit float64) string {
	alone := slices.ContainsFunc(v.Rules, func(r runfile.Rule) bool { return r.Undecided })
	for _, r := range v.Rules {
		switch {
		case r.Name != runfile.P99Rule || r.Limit == nil || *r.Limit != limit:
		case r.OK == nil || v.Result == runfile.Invalid && !alone:
			return runfile.Invalid
		case *r.OK:
			return runfile.Pass
		default:
			return runfile.Fail
		}
	}
	must.Fail("the verdict has no rule on arrival p99 < %g", limit)
	return ""
}

// boundsAnswers counts what became of the limits of all cases.
type boundsAnswers map[string]int

func (a boundsAnswers) add(r row) { a[r.tolerance]++ }

// text sums them up; empty: there was none.
func (a boundsAnswers) text() string {
	total := 0
	for _, one := range []string{passRight, failRight, falseGreen, falseRed, undecided} {
		total += a[one]
	}
	if total == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nbounds: %d of %d limits undecided; false greens %d, false reds %d\n", a[undecided], total,
		a[falseGreen], a[falseRed])
	for _, d := range disturbances {
		if why := d.impossible(); why != "" {
			fmt.Fprintf(&b, "bounds: left out: %s: %s\n", d.name, why)
		}
	}
	return b.String()
}
