// Package profile reads a load profile: the phases of a run and its weighted flows, in Artillery's vocabulary.
//
//	phases:
//	  - name: ramp
//	    duration: 20          # seconds, or "20s", "2m"
//	    arrivalRate: 100      # requests per second at the start of the phase
//	    rampTo: 1500          # requests per second at its end
//	flows:
//	  - name: room
//	    weight: 2             # share of the requests
//	    target: room          # messages go to room/0, room/1, …
//	    targets: 10           # or their names: [berlin, site/rome]
//	    deliveries: 5         # subscribers that hold each target
//
// That is the open model. In the closed model a phase has a concurrency instead, and each VU sends its next request
// after its last answer. A profile has one model; both may have pauses.
//
//	phases:
//	  - name: ten
//	    duration: 20
//	    vus: 10               # 1 to 10,000
//	    requests: 5000        # ends the phase before its duration does
//	    drain: 30             # then waits up to 30 s until everything has arrived
package profile

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Profile is a checked load profile.
type Profile struct {
	Name   string
	Phases []Phase
	Flows  []Flow

	Connections int // the least number of subscribers' connections; from the script
}

// Phase is a span of the run. Rates are requests per second. A pause has the rate 0 and no VUs; an arrivalCount of n
// over a duration of d has the rate n/d.
type Phase struct {
	Name     string
	Duration time.Duration
	Rate     float64       // at the start
	RampTo   float64       // at the end; equals Rate unless the phase ramps
	Count    float64       // open model: number of requests, whatever the duration; 0: the rate decides
	Measured bool          // false: its messages are in the account, but not in the run's latency figures
	VUs      int           // closed model: requests in flight
	Requests int           // closed model: the phase ends after this many; 0: only its duration ends it
	Drain    time.Duration // closed model: the longest wait after the phase until everything has arrived
}

// Ramps reports whether the rate changes during the phase.
func (p Phase) Ramps() bool { return p.RampTo != p.Rate }

func (p Phase) arrivals() bool { return p.Rate > 0 || p.RampTo > 0 }

// spread derives the rate from Count and the duration.
func (p *Phase) spread() {
	p.Rate = p.Count / p.Duration.Seconds()
	p.RampTo = p.Rate
}

// Closed reports whether the load is closed: the next request is sent when one is answered, so their number and
// times depend on the pipeline. In the open model requests are due by the clock.
func (p *Profile) Closed() bool {
	return slices.ContainsFunc(p.Phases, func(ph Phase) bool { return ph.VUs > 0 })
}

// Flow is one kind of request.
type Flow struct {
	Name         string
	Weight       int
	Target       string // prefix of the targets: <target>/<number>; with Names, these, each with a comma before it
	Targets      int    // how many targets the messages go round
	Messages     int    // messages in one request
	Deliveries   int    // subscribers that hold each target, so deliveries due for each message
	PayloadBytes int    // length of the message's payload

	Names []string // names of the targets; nil: they are numbered
}

// SetNames gives the flow targets by name.
func (f *Flow) SetNames(names []string) {
	f.Names, f.Target, f.Targets = names, ","+strings.Join(names, ","), len(names)
}

// AppendTarget adds target i.
func (f *Flow) AppendTarget(buf []byte, i int) []byte {
	if f.Names != nil {
		return append(buf, f.Names[i]...)
	}
	return strconv.AppendInt(append(append(buf, f.Target...), '/'), int64(i), 10)
}

// TargetOf is target i.
func (f *Flow) TargetOf(i int) string { return string(f.AppendTarget(nil, i)) }

// has reports whether a flow of numbered targets has one.
func (f *Flow) has(target string) bool {
	number, ok := strings.CutPrefix(target, f.Target+"/")
	i, err := strconv.Atoi(number)
	return ok && err == nil && i >= 0 && i < f.Targets && target == f.TargetOf(i)
}

// Duration is the length of all phases.
func (p *Profile) Duration() (d time.Duration) {
	for _, ph := range p.Phases {
		d += ph.Duration
	}
	return d
}

// Peak is the highest rate of the open model's phases, in requests per second.
func (p *Profile) Peak() (most float64) {
	for _, ph := range p.Phases {
		most = max(most, ph.Rate, ph.RampTo)
	}
	return most
}

// Most is the highest concurrency of the closed model's phases.
func (p *Profile) Most() (most int) {
	for _, ph := range p.Phases {
		most = max(most, ph.VUs)
	}
	return most
}

// Drains is the longest that all waits between phases can take.
func (p *Profile) Drains() (d time.Duration) {
	for _, ph := range p.Phases {
		d += ph.Drain
	}
	return d
}

// Subscribers is the number of connections that hold the topics: at least as many as a message has deliveries, and at
// most as many as the ledger distinguishes.
func (p *Profile) Subscribers() int {
	n := max(1, p.Connections)
	for _, f := range p.Flows {
		n = max(n, f.Deliveries)
	}
	return min(n, MaxSubscribers)
}

// Targets numbers the targets of flows from 0, flow by flow. Flows with the same Target share theirs.
type Targets struct {
	groups []group
	firsts []int // number of each flow's first target
	sizes  []int // targets of each flow
	total  int
}

// group are the targets of a flow.
type group struct {
	flow  Flow
	first int
	names map[string]int // nil: they are numbered
}

// NewTargets numbers the targets of flows.
func NewTargets(flows []Flow) (t Targets) {
	for _, f := range flows {
		at := slices.IndexFunc(t.groups, func(g group) bool { return g.flow.Target == f.Target })
		if at < 0 {
			at = len(t.groups)
			g := group{flow: f, first: t.total}
			if f.Names != nil {
				g.names = map[string]int{}
				for i, name := range f.Names {
					g.names[name] = i
				}
			}
			t.groups = append(t.groups, g)
			t.total += f.Targets
		}
		t.firsts, t.sizes = append(t.firsts, t.groups[at].first), append(t.sizes, f.Targets)
	}
	return t
}

// Total is the number of all targets.
func (t Targets) Total() int { return t.total }

// First is the number of a flow's first target.
func (t Targets) First(flow int) int { return t.firsts[flow] }

// Of returns the target of a message. A flow's messages go round the flow's targets; nth counts them from 0.
func (t Targets) Of(flow, nth int) int { return t.firsts[flow] + nth%t.sizes[flow] }

// Name is the name of a target.
func (t Targets) Name(target int) string {
	g, within, _ := t.group(target)
	return g.flow.TargetOf(within)
}

// Within is the number of a target within its flow, and how many deliveries are due for a message to it.
func (t Targets) Within(target int) (within, deliveries int) {
	g, within, _ := t.group(target)
	return within, g.flow.Deliveries
}

func (t Targets) group(target int) (g group, within int, ok bool) {
	for _, g := range t.groups {
		if within = target - g.first; within >= 0 && within < g.flow.Targets {
			return g, within, true
		}
	}
	return group{}, 0, false
}

// Number is the number of the target with a name; false: there is none.
func (t Targets) Number(name []byte) (target int, ok bool) {
	slash := max(0, bytes.LastIndexByte(name, '/'))
	prefix, digits := name[:slash], name[min(slash+1, len(name)):]
	for _, g := range t.groups {
		if g.names != nil {
			if within, known := g.names[string(name)]; known {
				return g.first + within, true
			}
			continue
		}
		if g.flow.Target != string(prefix) {
			continue
		}
		within, err := strconv.Atoi(string(digits))
		if err == nil && within >= 0 && within < g.flow.Targets && g.flow.TargetOf(within) == string(name) {
			return g.first + within, true
		}
	}
	return 0, false
}
