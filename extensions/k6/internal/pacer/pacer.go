// Package pacer maps the number of a request to its due time, its flow and its messages. It is pure arithmetic
// and knows no clock.
//
// A closed load has no schedule: a request is due when it is sent, in the phase of that moment, and the number
// of requests is not known. The pacer then gives only the content of a request. Where senders choose the flow
// of each request, use ByFlow.
//
// Where the caller tells each request when it sends it, use NewTold.
package pacer

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// Pacer is the schedule of a run: the requests, their due times, flows and ids. It is immutable, so safe for
// concurrent use.
type Pacer struct {
	phases   []ratePhase
	flows    []profile.Flow
	cycle    []int   // flow of request n is cycle[n % len(cycle)]
	firstSeq []int   // messages before each position of the cycle; one longer than the cycle
	dueFirst []int   // deliveries of these messages
	ofFlow   []int   // messages of the same flow before each position of the cycle
	turns    [][]int // positions of each flow in the cycle
	requests int
	closed   bool
	bits     uint   // 1<<bits requests in a row are of one flow
	share    *share // nil: the whole schedule
	told     *told  // nil: not told
}

// Slot is one request of the schedule.
type Slot struct {
	N        int           // number of the request, from 0
	Due      time.Duration // since the start of the run; 0 in the closed model
	Phase    int           // -1 in the closed model, until whoever takes the request sets it
	Flow     int
	FirstSeq int // number of its first message; the others follow
	FirstID  int // number of that message in ids: the same, unless generators share the schedule
	OfFlow   int // number of its first message in its flow
	Messages int
}

// New makes the schedule of a checked profile.
func New(p *profile.Profile) *Pacer {
	pc := &Pacer{flows: p.Flows, cycle: weigh(p.Flows), closed: p.Closed()}
	pc.layOut()
	if pc.closed {
		return pc
	}
	var start, before float64
	for _, ph := range p.Phases {
		d := ph.Duration.Seconds()
		area := (ph.Rate + ph.RampTo) / 2 * d
		pc.phases = append(pc.phases, ratePhase{start, d, ph.Rate, ph.RampTo, before, area})
		start += d
		before += area
	}
	// Request n is due when the integral of the rate reaches n, so the last one is the largest n below the
	// total.
	pc.requests = int(math.Ceil(before - slack(before)))
	return pc
}

// blockBits makes a block as many requests as a ledger page has messages, so that the messages of a page are of
// one flow.
const blockBits = 12

// ByFlow numbers the requests of a closed load whose senders choose the flow. Each flow owns blocks of numbers
// at fixed intervals and uses them in order, independent of the other flows. See Turn.
func (p *Pacer) ByFlow() *Pacer {
	flows := slices.Clone(p.flows)
	for i := range flows {
		flows[i].Weight = min(flows[i].Weight, 1)
	}
	by := &Pacer{flows: p.flows, cycle: weigh(flows), closed: true, bits: blockBits}
	by.layOut()
	return by
}

// layOut sums the messages and deliveries before each position of the cycle.
func (p *Pacer) layOut() {
	p.firstSeq = make([]int, len(p.cycle)+1)
	p.dueFirst = make([]int, len(p.cycle)+1)
	p.ofFlow = make([]int, len(p.cycle))
	p.turns = make([][]int, len(p.flows))
	for i, f := range p.cycle {
		flow := p.flows[f]
		p.ofFlow[i] = len(p.turns[f]) * flow.Messages
		p.turns[f] = append(p.turns[f], i)
		p.firstSeq[i+1] = p.firstSeq[i] + flow.Messages
		p.dueFirst[i+1] = p.dueFirst[i] + flow.Messages*flow.Deliveries
	}
}

// Closed reports whether the load is closed.
func (p *Pacer) Closed() bool { return p.closed }

// Told reports whether the requests are told.
func (p *Pacer) Told() bool { return p.told != nil }

// Planned reports whether the requests are known beforehand: an open load that is not told.
func (p *Pacer) Planned() bool { return !p.closed && p.told == nil }

// Requests is the number of requests of the run; 0 where it is not known beforehand.
func (p *Pacer) Requests() int { return p.requests }

// Messages is the number of messages in the first n requests, so also the number of the first message of request n.
func (p *Pacer) Messages(n int) int {
	if p.told != nil {
		return n
	}
	round, i, into := p.split(n)
	return (round*p.firstSeq[len(p.cycle)]+p.firstSeq[i])<<p.bits + into*p.flows[p.cycle[i]].Messages
}

