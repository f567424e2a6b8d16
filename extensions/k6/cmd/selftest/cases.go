package main

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const ms = time.Millisecond

// allArrived requires that all messages arrive and nothing else happens.
var allArrived = account(func(n int) runfile.Account { return runfile.Account{Arrived: n} })

var cases = []testCase{
	delayed(0), delayed(50 * ms), delayed(200 * ms),
	{
		name: "freeze of 1 s", rate: 1000, seconds: [2]int{3, 3}, pipelines: one(frozen), limits: []float64{500},
		// more would not wait for the answers, so from send would miss nothing
		options: map[string]any{"maxSenders": 64},
		checks:  []check{allArrived, slowCount, slowQuartiles, slowest, uncorrected, verdictNot(runfile.Pass)},
	},
	{
		name: "1 in 1,000 lost, 1 in 500 twice", rate: 1000, seconds: [2]int{10, 2},
		pipelines: one(func() *fake.Pipeline {
			return &fake.Pipeline{Copies: mostly(1, rule[int]{1000, 0, 0}, rule[int]{500, 250, 2})}
		}),
		options: map[string]any{"idle": "2s"},
		checks: []check{
			account(func(n int) runfile.Account {
				return runfile.Account{Arrived: n - n/1000, Lost: n / 1000, Duplicates: n / 500}
			}),
			samples, verdict(runfile.Fail),
		},
	},
	{
		name: "every third altered: cut, changed or prefixed", rate: 300, seconds: [2]int{4, 2},
		pipelines: one(func() *fake.Pipeline {
			return &fake.Pipeline{Rewrite: func(nth int, body []byte) []byte {
				switch nth % 9 {
				case 3:
					return body[:len(body)-2]
				case 6:
					return bytes.Replace(body, []byte(`"source":"k6"`), []byte(`"source":"k7"`), 1)
				case 0:
					return append([]byte("\x00\x01"), body...)
				}
				return body
			}}
		}),
		options: map[string]any{"idle": "2s", "verify": 1},
		checks: []check{
			account(func(n int) runfile.Account { return runfile.Account{Arrived: n - n/3, Altered: n / 3} }),
			verdict(runfile.Fail),
		},
	},
	{
		name: "1 in 10 swapped with the next", rate: 100, seconds: [2]int{5, 2}, targets: 1,
		pipelines: one(func() *fake.Pipeline { return &fake.Pipeline{Swap: mostly(false, rule[bool]{10, 5, true})} }),
		options:   map[string]any{"senders": 1, "maxSenders": 1}, // several would overtake each other
		checks: []check{
			account(func(n int) runfile.Account { return runfile.Account{Arrived: n, Reordered: n / 10} }),
			verdict(runfile.Pass),
		},
	},
	{
		name: "1 in 5 at another recipient, 1 in 10 there too", rate: 100, seconds: [2]int{5, 2}, targets: 2,
		pipelines: one(func() *fake.Pipeline { return &fake.Pipeline{Route: misrouted} }),
		options:   map[string]any{"idle": "2s"},
		checks: []check{
			account(func(n int) runfile.Account {
				return runfile.Account{Arrived: n - n/5, Misdelivered: n / 5, Misdeliveries: n/5 + n/10}
			}),
			verdict(runfile.Fail),
		},
	},
	{
		name: "every end of a message", rate: 300, seconds: [2]int{4, 2}, pipelines: one(scattered),
		options: map[string]any{"timeout": "3s", "idle": "2s"}, // answers must be in time on a busy machine, too
		checks: []check{
			account(func(n int) runfile.Account {
				a := runfile.Account{Rejected: every(n, 50, 1), Unknown: every(n, 100, 2)}
				a.Requests.Failed = a.Rejected + a.Unknown
				n -= a.Rejected + a.Unknown
				a.Queued, a.DeadLettered, a.Lost = every(n, 20, 3), every(n, 40, 4), every(n, 80, 5)
				a.Arrived = n - a.Queued - a.DeadLettered - a.Lost
				return a
			}),
			verdict(runfile.Fail),
		},
	},
	{
		name: "one held for 300 ms, three lost", rate: 100, seconds: [2]int{3, 2},
		// one sender: the pipeline gets messages in the order of their ids
		options: map[string]any{"senders": 1, "maxSenders": 1, "idle": "2s"},
		pipelines: one(func() *fake.Pipeline {
			return &fake.Pipeline{
				Redis: &fake.Redis{}, Delay: stageDelays.Total(), Hops: stageDelays.Stamps(fake.Clock{}),
				Late:   mostly(0, rule[time.Duration]{1000, 60, 300 * ms}),
				Copies: mostly(1, rule[int]{1000, 90, 0}, rule[int]{1000, 91, 0}, rule[int]{1000, 92, 0}),
			}
		}),
		checks: []check{
			account(func(n int) runfile.Account { return runfile.Account{Arrived: n - 3, Lost: 3} }),
			first(59, "delivery", stageDelays.Delivery+300*ms), named("lost", 89, 90, 91), verdict(runfile.Fail),
		},
	},
	clocked("clock right, with stamps", fake.Clock{}, [2]int{4, 0}),
	oneWay(clocked("clock 500 ms ahead, an answer takes 2 ms", fake.Clock{Ahead: 500 * ms}, [2]int{4, 2})),
	clocked("clock 500 ms behind, with stamps", fake.Clock{Ahead: -500 * ms}, [2]int{4, 2}),
	clocked("clock drifting by 50 ppm", fake.Clock{PPM: 50}, [2]int{10, 0}),
	spanned("stages by spans, one host", [2]int{4, 2}, 0),
	spanned("stages by spans, clocks 20 ms ahead and right", [2]int{4, 2}, 20*ms),
	{
		name: "reader that is late", rate: 100, seconds: [2]int{10, 3}, onLinux: true, pipelines: one(writer),
		busyLoops: 2,
		checks:    []check{allArrived, negative, stamped, readDelay, stageSum},
	},
	{
		name: "three flows after a slow warm-up", rate: 100, seconds: [2]int{3, 2}, warmUp: 1, flows: flowsProfile,
		pipelines: one(flowing),
		checks:    []check{allArrived, samples, measuredAlone, steps, flows, backlog, verdict(runfile.Pass)},
	},
	{
		name: "a known distribution, 1 in 10 with stamps out of order", rate: 100, seconds: [2]int{2, 2},
		pipelines: one(spread), options: map[string]any{"idle": "6s"},
		checks: []check{
			account(func(n int) runfile.Account { return runfile.Account{Arrived: n, Negative: n / 10} }),
			percentiles, means, seconds, brokenRule("negative"), readElsewhere, stageSum,
		},
	},
	{
		name: "one sender, answers after 200 and 100 ms", rate: 100, seconds: [2]int{2, 2},
		pipelines: one(func() *fake.Pipeline { return &fake.Pipeline{Answer: answers} }),
		options:   map[string]any{"senders": 1, "maxSenders": 1},
		checks:    []check{allArrived, lateness, lateSeconds, slowestAnswer(200 * ms), brokenRule("lateness")},
	},
	{
		name: "k6 out of CPU", rate: 50, seconds: [2]int{4, 3}, onLinux: true, burns: true, pipelines: one(slowed(0)),
		checks: []check{allArrived, outOfCPU},
	},
	{
		name: "leftovers of another run", rate: 100, seconds: [2]int{2, 1},
		pipelines: one(func() *fake.Pipeline { return &fake.Pipeline{Leftovers: mostly(0, rule[int]{4, 0, 1})} }),
		checks: []check{
			account(func(n int) runfile.Account { return runfile.Account{Arrived: n, Foreign: n / 4} }),
			samples, verdict(runfile.Pass),
		},
	},
	{
		name: "killed half-way", rate: 100, seconds: [2]int{60, 60}, kill: 300,
		pipelines: one(stuck),
		checks:    []check{incomplete, pending, leftPage},
	},
	{
		name: "handler late by 20 ms, with its client's time", rate: 20, seconds: [2]int{4, 2},
		pipelines: one(slowed(50 * ms)),
		consumer:  &consumer{late: 20 * ms, stamped: true},
		checks:    []check{allArrived, fastest(50 * ms), quantile(50, 50*ms), verdict(runfile.Pass)},
	},
	{
		name: "handler late by 20 ms", rate: 20, seconds: [2]int{4, 2}, pipelines: one(slowed(50 * ms)),
		consumer: &consumer{late: 20 * ms}, limits: []float64{60},
		checks: []check{allArrived, fastest(70 * ms), handlerLate(20 * ms)},
	},
	lostSubscriber("subscriber cut off", [2]int{2, 1}, (*fake.Pipeline).Cut, missed, gaps(1)),
	lostSubscriber("subscriber taken over", [2]int{2, 0}, (*fake.Pipeline).TakeOver, notSent, gaps(1)),
	{
		name: "canary beside the load", rate: 100, seconds: [2]int{3, 2}, options: map[string]any{"canary": true},
		pipelines: one(slowed(50 * ms)),
		checks:    []check{allArrived, canary(50 * ms), verdict(runfile.Pass)},
	},
	{
		name: "two instances, 50 and 200 ms", rate: 200, seconds: [2]int{5, 2}, raw: true, instances: true,
		pipelines: []func() *fake.Pipeline{unlike(50*ms, 30, 0), unlike(200*ms, 0, 50)},
		checks: []check{
			allArrived, merged, mergedQuartiles, mergedEnds, mergedCounts, mergedElsewhere, verdict(runfile.Pass),
		},
	},
}

