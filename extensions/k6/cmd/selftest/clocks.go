package main

import (
	"fmt"
	"math"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// probing is how old the last probe of a run's clock may be when the run ends: they are 100 ms apart, and a busy machine misses some.
const probing = 500 * time.Millisecond

// offset compares the offset that the run has found for the clock of Redis, within the bound that the run
// itself states.
func offset(o *outcome) []row {
	g := o.gens[0]
	clock, ended := g.fake.Redis.Clock, g.ended()
	low, high := millisOf(clock.Error(ended.Add(-probing))), millisOf(clock.Error(ended)) // no clock drifts backwards here
	expected := micros(high)
	if low != high {
		expected = micros(low) + " to " + expected
	}
	c := g.run.Clock
	return []row{{
		"clock, offset", expected + " ms", micros(*c.OffsetMS) + " ms", "its bound " + millis(c.BoundMS),
		c.Reference == "redis TIME" && *c.OffsetMS >= low-c.BoundMS && *c.OffsetMS <= high+c.BoundMS,
	}}
}

// drift compares the drift, within 5 ppm and the bounds at both ends of the run. In two seconds the bounds
// allow nearly everything, so the short form leaves it out.
func drift(ppm float64) check {
	return func(o *outcome) []row {
		if o.form == short {
			return nil
		}
		g := o.gens[0]
		c := g.run.Clock
		tolerance := 5 + 2*c.BoundMS*1000/g.ended().Sub(g.began()).Seconds()
		return []row{{
			"clock, drift", fmt.Sprintf("%g ppm", ppm), fmt.Sprintf("%.1f ppm", *c.DriftPPM), fmt.Sprintf("±%.1f ppm", tolerance),
			math.Abs(*c.DriftPPM-ppm) <= tolerance,
		}}
	}
}

// stage makes a line for a stage that has samples; without samples there is nothing to compare.
func stage(o *outcome, name string, expected time.Duration, line func(l report.Latency, expected float64) row) row {
	l, ms := o.gens[0].run.Latency.Stages[name], millisOf(expected)
	if l.Count == 0 {
		return row{"stage " + name, millis(ms), "no sample", exact, false}
	}
	return line(l, ms)
}

// inside compares a stage that only the stamps define: the instrument adds nothing. With a drifting clock it is
// off by the drift, and each stamp is rounded to µs.
func inside(name string, expected time.Duration) check {
	return func(o *outcome) []row {
		return []row{stage(o, name, expected, func(l report.Latency, expected float64) row {
			slack, tolerance := 0.0, exact
			if ppm := o.gens[0].fake.Redis.Clock.PPM; ppm != 0 {
				slack = math.Ceil(expected*math.Abs(ppm)/1000+1) / 1000
				tolerance = fmt.Sprintf("±%.3f ms", slack)
			}
			return row{
				"stage " + name + ", min and max", millis(expected), millis(*l.Min) + ", " + millis(*l.Max), tolerance,
				math.Abs(*l.Min-expected) <= slack+1e-9 && math.Abs(*l.Max-expected) <= slack+1e-9 && int(l.Count) == o.measured,
			}
		})}
	}
}

// across compares a stage between two processes: it includes the configured delay and what the sockets add,
// within the bound of the clock.
func across(name string, expected time.Duration) check {
	return func(o *outcome) []row {
		return []row{stage(o, name, expected, func(l report.Latency, expected float64) row {
			return between("stage "+name+", fastest", millis(expected), *l.Min, expected, o.gens[0].run.Clock.BoundMS, o.form.least())
		})}
	}
}

// sum requires the means of the stages to sum to the mean of the arrival latency.
func sum(o *outcome) []row {
	const rounding = 0.001 // ms
	l, total := o.gens[0].run.Latency, 0.0
	for _, s := range l.Stages {
		if s.Mean != nil {
			total += *s.Mean
		}
	}
	mean := *l.Arrival.Mean
	return []row{{"sum of the stages' means", millis(mean), millis(total), "±0.001 ms", math.Abs(total-mean) <= rounding}}
}
