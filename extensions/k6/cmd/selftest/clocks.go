package main

import (
	"fmt"
	"math"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// probing is how old the last probe of a run's clock may be when the run ends: they are 100 ms apart, and a busy machine misses some.
const probing = 500 * time.Millisecond

// offset compares what the run has found that the clock of Redis is ahead, give or take the bound that the run itself
// states.
func offset(o *outcome) []row {
	const what = "clock, offset"
	g := o.gens[0]
	ended, err := ending(g.run)
	if err != nil {
		return failed(what, err)
	}
	clock := g.fake.Redis.Clock
	low, high := millisOf(clock.Error(ended.Add(-probing))), millisOf(clock.Error(ended)) // no clock drifts backwards here
	told := micros(high)
	if low != high {
		told = micros(low) + " to " + told
	}
	c := g.run.Clock
	return []row{{
		what, told + " ms", micros(*c.OffsetMS) + " ms", "its bound " + millis(c.BoundMS),
		c.Reference == "redis TIME" && *c.OffsetMS >= low-c.BoundMS && *c.OffsetMS <= high+c.BoundMS,
	}}
}

// drift compares the drift, give or take 5 ppm and what the bounds at the two ends of the run leave open. In two seconds
// that is nearly everything, so the short form leaves it out.
func drift(ppm float64) check {
	return func(o *outcome) []row {
		const what = "clock, drift"
		if o.form == short {
			return nil
		}
		r := o.gens[0].run
		began, err := time.Parse(time.RFC3339Nano, r.Run.Started)
		if err != nil {
			return failed(what, err)
		}
		ended, err := ending(r)
		if err != nil {
			return failed(what, err)
		}
		tolerance := 5 + 2*r.Clock.BoundMS*1000/ended.Sub(began).Seconds()
		return []row{{
			what, fmt.Sprintf("%g ppm", ppm), fmt.Sprintf("%.1f ppm", *r.Clock.DriftPPM), fmt.Sprintf("±%.1f ppm", tolerance),
			math.Abs(*r.Clock.DriftPPM-ppm) <= tolerance,
		}}
	}
}

// stages compares those that are told by stamps alone: the instrument has nothing to add to them. By a clock that drifts they are
// longer or shorter by its rate, and each stamp is put back in whole µs.
func stages(o *outcome) (rows []row) {
	for _, s := range []struct {
		name string
		told time.Duration
	}{{"ingest", way.Ingest}, {"queue", way.Queue}, {"relay", way.Relay}} {
		l, told := o.gens[0].run.Latency.Stages[s.name], millisOf(s.told)
		if l.Count == 0 {
			rows = append(rows, row{"stage " + s.name, millis(told), "no sample", exact, false})
			continue
		}
		slack, tolerance := 0.0, exact
		if ppm := o.gens[0].fake.Redis.Clock.PPM; ppm != 0 {
			slack = math.Ceil(told*math.Abs(ppm)/1000+1) / 1000
			tolerance = fmt.Sprintf("±%.3f ms", slack)
		}
		rows = append(rows, row{
			"stage " + s.name + ", min and max", millis(told), millis(*l.Min) + ", " + millis(*l.Max), tolerance,
			math.Abs(*l.Min-told) <= slack+1e-9 && math.Abs(*l.Max-told) <= slack+1e-9 && int(l.Count) == o.measured,
		})
	}
	return rows
}

// ends compares the stages between two processes: they hold what was told and what the sockets add, give or take the bound
// of the clock.
func ends(o *outcome) (rows []row) {
	r := o.gens[0].run
	for _, s := range []struct {
		name string
		told time.Duration
	}{{"request", way.Request}, {"delivery", way.Delivery}} {
		l, told := r.Latency.Stages[s.name], millisOf(s.told)
		if l.Count == 0 {
			rows = append(rows, row{"stage " + s.name, millis(told), "no sample", exact, false})
			continue
		}
		rows = append(rows, between("stage "+s.name+", fastest", millis(told), *l.Min, told, r.Clock.BoundMS, o.form.least()))
	}
	return rows
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

func ending(r *report.Run) (time.Time, error) {
	if r.Run.Ended == nil {
		return time.Time{}, fmt.Errorf("the run did not end")
	}
	return time.Parse(time.RFC3339Nano, *r.Run.Ended)
}

func millisOf(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
