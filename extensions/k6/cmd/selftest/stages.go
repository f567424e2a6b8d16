package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

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
