package ledger

import (
	"math/bits"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// Sent records that a request is sent. Call it for the first attempt only. In the closed model this is also when the
// request is due.
func (l *Ledger) Sent(s pacer.Slot, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave(s)
	l.left(s, at)
}

// Leaving records that a request is about to be sent, in place of Sent. Left follows: the moment is best known to who
// writes the request, and what arrives of it before Left waits for that.
func (l *Ledger) Leaving(s pacer.Slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave(s)
}

// Left records when a request that was Leaving left.
func (l *Ledger) Left(s pacer.Slot, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left(s, at)
}

func (l *Ledger) leave(s pacer.Slot) {
	l.sent++
	l.inFlight++
	l.interval.Requests++
	l.interval.Sent += s.Messages
	l.take(s)
	for i := range s.Messages {
		_, r := l.begin(s.FirstSeq + i)
		r.sent, r.outcome, r.phase = leaving, inFlight, uint16(s.Phase)
	}
}

func (l *Ledger) left(s pacer.Slot, at int64) {
	if !l.pacer.Closed() {
		due := s.Due.Microseconds()
		late := at - l.epoch - due
		l.late.add(due, late)
		l.sentIn.add(at-l.epoch, s.Messages)
		if l.phases[s.Phase].Measured {
			l.lateness.AddMany(late, s.Messages*l.flows[s.Flow].Deliveries)
		}
	}
	for i := range s.Messages {
		if _, r := l.lookup(s.FirstSeq + i); r.sent == leaving { // else it is settled, and its record is gone
			r.sent = at
		}
	}
	if l.takenLeaving && !l.anyTaken {
		l.firstTaken, l.anyTaken = at, true
	}
	l.recall(s)
}

// Written records when a request that is sent had been written. Between the two the generator may have been paused,
// so the time until then is the most by which the request can have been late.
func (l *Ledger) Written(s pacer.Slot, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written(s, at)
}

// LeftAndWritten is Left and Written.
func (l *Ledger) LeftAndWritten(s pacer.Slot, left, written int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left(s, left)
	l.written(s, written)
}

func (l *Ledger) written(s pacer.Slot, at int64) {
	if l.pacer.Closed() {
		return
	}
	due := s.Due.Microseconds()
	l.late.add(due, at-l.epoch-due)
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

// take counts a request that was not planned. The schedule has the counts of the others.
func (l *Ledger) take(s pacer.Slot) {
	if l.pacer.Planned() {
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

// Retried records another attempt of a request, with the same ids.
func (l *Ledger) Retried() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retried++
}

// Settle records the outcome of a request after its last attempt.
func (l *Ledger) Settle(s pacer.Slot, outcome Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	if outcome != Accepted {
		l.failed++
	}
	switch outcome {
	case Accepted:
		l.interval.Accepted += s.Messages
		l.counts[s.Phase].Accepted += s.Messages
		l.takeUp(s, s.Messages)
		if _, r := l.lookup(s.FirstSeq); r != nil && !l.anyTaken {
			if l.takenLeaving = r.sent == leaving; !l.takenLeaving {
				l.firstTaken, l.anyTaken = r.sent, true
			}
		}
	case Rejected:
		l.interval.Rejected += s.Messages
	default:
		l.interval.Failed += s.Messages
	}
	for i := range s.Messages {
		pg, r := l.lookup(s.FirstSeq + i)
		if outcome != Accepted && (r.outcome == complete || r.got != 0) {
			l.takeUp(s, 1)
		}
		if r.outcome != inFlight {
			continue // it arrived before the answer to the POST
		}
		if r.outcome = outcome; outcome == Rejected {
			if r.got == 0 && r.fate == Lost {
				l.rejected++
				l.resolve(s.FirstSeq+i, pg, r)
				continue
			}
			r.outcome = Unknown // the ingest rejected the message but also took it
		}
		l.open++
		if outcome == Accepted {
			l.owed += l.flows[s.Flow].Deliveries - bits.OnesCount32(r.got)
		}
	}
}

// takeUp counts messages of a request that the pipeline has taken.
func (l *Ledger) takeUp(s pacer.Slot, messages int) {
	l.counts[s.Phase].Taken += messages
	l.counts[s.Phase].Due += messages * l.flows[s.Flow].Deliveries
}

// early is a delivery of a message that has not been reported as sent, or is leaving.
type early struct {
	subscriber int
	Arrival
}

// AwaitSending makes deliveries wait until their message is reported as sent: another process sends, and its report
// may come after the delivery. Call it before Start.
func (l *Ledger) AwaitSending() { l.awaits = true }

// Compare makes same decide by the sum of a delivery whether it has the content that was sent, once its message is
// reported as sent. over hears of each message that has arrived in full, of which nothing is compared any more. Call
// Compare before Start.
func (l *Ledger) Compare(same func(seq int, sum uint64) bool, over func(seq int)) {
	l.same, l.over = same, over
}

// earlyMost bounds the deliveries that wait for the report of their request: ids can be made up.
const earlyMost = 100_000

// keepEarly keeps a delivery of a message that may be reported as sent later.
func (l *Ledger) keepEarly(subscriber int, a Arrival) bool {
	if !l.awaits || l.pacer.Planned() && a.Seq >= l.pacer.Messages(l.pacer.Requests()) || l.waiting >= earlyMost {
		return false
	}
	l.waiting++
	l.early[a.Seq] = append(l.early[a.Seq], early{subscriber, a})
	return true
}

// keepLeaving keeps a delivery of a message whose request is leaving, with its place in the order.
func (l *Ledger) keepLeaving(subscriber int, a Arrival, slot pacer.Slot, target int) {
	a.place = inOrder
	if !a.Altered && l.seen.note(subscriber, slot.Flow, target, a.Seq) {
		a.place = behind
	}
	l.waiting++
	l.early[a.Seq] = append(l.early[a.Seq], early{subscriber, a})
}

// place is that of a delivery in the order of its target's messages.
type place uint8

const (
	unplaced place = iota
	inOrder
	behind // one with a higher number
)

// recall records the deliveries that waited for the report of their request.
func (l *Ledger) recall(s pacer.Slot) {
	if len(l.early) == 0 {
		return
	}
	for i := range s.Messages {
		kept, any := l.early[s.FirstSeq+i]
		if !any {
			continue
		}
		delete(l.early, s.FirstSeq+i)
		l.waiting -= len(kept)
		for _, d := range kept {
			if us, ok := l.receive(d.subscriber, d.Arrival); ok {
				l.recalled = append(l.recalled, us)
			}
		}
	}
}

// unsent counts the deliveries of messages that were never reported as sent.
func (l *Ledger) unsent() int { return l.waiting }

// PhaseCount counts a phase.
type PhaseCount struct {
	Requests int // due (open model) or taken (closed model)
	Messages int
	Accepted int // messages
	Taken    int // messages that were accepted, or arrived all the same
	Due      int // deliveries of taken messages
}
