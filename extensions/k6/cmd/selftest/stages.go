package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// stageDelays begins and ends with long stages: even on a busy machine the clock bound is less than a tenth of
// them and no stage is below zero.
var stageDelays = fake.StageDelays{Request: 20 * ms, Ingest: 20 * ms, Queue: 30 * ms, Relay: 40 * ms, Delivery: 20 * ms}

// clocked stamps every message with the clock of its Redis.
func clocked(name string, clock fake.Clock, seconds [2]int) testCase {
	return testCase{
		name: name, rate: 100, seconds: seconds,
		pipelines: one(func() *fake.Pipeline {
			clock.Since = time.Now()
			return &fake.Pipeline{Delay: stageDelays.Total(), Hops: stageDelays.Stamps(clock),
				Redis: &fake.Redis{Clock: clock}}
		}),
		checks: []check{
			allArrived,
			offset, drift(clock.PPM), inside("ingest", stageDelays.Ingest), inside("queue", stageDelays.Queue),
			inside("relay", stageDelays.Relay), across("request", stageDelays.Request),
			across("delivery", stageDelays.Delivery), negative, stageSum, verdict(runfile.Pass),
		},
	}
}

// oneWay keeps each answer of Redis to TIME for 2 ms. So the clock is off by half of it, and the bound must say so.
func oneWay(c testCase) testCase {
	pipeline := c.pipelines[0]
	c.pipelines = one(func() *fake.Pipeline {
		f := pipeline()
		f.Redis.Return = 2 * ms
		return f
	})
	return c
}

// shortDelays leave less room for the clocks of hosts than these are apart.
var shortDelays = fake.StageDelays{Request: ms, Ingest: 2 * ms, Queue: 2 * ms, Relay: 3 * ms, Delivery: ms}

// spanned stamps every message, and has the spans of two processes for it. Ahead of 0: both are on this host.
func spanned(name string, seconds [2]int, ahead time.Duration) testCase {
	api, worker := fake.Host{Name: "api", Ahead: ahead}, fake.Host{Name: "worker"}
	checks := []check{allArrived, spansOfAll, spansAsStamps, clockOf(worker), clockOf(api), verdict(runfile.Pass)}
	if ahead == 0 {
		api.Name, _ = os.Hostname()
		worker.Name = api.Name
		checks = slices.Delete(checks, 3, 5)
	}
	return testCase{
		name: name, rate: 100, seconds: seconds,
		pipelines: one(func() *fake.Pipeline {
			return &fake.Pipeline{
				Delay: shortDelays.Total(), Hops: shortDelays.Stamps(fake.Clock{}), Redis: &fake.Redis{},
				Traces: &fake.Traces{Delays: shortDelays, API: api, Worker: worker},
			}
		}),
		checks: checks,
	}
}

// stage returns the row of a stage; it fails without samples.
func stage(o *outcome, name string, expected time.Duration, line func(l runfile.Latency, expected float64) row) row {
	l, ms := o.generators[0].run.Latency.Stages[name], millisOf(expected)
	if l.Count == 0 {
		return row{"stage " + name, millis(ms), "no sample", exact, false}
	}
	return line(l, ms)
}

// inside compares a stage between two stamps, to which the instrument adds nothing. A drifting clock adds its
// drift, and each stamp is rounded to µs.
func inside(name string, expected time.Duration) check {
	return func(o *outcome) []row {
		return []row{stage(o, name, expected, func(l runfile.Latency, expected float64) row {
			slack, tolerance := 0.0, exact
			if ppm := o.generators[0].fake.Redis.Clock.PPM; ppm != 0 {
				slack = math.Ceil(expected*math.Abs(ppm)/1000+1) / 1000
				tolerance = fmt.Sprintf("±%.3f ms", slack)
			}
			return row{
				"stage " + name + ", min and max", millis(expected), millis(*l.Min) + ", " + millis(*l.Max), tolerance,
				math.Abs(*l.Min-expected) <= slack+1e-9 && math.Abs(*l.Max-expected) <= slack+1e-9 &&
					int(l.Count) == o.measured,
			}
		})}
	}
}

// across compares a stage between two processes: the configured delay plus what the sockets add, within the
// clock bound.
func across(name string, expected time.Duration) check {
	return func(o *outcome) []row {
		return []row{stage(o, name, expected, func(l runfile.Latency, expected float64) row {
			bound := o.generators[0].run.Clock.BoundMS
			return between("stage "+name+", fastest", millis(expected), *l.Min, expected, bound,
				bound+o.form.fastestSlack())
		})}
	}
}

// stageSum requires that the stages' means sum to the mean of the arrival latency.
func stageSum(o *outcome) []row {
	const rounding = 0.001 // ms
	l, total := o.generators[0].run.Latency, 0.0
	for _, s := range l.Stages {
		if s.Mean != nil {
			total += *s.Mean
		}
	}
	mean := *l.Arrival.Mean
	return []row{{"sum of the stages' means", millis(mean), millis(total), "±0.001 ms",
		math.Abs(total-mean) <= rounding}}
}

func spansOf(o *outcome) *runfile.Spans {
	s := o.generators[0].run.Spans
	if s == nil {
		must.Fail("the run has no spans")
	}
	return s
}

// spansOfAll requires that each message has its stages by spans.
func spansOfAll(o *outcome) []row {
	return []row{counted("messages with stages by spans", o.measured, int(spansOf(o).Count))}
}

// spansAsStamps compares the stages by spans with those by stamps of the same messages: within 10 µs, as moments are
// whole µs, and as far as the clocks of a stage's ends are known.
func spansAsStamps(o *outcome) (rows []row) {
	const rounding = 0.01 // ms
	r, s := o.generators[0].run, spansOf(o)
	if len(s.Stages) != len(r.Stages) {
		must.Fail("spans divide the time into %d stages, stamps into %d", len(s.Stages), len(r.Stages))
	}
	for i, stage := range r.Stages {
		got, want, within := *s.Stages[i].Mean, *r.Latency.Stages[stage.Name].Mean, s.Stages[i].Bound+rounding
		rows = append(rows, row{
			"stage " + stage.Name + ", mean by spans", "stamps " + millis(want), millis(got),
			fmt.Sprintf("±%.2f ms", within),
			math.Abs(got-want) <= within,
		})
	}
	return rows
}

// clockOf requires that the clock of a host is found within its bound, and that the bound is below what it is ahead:
// else any clock would do.
func clockOf(host fake.Host) check {
	return func(o *outcome) []row {
		all := spansOf(o).Clocks
		i := slices.IndexFunc(all, func(c runfile.SpansClock) bool { return c.Host == host.Name })
		if i < 0 {
			must.Fail("the clock of %s is not known", host.Name)
		}
		c, ahead := all[i], millisOf(host.Ahead)
		return []row{{
			"clock of " + host.Name, millis(ahead), millis(c.OffsetMS), "its bound " + millis(c.BoundMS),
			math.Abs(c.OffsetMS-ahead) <= c.BoundMS && c.Basis != runfile.Disagree && (ahead == 0 || c.BoundMS < ahead),
		}}
	}
}
