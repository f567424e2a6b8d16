package main

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

func one(pipeline func() *fake.Pipeline) []func() *fake.Pipeline {
	return []func() *fake.Pipeline{pipeline}
}

func slowed(delay time.Duration) func() *fake.Pipeline {
	return func() *fake.Pipeline { return &fake.Pipeline{Delay: delay} }
}

func frozen() *fake.Pipeline { return &fake.Pipeline{Freeze: fake.Freeze{Nth: 1000, For: time.Second}} }

// rule gives a value to the numbers that leave this remainder.
type rule[T any] struct {
	divisor, remainder int
	value              T
}

// mostly returns a number's value by the first rule that matches, or the default.
func mostly[T any](otherwise T, rules ...rule[T]) func(nth int) T {
	return func(nth int) T {
		for _, r := range rules {
			if nth%r.divisor == r.remainder {
				return r.value
			}
		}
		return otherwise
	}
}

// scattered rejects 1 request in 50 and leaves 1 in 100 unanswered. Of the accepted messages 1 in 20 stays in the
// queue, 1 in 40 becomes a dead letter and 1 in 80 is lost.
func scattered() *fake.Pipeline {
	return &fake.Pipeline{
		Redis:  &fake.Redis{},
		Status: mostly(202, rule[int]{50, 1, 503}, rule[int]{100, 2, 0}),
		Keep:   mostly("", rule[string]{20, 3, fake.Messages}, rule[string]{40, 4, fake.DeadLetters}),
		Copies: mostly(1, rule[int]{80, 5, 0}),
	}
}

// writer stamps each message when it makes the packet, and writes it when no other message is in flight. So the
// kernel's stamp belongs to this message alone, however late k6 reads it.
func writer() *fake.Pipeline {
	return &fake.Pipeline{Redis: &fake.Redis{}, Alone: true, Hops: func(time.Time) string {
		return fake.StageDelays{}.Stamps(fake.Clock{})(time.Now())
	}}
}

// every counts the numbers from 1 to n that leave this remainder, which must be positive.
func every(n, divisor, remainder int) int { return (n - remainder + divisor) / divisor }

// stuck delivers only the first messages. The others stay in flight on any machine.
func stuck() *fake.Pipeline {
	return &fake.Pipeline{Copies: func(nth int) int {
		if nth > delivered {
			return 0
		}
		return 1
	}}
}

const delivered = 200

// flowsProfile are three flows whose weights sum to ten.
const flowsProfile = "{name: near, target: near, targets: 5, weight: 5}, " +
	"{name: apart, target: apart, targets: 3, weight: 3}, {name: far, target: far, targets: 2, weight: 2}"

// distances are how much longer the messages of each flow take.
var distances = map[string]time.Duration{"near": 0, "apart": 150 * ms, "far": 300 * ms}

// flowing takes longer for one flow than for another, and longest for the first hundred messages.
func flowing() *fake.Pipeline {
	return &fake.Pipeline{
		Delay: 100 * ms,
		Far: func(target string) time.Duration {
			flow, _, _ := strings.Cut(target, "/")
			return distances[flow]
		},
		Late: func(nth int) time.Duration {
			if nth <= 100 {
				return 400 * ms
			}
			return 0
		},
	}
}

// known are the percentiles of a report.
var known = []float64{50, 75, 90, 95, 99, 99.9}

// spreadOver is how many messages one round of spread has. Each of the known percentiles is a whole rank of it, but for
// the last, which is the slowest.
const spreadOver = 200

// held is how long spread holds the message of a rank, from 1: each known percentile is 100 ms slower than the rank
// before it and 100 ms faster than the one behind it, and the slowest message takes 4 s.
func held(rank int) time.Duration {
	if rank == spreadOver {
		return 4 * time.Second
	}
	held := time.Duration(0)
	for _, p := range known {
		switch of := int(math.Ceil(p / 100 * spreadOver)); {
		case rank > of:
			held += 200 * ms
		case rank == of:
			held += 100 * ms
		}
	}
	return held
}

// spread holds each message for a time of its own, in no order. In 1 of 10 the stamps say that the relay claimed the
// message before it was queued.
func spread() *fake.Pipeline {
	const stride = 7 // has no divisor in common with spreadOver
	stamped := 0
	return &fake.Pipeline{
		Redis: &fake.Redis{},
		Late:  func(nth int) time.Duration { return held(nth*stride%spreadOver + 1) },
		Hops: func(at time.Time) string {
			delays := fake.StageDelays{}
			if stamped++; stamped%10 == 0 {
				delays.Queue = -5 * ms
			}
			return delays.Stamps(fake.Clock{})(at)
		},
	}
}

// answers keep a single sender waiting, for longest in the first second.
var answers = mostly(0, rule[time.Duration]{1000, 20, 200 * ms}, rule[time.Duration]{1000, 150, 100 * ms})

// unlike answers a request of one number after 300 ms, and holds the message of another for 500 ms; 0: none.
func unlike(delay time.Duration, answered, holding int) func() *fake.Pipeline {
	only := func(one int, value time.Duration) func(nth int) time.Duration {
		return func(nth int) time.Duration {
			if nth == one {
				return value
			}
			return 0
		}
	}
	return func() *fake.Pipeline {
		return &fake.Pipeline{Delay: delay, Answer: only(answered, 300*ms), Late: only(holding, 500*ms)}
	}
}

// misrouted delivers the fifth of each ten messages, and the tenth, at another recipient, and the second at both.
func misrouted(nth int, target string) []string {
	other := strings.NewReplacer("/0", "/1", "/1", "/0").Replace(target)
	switch nth % 10 {
	case 0, 5:
		return []string{other}
	case 2:
		return []string{target, other}
	}
	return []string{target}
}

// truth is a pipeline whose arrival p99 follows from the schedule alone: one server, or no wait at all.
type truth struct {
	name    string
	delay   time.Duration
	service func(nth int) time.Duration // how long the only server takes; nil: no message waits for another
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

// arrivals returns when messages arrive that are sent when due, in a process that is frozen now and then.
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

// stalls are the stalls of a run in order, as times since its start.
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
