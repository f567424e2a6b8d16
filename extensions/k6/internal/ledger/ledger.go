// Package ledger accounts for every message of a run, and for every delivery of it.
//
// Messages are numbered densely, so the ledger is an array in pages of 4,096 messages. It does not store what the pacer
// computes from a message's number: its due time, flow and target. Memory:
//
//   - A message in flight or unresolved takes at most 32 bytes.
//   - A message that arrived takes nothing. If one of its page was rejected, each takes a bit; the same for dropped.
//   - A page takes 72 bytes.
//   - Cut frees memory. Until then each message of the last second takes 16 bytes more.
//   - If a script chooses the flows, each has one partly filled page.
package ledger

import (
	"sync"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// Outcome is what the sender knows of a request.
type Outcome uint8

// Outcomes of a request.
const (
	none     Outcome = iota // not sent
	inFlight                // sent, no answer yet
	Accepted                // the ingest accepted it
	Rejected                // the ingest refused it or could not be reached
	Unknown                 // no answer: the ingest may have accepted it
	dropped                 // will never be sent
	complete                // arrived in full, whatever the answer was
)

// Fate is where a message that did not arrive was found.
type Fate uint8

// Fates of messages that did not arrive.
const (
	Lost         Fate = iota // found nowhere
	Queued                   // still in the queue
	DeadLettered             // given up by the relay
	Altered                  // it arrived, with other content than was sent
	Misdelivered             // it arrived at another recipient than its own
)

// Ledger is the account of a run. All times are µs on the own clock. Safe for concurrent use.
type Ledger struct {
	pacer  *pacer.Pacer
	phases []profile.Phase
	flows  []profile.Flow
	stages stages.List // the stages that a delivery passes

	mu      sync.Mutex
	epoch   int64
	ended   bool
	blind   bool    // the queue could not be searched: see Unsought
	pages   []*page // up to the last message that was sent
	watched []int   // pages that the next compaction visits
	seen    seen

	sent       int // requests
	retried    int // requests
	failed     int // requests
	dropped    int // requests
	unsendable int // messages of dropped requests
	inFlight   int // requests
	open       int // messages accepted or unknown, not yet arrived in full
	owed       int // deliveries of accepted messages that have not arrived
	arrived    int // messages arrived in full
	rejected   int // messages rejected and never seen
	deliveries int
	unmeasured int
	duplicates int
	reordered  int
	negative   int
	foreign    int
	misplaced  int   // deliveries at a recipient that they were not for
	anyOurs    bool  // a message of the run has come, though none as it was sent
	anyTaken   bool  // a request was accepted
	firstTaken int64 // when the first of them was sent
	// a request was accepted before it was known when it left, as a publisher learns at once at QoS 0
	takenLeaving bool

	counts     []PhaseCount // by phase; in the open model only Accepted and Due
	scheduled  []int        // messages by flow in the measured phases (not planned)
	times      []*Times     // by phase
	almost     []almost     // by phase
	lateness   Series       // sent − due in the measured phases (open model)
	reading    Reading
	flowTimes  []Series    // arrival latency by flow, measured phases only
	flowStages []StageSums // stages of the same deliveries, where they have stamps
	dues       dueSeconds
	late       lateSeconds // all phases (open model)
	sentIn     sentSeconds // all phases (open model)
	targets    targets
	keeper     keeper
	traced     keeper
	picks      func(pacer.Slot) (seq int, ok bool) // see KeepTraced
	named      named
	tail       tail
	awaits     bool                           // see AwaitSending
	same       func(seq int, sum uint64) bool // see Compare
	over       func(seq int)                  // see Compare; nil: nothing is compared
	early      map[int][]early                // by message
	waiting    int                            // deliveries in it
	recalled   []int64                        // latencies of early deliveries, for the next Arrive
	interval   *Interval
	spare      *Interval // the interval before; only Cut touches it
}

// New makes an empty ledger.
func New(p *profile.Profile, schedule *pacer.Pacer) *Ledger {
	l := &Ledger{
		pacer: schedule, phases: p.Phases, flows: p.Flows, interval: &Interval{}, spare: &Interval{},
		counts: make([]PhaseCount, len(p.Phases)), scheduled: make([]int, len(p.Flows)),
		named: newNamed(len(p.Phases), len(p.Flows)),
		tail:  tail{buckets: make([]tailBucket, bucketOf(Highest)+1)},
		early: map[int][]early{},
	}
	for i := range p.Phases {
		l.almost = append(l.almost, newAlmost(schedule, i))
	}
	l.flowTimes, l.flowStages = make([]Series, len(p.Flows)), make([]StageSums, len(p.Flows))
	l.targets = newTargets(p.Flows)
	firsts := make([]int, len(p.Flows))
	for i := range firsts {
		firsts[i] = l.targets.First(i)
	}
	l.seen = newSeen(firsts, l.targets.Total(), p.Subscribers())
	l.Pass(stages.Default())
	return l
}

// ByFlow lets a script choose the flow of each request of a closed load; schedule is the pacer's ByFlow. Call it before
// the first request.
func (l *Ledger) ByFlow(schedule *pacer.Pacer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pacer = schedule
	// Numbers do not order messages of different flows, so each flow has its own targets.
	firsts, targets := make([]int, len(l.flows)), 0
	for i, f := range l.flows {
		firsts[i] = targets
		targets += f.Targets
	}
	l.seen = newSeen(firsts, targets, l.seen.subscribers)
}

// Pass sets the stages of a delivery. Call it before Start.
func (l *Ledger) Pass(list stages.List) {
	l.stages, l.times = list, nil
	for range l.phases {
		l.times = append(l.times, NewTimes(len(list)))
	}
}

// Stages are the stages of a delivery.
func (l *Ledger) Stages() stages.List { return l.stages }

// Start sets the time that the schedule counts from.
func (l *Ledger) Start(epoch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch = epoch
}

// Find records where a missing message was found. It reports whether the message belongs to the run.
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
	if r.fate != Altered && r.fate != Misdelivered { // a relay may not have acknowledged it yet
		r.fate = fate
	}
	return true
}

// Unsought records that the queue could not be searched, so missing messages are unknown, not lost.
func (l *Ledger) Unsought() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blind = true
}

// retract makes a rejected message unknown because it has been seen.
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

// SlotOf returns the request that carries message seq. Where a script chooses the flows, the pacer of the run does not
// know it.
func (l *Ledger) SlotOf(seq int) pacer.Slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pacer.SlotOf(seq)
}

// End records that all requests have been sent or dropped, where no schedule knows.
func (l *Ledger) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// Settled reports whether every request of the run has been sent and answered, or dropped.
func (l *Ledger) Settled() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.pacer.Planned() {
		return l.ended && l.inFlight == 0
	}
	return l.sent+l.dropped == l.pacer.Requests() && l.inFlight == 0
}

// InFlight counts the requests without an answer.
func (l *Ledger) InFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight
}

// Owed counts the deliveries of accepted messages that have not arrived.
func (l *Ledger) Owed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owed
}

// Deliveries counts the deliveries so far, without duplicates.
func (l *Ledger) Deliveries() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deliveries
}

// Strangers counts the messages of other runs until one of this run has come; then it is 0.
func (l *Ledger) Strangers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deliveries > 0 || l.anyOurs {
		return 0
	}
	return l.foreign
}

// FirstTaken is when the request was sent that was accepted first: while nothing has arrived, its messages are the
// oldest under way. ok is false if none was accepted.
func (l *Ledger) FirstTaken() (at int64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.firstTaken, l.anyTaken
}

// Open counts the messages that may still arrive: accepted or without an answer.
func (l *Ledger) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}
