package ledger

import "github.com/arrival-bench/arrival/extensions/k6/internal/pacer"

// early is a delivery of a message that is not marked as sent yet.
type early struct {
	subscriber int
	Arrival
}

// AwaitSending makes deliveries wait until their message is marked as sent: another process sends, and its report may come after the
// delivery. Call it before Start.
func (l *Ledger) AwaitSending() { l.early = map[int][]early{} }

// keepEarly keeps a delivery of a message that may still be sent.
func (l *Ledger) keepEarly(subscriber int, a Arrival) bool {
	if l.early == nil || !l.pacer.Closed() && a.Seq >= l.pacer.Messages(l.pacer.Requests()) {
		return false
	}
	l.early[a.Seq] = append(l.early[a.Seq], early{subscriber, a})
	return true
}

// recall counts the deliveries that waited for their request to be marked as sent.
func (l *Ledger) recall(s pacer.Slot) {
	for i := range s.Messages {
		kept, any := l.early[s.FirstSeq+i]
		if !any {
			continue
		}
		delete(l.early, s.FirstSeq+i)
		for _, d := range kept {
			if us, ok := l.receive(d.subscriber, d.Arrival); ok {
				l.recalled = append(l.recalled, us)
			}
		}
	}
}

// unsent is the number of deliveries of messages that were never marked as sent.
func (l *Ledger) unsent() (n int) {
	for _, kept := range l.early {
		n += len(kept)
	}
	return n
}
