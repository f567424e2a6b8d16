package main

import (
	"fmt"
	"math"
	"time"

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
