package judge_test

import (
	"cmp"
	"math"
	"slices"
)

// departures is a simulated pipeline: when messages leave it that come at these times, which ascend, and take this long
// to serve. All times are ms.
type departures func(came, service []float64) []float64

// infinite serves every message at once.
func infinite(came, service []float64) []float64 {
	left := make([]float64, len(came))
	for i, at := range came {
		left[i] = at + service[i]
	}
	return left
}

// fifo is one server that serves in order.
func fifo(came, service []float64) []float64 { return pausing(0, 0)(came, service) }

// pausing is a fifo that stands still for a while at the beginning of each period, whatever it serves.
func pausing(period, pause float64) departures {
	return func(came, service []float64) []float64 {
		left := make([]float64, len(came))
		free := 0.0
		for i, at := range came {
			free = worked(max(free, at), service[i], period, pause)
			left[i] = free
		}
		return left
	}
}

// worked is when work ends that begins at a time and rests in the pauses.
func worked(at, work, period, pause float64) float64 {
	if period == 0 {
		return at + work
	}
	for {
		begin := math.Floor(at/period) * period
		at = max(at, begin+pause)
		if room := begin + period - at; work > room {
			at, work = begin+period, work-room
			continue
		}
		return at + work
	}
}

// servers are n that share a queue. A message may overtake another one.
func servers(n int) departures {
	return func(came, service []float64) []float64 {
		left, free := make([]float64, len(came)), make([]float64, n)
		for i, at := range came {
			first := slices.Index(free, slices.Min(free))
			free[first] = max(free[first], at) + service[i]
			left[i] = free[first]
		}
		return left
	}
}

// sharing serves all messages at once, each the slower the more there are.
func sharing(came, service []float64) []float64 {
	type job struct {
		message int
		done    float64 // the work that each message has had when this one leaves
	}
	left := make([]float64, len(came))
	var jobs []job // by what they still need
	now, had := 0.0, 0.0
	until := func(end float64) {
		for len(jobs) > 0 {
			n := float64(len(jobs))
			ends := now + (jobs[0].done-had)*n
			if ends > end {
				had += (end - now) / n
				break
			}
			now, had, left[jobs[0].message] = ends, jobs[0].done, ends
			jobs = jobs[1:]
		}
		now = end
	}
	for i, at := range came {
		until(at)
		one := job{i, had + service[i]}
		place, _ := slices.BinarySearchFunc(jobs, one, func(a, b job) int { return cmp.Compare(a.done, b.done) })
		jobs = slices.Insert(jobs, place, one)
	}
	until(math.Inf(1))
	return left
}

// ticking is a fifo of batches: at each tick of a clock it begins to serve all that came since the last one.
func ticking(every float64) departures {
	return func(came, service []float64) []float64 {
		collected := make([]float64, len(came))
		for i, at := range came {
			collected[i] = math.Ceil(at/every) * every
		}
		return fifo(collected, service)
	}
}

// lingering is a fifo of batches: it waits for some time from the first message of a batch.
func lingering(wait float64) departures {
	return func(came, service []float64) []float64 {
		collected, closes := make([]float64, len(came)), math.Inf(-1)
		for i, at := range came {
			if at > closes {
				closes = at + wait
			}
			collected[i] = closes
		}
		return fifo(collected, service)
	}
}

// tokens lets messages pass at a rate, and burst of them at once after a rest; then it serves them at once.
func tokens(every float64, burst int) departures {
	return func(came, service []float64) []float64 {
		passed := make([]float64, len(came))
		full := 0.0 // when the bucket is full again
		for i, at := range came {
			passed[i] = max(at, full-float64(burst-1)*every)
			full = max(full, passed[i]) + every
		}
		return infinite(passed, service)
	}
}
