package ledger

import "math/bits"

// Account says where every message of the run is. Counts are messages unless they say otherwise.
type Account struct {
	Scheduled    int
	Dropped      int // never sent by the generator
	Rejected     int // the ingest said no
	Unknown      int // no answer, and it never arrived
	Arrived      int // every delivery of it
	DeadLettered int
	Queued       int // still in the queue when the drain limit was reached
	Lost         int // accepted, and nowhere
	Pending      int // open when the run was cut off; 0 for a run that ended

	Duplicates int // deliveries beyond the first to the same subscriber
	Reordered  int // deliveries after one with a higher number on the same topic
	Negative   int // deliveries with a stage below zero
	Foreign    int // messages of other runs

	Requests, RequestsSent           int
	DeliveriesDue, DeliveriesArrived int

	counted int // messages arrived, as counted one by one when they did
}

// Balanced reports whether every scheduled message is in exactly one place, and those found as arrived are as many
// as were seen to arrive.
func (a Account) Balanced() bool {
	return a.Arrived == a.counted && a.Scheduled == a.Dropped+a.Rejected+a.Unknown+a.Arrived+a.DeadLettered+a.Queued+a.Lost+a.Pending
}

func (l *Ledger) counters(requests int) Account {
	return Account{
		Scheduled: l.pacer.Messages(requests), Requests: requests, RequestsSent: l.sent,
		Duplicates: l.duplicates, Reordered: l.reordered, Negative: l.negative, Foreign: l.foreign,
		DeliveriesArrived: l.deliveries, counted: l.arrived,
	}
}

// Running adds up what was due so far, from counters alone: requests is the number of requests that were due. What is open
// is pending. A killed run has no other account.
func (l *Ledger) Running(requests int) Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.counters(max(requests, l.sent))
	a.Arrived, a.Rejected = l.arrived, l.rejected
	a.Pending = a.Scheduled - a.Arrived - a.Rejected
	a.DeliveriesDue = a.DeliveriesArrived + l.owed
	return a
}

// Final looks at every message of the run, after its end.
func (l *Ledger) Final() Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.counters(l.pacer.Requests())
	for n := range a.Requests {
		deliveries := l.flows[l.pacer.FlowOf(n)].Deliveries
		for seq := l.pacer.Messages(n); seq < l.pacer.Messages(n+1); seq++ {
			pg := l.pages[seq/pageSize]
			if pg == arrivedInFull {
				a.Arrived++
				a.DeliveriesDue += deliveries
				continue
			}
			r := record{}
			if pg != nil {
				r = pg.records[seq%pageSize]
			}
			if r.outcome == Accepted || r.got != 0 {
				a.DeliveriesDue += deliveries
			}
			switch {
			case bits.OnesCount32(r.got) == deliveries:
				a.Arrived++
			case r.fate == DeadLettered:
				a.DeadLettered++
			case r.fate == Queued:
				a.Queued++
			case r.outcome == Accepted || r.got != 0:
				a.Lost++
			case r.outcome == Rejected:
				a.Rejected++
			case r.outcome == none:
				a.Dropped++
			default:
				a.Unknown++
			}
		}
	}
	return a
}