func delayed(delay time.Duration) testCase {
	return testCase{
		name: fmt.Sprintf("delay of %d ms", delay.Milliseconds()), rate: 200, seconds: [2]int{5, 2},
		pipelines: one(slowed(delay)),
		checks:    []check{allArrived, fastest(delay), quantile(50, delay), quantile(99, delay), verdict(runfile.Pass)},
	}
}

// lostSubscriber loses the subscriber's connection in the middle of the run.
func lostSubscriber(name string, seconds [2]int, end func(*fake.Pipeline), checks ...check) testCase {
	return testCase{
		name: name, rate: 100, seconds: seconds, options: map[string]any{"idle": "1s"},
		pipelines: one(func() *fake.Pipeline {
			f := &fake.Pipeline{}
			f.Copies = func(nth int) int {
				if nth == 50 {
					end(f)
					return 0 // lost with the connection, however soon the subscriber reconnects
				}
				return 1
			}
			return f
		}),
		checks: append(checks, balance, verdict(runfile.Invalid)),
	}
}

// receivers are the kinds of receivers besides MQTT, each with the cases of MQTT that it repeats.
var receivers = []struct {
	name   string
	outlet func() fake.Outlet
	cases  []string // names of the cases; the short form has the first two
}{
	{"webhook", func() fake.Outlet { return &fake.Webhook{} }, receiverCases},
	{"websocket", func() fake.Outlet { return &fake.Push{} }, append(receiverCases, "subscriber cut off")},
	{"sse", func() fake.Outlet { return &fake.Push{Events: true} }, append(receiverCases, "subscriber cut off")},
}

var receiverCases = []string{
	"delay of 50 ms", "1 in 1,000 lost, 1 in 500 twice", "delay of 0 ms", "freeze of 1 s",
	"1 in 10 swapped with the next",
}

// allCases returns the cases of MQTT, of the other receivers, and of the verdict.
func allCases() []testCase {
	all := slices.Clone(cases)
	for _, r := range receivers {
		for i, name := range r.cases {
			c := cases[slices.IndexFunc(cases, func(one testCase) bool { return one.name == name })]
			pipeline := c.pipelines[0]
			c.name = r.name + ", " + name
			c.pipelines = one(func() *fake.Pipeline {
				f := pipeline()
				f.Outlet = r.outlet()
				return f
			})
			if i > 1 {
				c.seconds[short] = 0
			}
			all = append(all, c)
		}
	}
	return append(all, boundsCases()...)
}
