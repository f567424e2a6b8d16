package ledger

import "github.com/arrival-bench/arrival/extensions/k6/internal/pacer"

// early is a delivery of a message that has not been reported as sent, or is leaving.
type early struct {
	subscriber int
	Arrival
}

// AwaitSending makes deliveries wait until their message is reported as sent: another process sends, and its report
// may come after the delivery. Call it before Start.
func (l *Ledger) AwaitSending() { l.awaits = true }

// earlyMost bounds the deliveries that wait for the report of their request: ids can be made up.
const earlyMost = 100_000

// keepEarly keeps a delivery of a message that may be reported as sent later.
func (l *Ledger) keepEarly(subscriber int, a Arrival) bool {
	if !l.awaits || !l.pacer.Closed() && a.Seq >= l.pacer.Messages(l.pacer.Requests()) || l.waiting >= earlyMost {
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