// split returns the round of the cycle of request n, its position there, and the number of requests before it in its
// block.
func (p *Pacer) split(n int) (round, i, into int) {
	block := n >> p.bits
	return block / len(p.cycle), block % len(p.cycle), n & (1<<p.bits - 1)
}

// Slot returns request n, 0 <= n < Requests(); in the closed model any n.
func (p *Pacer) Slot(n int) Slot {
	if p.told != nil {
		return p.told.slot(n)
	}
	whole, number := p, p.number(n)
	if p.share != nil {
		whole = p.share.whole
	}
	round, i, into := whole.split(number)
	flow := whole.cycle[i]
	messages := p.flows[flow].Messages
	s := Slot{
		N:        n,
		Phase:    -1,
		Flow:     flow,
		FirstSeq: p.Messages(n),
		FirstID:  whole.Messages(number),
		OfFlow:   (round*len(whole.turns[flow])*messages+whole.ofFlow[i])<<p.bits + into*messages,
		Messages: messages,
	}
	if !p.closed {
		s.Phase = p.phaseOf(float64(number))
		s.Due = p.phases[s.Phase].due(float64(number))
	}
	return s
}

// Turn returns the number of the k-th request of a flow, from 0. In the closed model a sender may choose the flow.
func (p *Pacer) Turn(flow, k int) int {
	turns, block := p.turns[flow], k>>p.bits
	return (block/len(turns)*len(p.cycle)+turns[block%len(turns)])<<p.bits + k&(1<<p.bits-1)
}

// FlowOf returns the flow of request n.
func (p *Pacer) FlowOf(n int) int {
	if p.told != nil {
		return p.told.slot(n).Flow
	}
	return p.cycle[n>>p.bits%len(p.cycle)]
}

// FlowMessages returns the number of messages of each flow in the requests [from, to).
func (p *Pacer) FlowMessages(from, to int) []int {
	c := len(p.cycle)
	out := make([]int, len(p.flows))
	for f, turns := range p.turns {
		before := func(n int) int { return n/c*len(turns) + sort.SearchInts(turns, n%c) }
		out[f] = (before(to) - before(from)) * p.flows[f].Messages
	}
	return out
}

// Deliveries is the number of deliveries due for the first seq messages.
func (p *Pacer) Deliveries(seq int) int {
	if p.told != nil {
		return seq * p.flows[0].Deliveries
	}
	round, i, rest := p.locate(seq)
	return (round*p.dueFirst[len(p.cycle)]+p.dueFirst[i])<<p.bits + rest*p.flows[p.cycle[i]].Deliveries
}

// SlotOf returns the request that carries message seq.
func (p *Pacer) SlotOf(seq int) Slot { return p.Slot(p.RequestOf(seq)) }

// RequestOf returns the number of the request that carries message seq.
func (p *Pacer) RequestOf(seq int) int {
	if p.told != nil {
		return seq
	}
	round, i, rest := p.locate(seq)
	return (round*len(p.cycle)+i)<<p.bits + rest/p.flows[p.cycle[i]].Messages
}

// number is the number of the share's request n in the whole schedule.
func (p *Pacer) number(n int) int {
	if p.share == nil {
		return n
	}
	own := p.share.own
	return n/len(own)*p.share.period + own[n%len(own)]
}

// SeqOf returns the number that message id has in the share; false where another generator sends it.
func (p *Pacer) SeqOf(id int) (seq int, ok bool) {
	if p.share == nil {
		return id, true
	}
	whole := p.share.whole
	of := whole.RequestOf(id)
	n := p.before(of)
	if p.number(n) != of {
		return 0, false
	}
	return p.Messages(n) + id - whole.Messages(of), true
}

// locate returns the round of the cycle of message seq, the position of its request there, and the number of messages
// before it in its block.
func (p *Pacer) locate(seq int) (round, i, rest int) {
	whole := p.firstSeq[len(p.cycle)] << p.bits
	round, rest = seq/whole, seq%whole
	i = sort.SearchInts(p.firstSeq, rest>>p.bits+1) - 1
	return round, i, rest - p.firstSeq[i]<<p.bits
}

// weigh makes one cycle of smooth weighted round robin: each flow appears in proportion to its weight, spread as evenly
// as possible, and the same in each run.
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
