package main

import (
	"math"
	"slices"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// truth is a pipeline whose arrival p99 follows from the schedule alone: one server, or no wait at all.
type truth struct {
	name    string
	delay   time.Duration
	service func(nth int) time.Duration // of one server; nil: no message waits for another
	limits  []float64                   // shares of the arrival p99 that a punctual generator measures
}

func (t truth) pipeline() *fake.Pipeline { return &fake.Pipeline{Delay: t.delay, Service: t.service} }

// dues is when the messages of a steady load are due, counted from the start of the run.
func dues(rate, messages int) []time.Duration {
	all := make([]time.Duration, messages)
	for i := range all {
		all[i] = time.Duration(i) * time.Second / time.Duration(rate)
	}
	return all
}

// arrivals are when messages arrive that are sent when due, in a process that stands still now and then.
func (t truth) arrivals(due []time.Duration, still stalls) []time.Duration {
	all := make([]time.Duration, len(due))
	var served time.Duration
	for i, at := range due {
		ready := still.end(at)
		if t.service != nil {
			served = max(served, ready) + t.service(i+1)
			ready = served
		}
		all[i] = still.end(ready + t.delay)
	}
	return all
}

// p99 is the arrival p99 that a punctual generator measures, ms.
func (t truth) p99(due []time.Duration, still stalls) float64 {
	latencies := make([]time.Duration, len(due))
	for i, at := range t.arrivals(due, still) {
		latencies[i] = at - due[i]
	}
	slices.Sort(latencies)
	return millisOf(latencies[int(math.Ceil(0.99*float64(len(latencies))))-1])
}

// stall is a span in which this process, and so the pipeline in it, stood still.
type stall struct{ from, to time.Duration }

// stalls are those of a run in their order, counted from its start.
type stalls []stall

// end is the end of the stall that holds a moment; outside of stalls the moment itself.
func (all stalls) end(at time.Duration) time.Duration {
	for _, s := range all {
		if s.from <= at && at < s.to {
			return s.to
		}
	}
	return at
}

// pulse is how often a watch looks whether this process gets the CPU.
const pulse = time.Millisecond

// watch notes the beats of this process that came late until stop is called.
type watch struct {
	stopped, done chan struct{}
	last          time.Time
	late          []lateBeat
}

type lateBeat struct{ from, to time.Time }

func startWatch() *watch {
	w := &watch{stopped: make(chan struct{}), done: make(chan struct{}), last: time.Now()}
	go func() {
		defer close(w.done)
		for {
			select {
			case <-w.stopped:
				return
			case <-time.After(pulse):
			}
			w.beat(time.Now())
		}
	}()
	return w
}

// beat notes a beat that came late.
func (w *watch) beat(now time.Time) {
	if now.Sub(w.last) > 2*pulse {
		w.late = append(w.late, lateBeat{w.last, now})
	}
	w.last = now
}

// stop ends the watch and returns what it noted.
func (w *watch) stop() []lateBeat {
	close(w.stopped)
	<-w.done
	return w.late
}

// since counts them from the start of a run.
func since(began time.Time, late []lateBeat) (all stalls) {
	for _, beat := range late {
		all = append(all, stall{beat.from.Sub(began), beat.to.Sub(began)})
	}
	return all
}
