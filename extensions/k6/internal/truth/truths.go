// Package truth is an HTTP server that answers by a script, and keeps the kernel's stamps of what it did. What a load
// generator reports is compared with both: with the script, worked out for a perfect load, and with the record.
package truth

import (
	"fmt"
	"math"
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
func (l Load) due(nth int) time.Duration { return time.Duration(float64(nth) * l.interval()) }

// interval is the time between two requests, ns.
func (l Load) interval() float64 { return float64(time.Second) / l.Rate }

// each is a share of the time between two requests.
func (l Load) each(share float64) time.Duration { return time.Duration(share * l.interval()) }

// Truth is one behaviour of the server.
type Truth struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	About string `json:"about"`

	script func(Load) script
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

	freezeEvery, freezeFor = 5 * time.Second, 500 * time.Millisecond
)

// All are the truths.
var All = []Truth{
	{
		Name: "constant", Title: "2 ms", About: "Each request is answered after 2 ms.",
		script: func(Load) script { return after(func(int) time.Duration { return quick }) },
	},
	{
		Name: "freeze", Title: "Freeze of 500 ms",
		About: "Each request is answered after 2 ms, but for 500 ms of each 5 s, first 2.5 s after the first request, " +
			"nothing is answered. What waits is answered at the end of the freeze.",
		script: func(Load) script { return frozen },
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

// after answers each request after a time of its own: none waits for another.
func after(delay func(nth int) time.Duration) script {
	return func(nth int, at time.Duration) outcome { return outcome{at: at + delay(nth)} }
}

func frozen(_ int, at time.Duration) outcome {
	ready := at + quick
	if into := ready - freezeEvery/2; into >= 0 && into%freezeEvery < freezeFor {
		ready += freezeFor - into%freezeEvery
	}
	return outcome{at: ready}
}
