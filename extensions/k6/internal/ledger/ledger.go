// Package ledger accounts for every message of a run, and for every delivery of it.
//
// Messages are numbered densely, so the ledger is an array, in pages of 4,096 messages. What can be computed from a
// message's number (when it is due, its flow, its target) is asked of the pacer and not stored. A message that is in flight
// or unresolved takes at most 32 bytes. One that arrived takes nothing; a bit where one of its page was rejected, and
// another where one was dropped, as these do themselves. Beside that stand 72 bytes a page, and 16 bytes for each message
// of the second since the last Cut, which is what gives memory back; and, where flows are chosen, a page of each that is not full.
package ledger

import (
	"math/bits"
	"sync"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// Outcome is what the sender learned of a request.
type Outcome uint8

// Outcomes of a request.
const (
	none     Outcome = iota // not sent
	inFlight                // sent, no answer yet
	Accepted                // the ingest took it
	Rejected                // the ingest said no, or could not be reached at all
	Unknown                 // no answer: it may have been taken
	dropped                 // never to be sent
	complete                // arrived in full, whatever was answered
)

// Fate is where a message that did not arrive was found.
type Fate uint8

// Fates of messages that did not arrive.
const (
	Lost         Fate = iota // accepted, and nowhere
	Queued                   // still in the queue
	DeadLettered             // given up by the relay
)

// Ledger is the account of a run. All times are µs on the own clock. Safe for concurrent use.
type Ledger struct {
	pacer        *pacer.Pacer
	phases       []profile.Phase
	flows        []profile.Flow
	firstTargets []int // of each flow

	last Stage // of a delivery

	mu      sync.Mutex
	epoch   int64
	ended   bool
	blind   bool    // Unsought
	pages   []*page // as far as messages have been sent
	watched []int   // pages that the next compaction looks at
	seen    seen

	sent       int // requests
	retried    int // requests
	dropped    int // requests
	unsendable int // messages of dropped requests
	inFlight   int // requests
	open       int // messages accepted or unknown, not yet arrived in full
	owed       int // deliveries of accepted messages that have not arrived
	arrived    int // messages arrived in full
	rejected   int // messages rejected, of which nothing was seen
	deliveries int
	unmeasured int
	duplicates int
	reordered  int
	negative   int
	foreign    int

	counts    []PhaseCount // of the open model only what was accepted
	scheduled []int        // messages by flow, measured phases only; closed model
	times     []*Times     // by phase
	almost    []almost     // by phase
	lateness  Series       // sent − due, of what was sent in the measured phases; open model
	reading   Reading
	flowTimes []Series // arrival latency by flow, measured phases only
	targets   targets
	keeper    keeper
	named     named
	tail      tail
	early     map[int][]early // by message; nil: what has not been sent can't arrive
	recalled  []int64         // latencies of early ones, for the next Arrive
	interval  *Interval
	spare     *Interval // the interval before; only Cut touches it
}

// New makes an empty ledger for a schedule, or for a closed load.
func New(p *profile.Profile, schedule *pacer.Pacer) *Ledger {
	l := &Ledger{
		pacer: schedule, phases: p.Phases, flows: p.Flows, last: Delivery, interval: newInterval(), spare: newInterval(),
		counts: make([]PhaseCount, len(p.Phases)), scheduled: make([]int, len(p.Flows)), lateness: NewSeries(),
		reading: Reading{Waits: NewSeries()}, named: newNamed(len(p.Phases), len(p.Flows)), tail: newTail(),
	}
	for i := range p.Phases {
		l.times = append(l.times, NewTimes())
		l.almost = append(l.almost, newAlmost(schedule, i))
	}
	for range p.Flows {
		l.flowTimes = append(l.flowTimes, NewSeries())
	}
	l.targets, l.firstTargets = newTargets(p.Flows)
	l.seen = newSeen(l.firstTargets, len(l.targets.reordered), p.Subscribers())
	return l
}

// ByFlow says that the flow of each request of a closed load is chosen, so that numbers are those of schedule.ByFlow. To be called
// before the first is sent.
func (l *Ledger) ByFlow(schedule *pacer.Pacer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pacer = schedule
	// Numbers do not say which of two flows' messages was sent first, so each flow has targets of its own.
	firsts, targets := make([]int, len(l.flows)), 0
	for i, f := range l.flows {
		firsts[i] = targets
		targets += f.Targets
	}
	l.seen = newSeen(firsts, targets, len(l.seen.last)/len(l.targets.reordered))
}

// EndAt says where a message has arrived: there are no stages after this one. To be called before Start.
func (l *Ledger) EndAt(last Stage) { l.last = last }

// Start fixes the moment that the schedule counts from.
func (l *Ledger) Start(epoch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch = epoch
}

// Sent records that a request leaves now, once: when it is repeated, the first attempt's time counts. In the closed model
// this is when it is due, and its slot says the phase.
func (l *Ledger) Sent(s pacer.Slot, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	l.inFlight++
	l.interval.Requests++
	l.interval.Sent += s.Messages
	l.take(s)
	if l.phases[s.Phase].Measured && !l.pacer.Closed() {
		l.lateness.AddMany(at-l.epoch-s.Due.Microseconds(), s.Messages*l.flows[s.Flow].Deliveries)
	}
	for i := range s.Messages {
		_, r := l.begin(s.FirstSeq + i)
		r.sent, r.outcome, r.phase = at, inFlight, uint16(s.Phase)
	}
	l.recall(s)
}

// Drop records that a request will not be sent.
func (l *Ledger) Drop(s pacer.Slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped++
	l.unsendable += s.Messages
	l.take(s)
	for i := range s.Messages {
		pg, r := l.begin(s.FirstSeq + i)
		r.outcome = dropped
		l.resolve(s.FirstSeq+i, pg, r)
	}
}

// take counts a request of the closed model. Those of the open one are counted beforehand.
func (l *Ledger) take(s pacer.Slot) {
	if !l.pacer.Closed() {
		return
	}
	l.counts[s.Phase].Requests++
	l.counts[s.Phase].Messages += s.Messages
	if l.phases[s.Phase].Measured {
		l.scheduled[s.Flow] += s.Messages
	}
}

// Answered records the HTTP time of an attempt that was answered.
func (l *Ledger) Answered(phase int, us int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times[phase].HTTP.Add(us)
	l.interval.HTTP.Add(us)
}

// Retried records that a request is sent once more, with the same ids.
func (l *Ledger) Retried() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retried++
}

