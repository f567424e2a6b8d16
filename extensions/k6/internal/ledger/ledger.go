// Package ledger accounts for every message of a run, and for every delivery of it.
//
// Messages are numbered densely, so the ledger is an array: 16 bytes a message while any message near it is open, and
// nothing once all of them have arrived. What can be computed from a message's number (when it is due, its flow, its
// target) is asked of the pacer and not stored.
package ledger

import (
	"math/bits"
	"slices"
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
)

// Fate is where a message that did not arrive was found.
type Fate uint8

// Fates of messages that did not arrive.
const (
	Lost         Fate = iota // accepted, and nowhere
	Queued                   // still in the queue
	DeadLettered             // given up by the relay
)

type record struct {
	sent    int64 // µs on the own clock
	got     uint32
	outcome Outcome
	fate    Fate
}

const pageSize = 4096

// page holds the records of neighbouring messages until all of them have arrived in full.
type page struct {
	records [pageSize]record
	arrived int
}

// arrivedInFull stands for a page whose messages have all arrived.
var arrivedInFull = &page{}

// Ledger is the account of a run. All times are µs on the own clock. Safe for concurrent use.
type Ledger struct {
	pacer  *pacer.Pacer
	phases []profile.Phase
	flows  []profile.Flow
	topics []int // first topic number of each flow; flows with one target prefix share it

	mu       sync.Mutex
	epoch    int64
	pages    []*page
	lastSeen []int // highest message number seen, by subscriber and topic; for reorderings
	perTopic int

	sent       int // requests
	dropped    int // requests
	inFlight   int // requests
	open       int // messages accepted or unknown, not yet arrived in full
	owed       int // deliveries of accepted messages that have not arrived
	arrived    int // messages arrived in full
	rejected   int // messages rejected, of which nothing arrived
	deliveries int
	duplicates int
	reordered  int
	negative   int
	foreign    int

	accepted  []int    // messages, by phase
	times     []*Times // by phase
	flowTimes []Series // arrival latency by flow, measured phases only
	interval  *Interval
	spare     *Interval // the interval before; only Cut touches it
}

// New makes an empty ledger for a schedule.
func New(p *profile.Profile, schedule *pacer.Pacer) *Ledger {
	l := &Ledger{pacer: schedule, phases: p.Phases, flows: p.Flows, interval: newInterval(), spare: newInterval()}
	for range p.Phases {
		l.times = append(l.times, NewTimes())
		l.accepted = append(l.accepted, 0)
	}
	first := map[string]int{}
	for _, f := range p.Flows {
		if _, ok := first[f.Target]; !ok {
			first[f.Target] = l.perTopic
			l.perTopic += f.Targets
		}
		l.topics = append(l.topics, first[f.Target])
		l.flowTimes = append(l.flowTimes, newSeries())
	}
	l.lastSeen = make([]int, l.perTopic*p.Subscribers())
	for i := range l.lastSeen {
		l.lastSeen[i] = -1
	}
	l.pages = make([]*page, (schedule.Messages(schedule.Requests())+pageSize-1)/pageSize)
	return l
}

// Start fixes the moment that the schedule counts from.
func (l *Ledger) Start(epoch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch = epoch
}

// Sent records that a request leaves now.
func (l *Ledger) Sent(s pacer.Slot, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	l.inFlight++
	l.interval.Sent += s.Messages
	for i := range s.Messages {
		r := l.record(s.FirstSeq + i)
		r.sent, r.outcome = at, inFlight
	}
}

// Drop records that a request will not be sent.
func (l *Ledger) Drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped++
}

// Settle records the answer to a request that was sent at one moment and answered at another, once.
func (l *Ledger) Settle(s pacer.Slot, outcome Outcome, sent, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	if outcome != Unknown {
		l.times[s.Phase].HTTP.Add(at - sent)
		l.interval.HTTP.Add(at - sent)
	}
	switch outcome {
	case Accepted:
		l.interval.Accepted += s.Messages
		l.accepted[s.Phase] += s.Messages
	case Rejected:
		l.interval.Rejected += s.Messages
	default:
		l.interval.Failed += s.Messages
	}
	for i := range s.Messages {
		// The whole way may be faster than the answer to the POST: then nothing is open any more.
		if l.pages[(s.FirstSeq+i)/pageSize] == arrivedInFull {
			continue
		}
		r := l.record(s.FirstSeq + i)
		r.outcome = outcome
		missing := l.flows[s.Flow].Deliveries - bits.OnesCount32(r.got)
		switch {
		case outcome == Rejected && r.got == 0:
			l.rejected++
		case outcome != Rejected && missing > 0:
			l.open++
			if outcome == Accepted {
				l.owed += missing
			}
		}
	}
}

// Find records where a message that did not arrive was found. It reports whether the message belongs to the run.
func (l *Ledger) Find(seq int, fate Fate) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq < 0 || seq/pageSize >= len(l.pages) {
		return false
	}
	if l.pages[seq/pageSize] != arrivedInFull {
		l.record(seq).fate = fate
	}
	return true
}

// Settled reports whether every request of the run has been sent and answered, or dropped.
func (l *Ledger) Settled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent+l.dropped == l.pacer.Requests() && l.inFlight == 0
}

// InFlight is the number of requests that have been sent and not answered.
func (l *Ledger) InFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight
}

// Accepted is the number of accepted messages of each phase.
func (l *Ledger) Accepted() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.accepted)
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

func (l *Ledger) record(seq int) *record {
	pg := &l.pages[seq/pageSize]
	if *pg == nil {
		*pg = &page{}
	}
	return &(*pg).records[seq%pageSize]
}

// close gives a page's memory back when the last of its messages has arrived in full.
func (l *Ledger) close(n int) {
	pg := l.pages[n]
	if pg.arrived++; pg.arrived == pageSize {
		l.pages[n] = arrivedInFull
	}
}
