// Package truth is an HTTP server that answers by a script, and keeps the kernel's stamps of what it did. What a load
// generator reports is compared with both: with the script, worked out for a perfect load, and with the record.
package truth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Load is what the load generator is asked for.
type Load struct {
	Rate        float64 // requests/s
	Seconds     float64
	Connections int
}

// Requests is how many requests the load has.
func (l Load) Requests() int { return int(math.Round(l.Rate * l.Seconds)) }

// due is when a request is due, counted from the first.
func (l Load) due(nth int) time.Duration { return l.intervals(float64(nth)) }

// intervals is so many times the time between two requests.
func (l Load) intervals(n float64) time.Duration {
	return time.Duration(math.Round(n * float64(time.Second) / l.Rate))
}

// limit is on how many connections a server answers that has fewer than the load.
func (l Load) limit() int64 { return int64(max(1, l.Connections/2)) }

// Truth is one behaviour of the server.
type Truth struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	About string `json:"about"`

	script  func(Load) script
	limited bool // a connection beyond Load.limit is reset
}

// script decides what becomes of a request: the nth that came, from 0, so long after the first. It is called once for
// each in that order.
type script func(nth int, at time.Duration) outcome

// outcome is what becomes of a request, and when, counted from the first request.
type outcome struct {
	at   time.Duration
	fate fate
}

type fate int

const (
	answered fate = iota
	reset         // the connection is reset instead of an answer
	lost          // there never is an answer, and the connection stays open
)

const (
	quick = 2 * time.Millisecond
	slow  = 50 * time.Millisecond

	freezeEvery, freezeFor = 5 * time.Second, 500 * time.Millisecond
)

// All are the truths. Where a share of the requests is treated differently, it lies on none of the percentiles that are
// compared: a p99 where 1 % are slow is one or the other by a single request. Lost ones are no part of a truth; of a tool
// that counts them, p99.9 is on that edge.
var All = []Truth{
	{
		Name: "constant", Title: "2 ms", About: "Each request is answered after 2 ms.",
		script: constant,
	},
	{
		Name: "slow", Title: "2 % take 50 ms",
		About:  "One of each 50 requests is answered after 50 ms, the others after 2 ms.",
		script: func(Load) script { return except(50, outcome{at: slow}) },
	},
	{
		Name: "freeze", Title: "Freeze of 500 ms",
		About: "Each request is answered after 2 ms, but for 500 ms of each 5 s, first 2.5 s after the first request, " +
			"nothing is answered. What waits is answered at the end of the freeze.",
		script: func(Load) script { return frozen },
	},
	{
		Name: "saturate", Title: "Capacity of 80 %",
		About: "One request after the other, in the order they came, each in the same time: that of 80 % of the asked " +
			"rate. So the wait of a load that keeps its rate grows until its end.",
		script: func(l Load) script { return queued(func(int) time.Duration { return l.intervals(1 / 0.8) }) },
	},
	{
		Name: "bursts", Title: "Bursts of slow requests",
		About: "One request after the other, in the order they came. Of the requests of a second at the asked rate, the " +
			"first fifth takes three times as long each as the rate allows, the others a quarter: 80 % of the time in all.",
		script: func(l Load) script {
			second := max(5, int(math.Round(l.Rate)))
			return queued(func(nth int) time.Duration {
				if nth%second < second/5 {
					return l.intervals(3)
				}
				return l.intervals(0.25)
			})
		},
	},
	{
		Name: "limit", Title: "Half of the connections",
		About: "Each request is answered after 2 ms, on half as many connections as the load has. Each further one is " +
			"reset when it is opened. The truth is that of a load which keeps to the limit, as a tool does that opens " +
			"connections only when it needs them.",
		script: constant, limited: true,
	},
	{
		Name: "reset", Title: "1 of 500 reset",
		About: "One of each 500 requests has its connection reset after 2 ms, the others are answered then. The truth is " +
			"that of the answers.",
		script: func(Load) script { return except(500, outcome{quick, reset}) },
	},
	{
		Name: "lost", Title: "1 of 1,000 lost",
		About: "One of each 1,000 requests is never answered, the others after 2 ms. The truth is that of the answers. A " +
			"tool that counts the time until it gave one up has that in its p99.9 and its maximum.",
		script: func(Load) script { return except(1000, outcome{quick, lost}) },
	},
}

// Find returns the truth of a name.
func Find(name string) (Truth, error) {
	names := make([]string, len(All))
	for i, t := range All {
		if t.Name == name {
			return t, nil
		}
		names[i] = t.Name
	}
	return Truth{}, fmt.Errorf("no truth is named %q; there are %s", name, strings.Join(names, ", "))
}

// Due returns the latencies, in ascending order, of a load whose requests are all sent when they are due, on as many
// connections as it takes: from due until the answer. Requests without an answer have none.
//
// It has no lateness of the server, which Record.Served shows, and which is in the figures of all tools alike: 0.05 ms
// at p99 on an idle machine, and some ms for those that are answered last where hundreds are due at once, as at the end
// of a freeze. A tool that leaves the server no CPU makes it later, and reports that wait. It is no part of the truth:
// a tool is not measured by what it spoilt.
func (t Truth) Due(l Load) []time.Duration {
	decide, all := t.script(l), make([]time.Duration, 0, l.Requests())
	for nth := range l.Requests() {
		at := l.due(nth)
		if o := decide(nth, at); o.fate == answered {
			all = append(all, o.at-at)
		}
	}
	slices.Sort(all)
	return all
}

// constant answers each request after 2 ms.
func constant(Load) script {
	return func(_ int, at time.Duration) outcome { return outcome{at: at + quick} }
}

// except answers each request after 2 ms, but for one of each so many, at no regular distance: a closed load would meet
// a regular one with the same connection each time. Its outcome's time counts from the request.
func except(of int, other outcome) script {
	return func(nth int, at time.Duration) outcome {
		if nth%of == rand.New(rand.NewPCG(1, uint64(nth/of))).IntN(of) {
			return outcome{at + other.at, other.fate}
		}
		return outcome{at: at + quick}
	}
}

func frozen(_ int, at time.Duration) outcome {
	ready := at + quick
	if into := ready - freezeEvery/2; into >= 0 && into%freezeEvery < freezeFor {
		ready += freezeFor - into%freezeEvery
	}
	return outcome{at: ready}
}

// queued answers one request after the other: each waits until those before it are done (Lindley's recursion).
func queued(service func(nth int) time.Duration) script {
	free := time.Duration(0)
	return func(nth int, at time.Duration) outcome {
		free = max(free, at) + service(nth)
		return outcome{at: free}
	}
}