// Settle records what became of a request that was sent, once: after the last of its attempts.
func (l *Ledger) Settle(s pacer.Slot, outcome Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	switch outcome {
	case Accepted:
		l.interval.Accepted += s.Messages
		l.counts[s.Phase].Accepted += s.Messages
		l.counts[s.Phase].Due += s.Messages * l.flows[s.Flow].Deliveries
	case Rejected:
		l.interval.Rejected += s.Messages
	default:
		l.interval.Failed += s.Messages
	}
	for i := range s.Messages {
		pg, r := l.lookup(s.FirstSeq + i)
		// The whole way may be faster than the answer to the POST: then nothing is open any more.
		if r.outcome != inFlight {
			continue
		}
		if r.outcome = outcome; outcome == Rejected {
			if r.got == 0 && r.fate == Lost {
				l.rejected++
				l.resolve(s.FirstSeq+i, pg, r)
				continue
			}
			r.outcome = Unknown // the ingest said no and took it all the same
		}
		l.open++
		if outcome == Accepted {
			l.owed += l.flows[s.Flow].Deliveries - bits.OnesCount32(r.got)
		}
	}
}

// Find records where a message that did not arrive was found. It reports whether the message belongs to the run.
func (l *Ledger) Find(seq int, fate Fate) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	pg, r := l.lookup(seq)
	if r == nil || r.outcome == none || r.outcome == dropped {
		return false
	}
	if r.outcome == complete {
		return true
	}
	if r.outcome == Rejected {
		r = l.retract(seq, pg, r)
	}
	r.fate = fate
	return true
}

// Unsought says that what did not arrive could not be looked for where it may be: nobody knows whether it is lost.
func (l *Ledger) Unsought() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blind = true
}

// retract makes a message that was rejected one of which it is not known whether it was taken, since it has been seen.
func (l *Ledger) retract(seq int, pg *page, r *record) *record {
	if r == goneRejected {
		r = pg.recall(seq % pageSize)
		l.watch(seq / pageSize)
	}
	r.outcome = Unknown
	pg.resolved--
	l.rejected--
	l.open++
	return r
}

// End says that no request will be taken any more, and that each that was taken has been sent or dropped. In the open model
// the schedule says so.
func (l *Ledger) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// Settled reports whether every request of the run has been sent and answered, or dropped.
func (l *Ledger) Settled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pacer.Closed() {
		return l.ended && l.inFlight == 0
	}
	return l.sent+l.dropped == l.pacer.Requests() && l.inFlight == 0
}

// InFlight is the number of requests that have been sent and not answered.
func (l *Ledger) InFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight
}

// Owed is the number of deliveries of accepted messages that have not arrived.
func (l *Ledger) Owed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owed
}

// Deliveries is the number of deliveries so far, duplicates apart.
func (l *Ledger) Deliveries() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deliveries
}

// Open is the number of messages that may still arrive: accepted or without an answer.
func (l *Ledger) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}
