// Package pacer maps the number of a request to the moment it is due. It is pure arithmetic: it knows no clock.
package pacer

import (
	"math"
	"sort"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// Pacer is the schedule of a run: how many requests, when each is due, which flow each belongs to and which ids
// it carries. Safe for concurrent use, since nothing in it changes.
type Pacer struct {
	phases   []span
	flows    []profile.Flow
	cycle    []int // flow of request n is cycle[n % len(cycle)]
	firstSeq []int // messages before each position of the cycle; one longer than the cycle
	ofFlow   []int // messages of the same flow before each position of the cycle
	perCycle []int // messages of each flow in one cycle
	requests int
}

// span is a phase with what came before it. before and area are integrals of the rate, so requests with a fraction.
type span struct {
	start, length float64 // seconds
	from, to      float64 // requests per second
	before, area  float64
}

// Slot is one request of the schedule.
type Slot struct {
	N        int           // number of the request, from 0
	Due      time.Duration // since the start of the run
	Phase    int
	Flow     int
	FirstSeq int // number of its first message in the run; the others follow
	OfFlow   int // number of its first message in its flow
	Messages int
}

// epsilon is what rounding may take from or add to an integral that is meant to be whole.
const epsilon = 1e-9

// New makes the schedule of a checked profile.
func New(p *profile.Profile) *Pacer {
	pc := &Pacer{flows: p.Flows, cycle: weigh(p.Flows)}
	var start, before float64
	for _, ph := range p.Phases {
		d := ph.Duration.Seconds()
		area := (ph.Rate + ph.RampTo) / 2 * d
		pc.phases = append(pc.phases, span{start, d, ph.Rate, ph.RampTo, before, area})
		start += d
		before += area
	}
	// Request n is due when the integral of the rate reaches n, so the last one is the largest n below the whole.
	pc.requests = int(math.Ceil(before - epsilon*math.Max(1, before)))
	pc.firstSeq = make([]int, len(pc.cycle)+1)
	pc.ofFlow = make([]int, len(pc.cycle))
	pc.perCycle = make([]int, len(p.Flows))
	for i, f := range pc.cycle {
		pc.ofFlow[i] = pc.perCycle[f]
		pc.perCycle[f] += p.Flows[f].Messages
		pc.firstSeq[i+1] = pc.firstSeq[i] + p.Flows[f].Messages
	}
	return pc
}

// Requests is the number of requests of the run.
func (p *Pacer) Requests() int { return p.requests }

// Messages is the number of messages in the first n requests, so also the number of the first message of request n.
func (p *Pacer) Messages(n int) int {
	c := len(p.cycle)
	return n/c*p.firstSeq[c] + p.firstSeq[n%c]
}

// Slot returns request n, 0 <= n < Requests().
func (p *Pacer) Slot(n int) Slot {
	i := p.phaseOf(float64(n))
	flow := p.FlowOf(n)
	return Slot{
		N:        n,
		Due:      p.phases[i].due(float64(n)),
		Phase:    i,
		Flow:     flow,
		FirstSeq: p.Messages(n),
		OfFlow:   n/len(p.cycle)*p.perCycle[flow] + p.ofFlow[n%len(p.cycle)],
		Messages: p.flows[flow].Messages,
	}
}

// FlowOf returns the flow of request n.
func (p *Pacer) FlowOf(n int) int { return p.cycle[n%len(p.cycle)] }

// SlotOf returns the request that carries message seq.
func (p *Pacer) SlotOf(seq int) Slot {
	c := len(p.cycle)
	rounds, rest := seq/p.firstSeq[c], seq%p.firstSeq[c]
	return p.Slot(rounds*c + sort.SearchInts(p.firstSeq, rest+1) - 1)
}

// Due returns how many requests are due before t.
func (p *Pacer) Due(t time.Duration) int {
	s := t.Seconds()
	i := sort.Search(len(p.phases), func(i int) bool { return p.phases[i].start+p.phases[i].length > s })
	if i == len(p.phases) {
		return p.requests
	}
	ph := p.phases[i]
	into := s - ph.start
	sum := ph.before + ph.from*into + (ph.to-ph.from)*into*into/(2*ph.length)
	return min(p.requests, int(math.Ceil(sum-epsilon*math.Max(1, sum))))
}

// PhaseRequests returns the numbers [from, to) of the requests of phase i.
func (p *Pacer) PhaseRequests(i int) (from, to int) {
	whole := func(x float64) int { return min(p.requests, int(math.Ceil(x-epsilon*math.Max(1, x)))) }
	return whole(p.phases[i].before), whole(p.phases[i].before + p.phases[i].area)
}

func (p *Pacer) phaseOf(x float64) int {
	slack := epsilon * math.Max(1, x)
	return sort.Search(len(p.phases)-1, func(i int) bool { return x < p.phases[i].before+p.phases[i].area-slack })
}

// due solves before + from·t + (to−from)·t²/2d = x for t, in the form that stays exact where the rate is constant.
func (s span) due(x float64) time.Duration {
	left := math.Max(0, x-s.before)
	t := 0.0
	if left > 0 {
		root := math.Sqrt(math.Max(0, s.from*s.from+2*(s.to-s.from)*left/s.length))
		t = 2 * left / (s.from + root)
	}
	return time.Duration(math.Round((s.start + t) * 1e9))
}

// weigh lays out one cycle of smooth weighted round robin: each flow appears exactly its weight's share of times,
// spread as evenly as it can be, and the same in each run.
func weigh(flows []profile.Flow) []int {
	divisor, total := 0, 0
	for _, f := range flows {
		divisor = gcd(divisor, f.Weight)
		total += f.Weight
	}
	current := make([]int, len(flows))
	cycle := make([]int, total/divisor)
	for i := range cycle {
		best := 0
		for j, f := range flows {
			current[j] += f.Weight
			if current[j] > current[best] {
				best = j
			}
		}
		current[best] -= total
		cycle[i] = best
	}
	return cycle
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
