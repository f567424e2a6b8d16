package ledger

import (
	"math/bits"
	"slices"
)

// Account says where every message of the run is. Counts are messages unless they say otherwise.
type Account struct {
	Scheduled    int
	Dropped      int // never sent by the generator
	Rejected     int // the ingest said no
	Unknown      int // no answer, or not looked for in the queue, and it never arrived
	Arrived      int // every delivery of it
	DeadLettered int
	Queued       int // still in the queue when the drain limit was reached
	Lost         int // accepted, and nowhere
	Pending      int // open when the run was cut off; 0 for a run that ended

	Duplicates int // deliveries beyond the first to the same subscriber
	Reordered  int // deliveries after one with a higher number on the same topic
	Negative   int // deliveries with a stage below zero
	Foreign    int // messages of other runs
	Unmeasured int // deliveries without a latency: in the closed model, of what was rejected long before it arrived

	Requests, RequestsSent           int
	Retried                          int // attempts beyond the first, in requests
	DeliveriesDue, DeliveriesArrived int

	counted int // messages arrived, as counted one by one when they did
}

// Balanced reports whether every scheduled message is in exactly one place, and those found as arrived are as many
// as were seen to arrive.
func (a Account) Balanced() bool {
	return a.Arrived == a.counted && a.Scheduled == a.Dropped+a.Rejected+a.Unknown+a.Arrived+a.DeadLettered+a.Queued+a.Lost+a.Pending
}

// counters is what is counted as it happens. requests is the number of requests of the schedule to account for.
func (l *Ledger) counters(requests int) Account {
	a := Account{
		Scheduled: l.pacer.Messages(requests), Requests: requests, RequestsSent: l.sent, Retried: l.retried,
		Duplicates: l.duplicates, Reordered: l.reordered, Negative: l.negative, Foreign: l.foreign + l.unsent(),
		Unmeasured: l.unmeasured, DeliveriesArrived: l.deliveries, counted: l.arrived,
	}
	if l.pacer.Closed() {
		a.Scheduled, a.Requests = 0, 0
		for _, c := range l.counts {
			a.Scheduled += c.Messages
			a.Requests += c.Requests
		}
	}
	return a
}

// Standing is the account of a run with what its phases and flows hold of it, all of one moment.
type Standing struct {
	Account
	Phases []PhaseCount
	Flows  []int // messages of each, in the measured phases
}

// Running adds up what was due so far, from counters alone: due is the number of requests that were due, asked for when the rest is
// counted; in the closed model those that were taken are. What is open is pending. A killed run has no other account.
func (l *Ledger) Running(due func() int) Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.counters(max(due(), l.sent+l.dropped))
	a.Arrived, a.Rejected, a.Dropped = l.arrived, l.rejected, l.unsendable
	a.Pending = a.Scheduled - a.Arrived - a.Rejected - a.Dropped
	a.DeliveriesDue = a.DeliveriesArrived + l.owed
	return l.standing(a)
}

// standing divides an account among phases and flows.
func (l *Ledger) standing(a Account) Standing {
	s := Standing{a, slices.Clone(l.counts), slices.Clone(l.scheduled)}
	if l.pacer.Closed() {
		return s
	}
	for i, p := range l.phases {
		from, to := l.pacer.PhaseRequests(i)
		from, to = min(from, a.Requests), min(to, a.Requests)
		s.Phases[i].Requests, s.Phases[i].Messages = to-from, l.pacer.Messages(to)-l.pacer.Messages(from)
		if p.Measured {
			for f, n := range l.pacer.FlowMessages(from, to) {
				s.Flows[f] += n
			}
		}
	}
	return s
}

// Ended is Final with what the phases and flows hold.
func (l *Ledger) Ended() Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.standing(l.final())
}

// Final looks at every message of the run, after its end. What the open model's schedule holds and was never sent is
// dropped; the closed one has no more than was sent.
func (l *Ledger) Final() Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.final()
}

func (l *Ledger) final() Account {
	a := l.counters(l.pacer.Requests())
	end := a.Scheduled
	if l.pacer.Closed() {
		end = len(l.pages) * pageSize
	}
	for from := 0; from < end; from += pageSize {
		to := min(from+pageSize, end)
		var pg *page
		if from/pageSize < len(l.pages) {
			pg = l.pages[from/pageSize]
		}
		switch {
		case pg == arrivedInFull:
			a.Arrived += to - from
			a.DeliveriesDue += l.pacer.Deliveries(to) - l.pacer.Deliveries(from)
		case pg != nil:
			l.tally(&a, pg, from, to)
		case !l.pacer.Closed():
			a.Dropped += to - from
		}
	}
	if l.blind {
		a.Unknown, a.Lost = a.Unknown+a.Lost, 0
	}
	return a
}

// tally adds the messages [from, to) of a page to an account.
func (l *Ledger) tally(a *Account, pg *page, from, to int) {
	if pg.young != nil {
		for seq := from; seq < to; seq++ {
			if r := &pg.young[seq%pageSize]; r.outcome != none || !l.pacer.Closed() {
				a.add(r, l.deliveriesOf(seq))
			}
		}
		return
	}
	if n := pg.rejected.count(); n == pageSize {
		a.Rejected += n
		return
	}
	if n := pg.dropped.count(); n == pageSize {
		a.Dropped += n
		return
	}
	a.Arrived += pageSize
	a.DeliveriesDue += l.pacer.Deliveries(to) - l.pacer.Deliveries(from)
	except := func(r *record) func(int) {
		return func(at int) {
			deliveries := l.deliveriesOf(from + at)
			a.Arrived--
			a.DeliveriesDue -= deliveries
			a.add(r, deliveries)
		}
	}
	pg.rejected.each(except(goneRejected))
	pg.dropped.each(except(goneDropped))
	for i := range pg.open {
		except(&pg.open[i].record)(int(pg.open[i].at))
	}
}

func (l *Ledger) deliveriesOf(seq int) int {
	return l.flows[l.pacer.FlowOf(l.pacer.RequestOf(seq))].Deliveries
}

// End is where a message of a run that has ended is.
type End int

// The ends of a message, as the account counts them.
const (
	EndArrived End = iota
	EndDeadLettered
	EndQueued
	EndLost
	EndRejected
	EndDropped
	EndUnknown
	ends
)

// String is the end's name in run.json.
func (e End) String() string {
	return [...]string{"arrived", "dead_lettered", "queued", "lost", "rejected", "dropped", "unknown"}[e]
}

// add puts one message with a record into its place.
func (a *Account) add(r *record, deliveries int) {
	if r.outcome == Accepted || r.got != 0 {
		a.DeliveriesDue += deliveries
	}
	places := [ends]*int{&a.Arrived, &a.DeadLettered, &a.Queued, &a.Lost, &a.Rejected, &a.Dropped, &a.Unknown}
	*places[r.end(deliveries)]++
}

// end is where a message is of which so many deliveries are due.
func (r *record) end(deliveries int) End {
	switch {
	case bits.OnesCount32(r.got) == deliveries:
		return EndArrived
	case r.fate == DeadLettered:
		return EndDeadLettered
	case r.fate == Queued:
		return EndQueued
	case r.fate == Lost && (r.outcome == Accepted || r.got != 0) && bits.OnesCount32(r.got) < deliveries:
		return EndLost
	case r.outcome == Rejected:
		return EndRejected
	case r.outcome == none || r.outcome == dropped:
		return EndDropped
	default:
		return EndUnknown
	}
}

// endOf is where a message is, as far as it could be looked for.
func (l *Ledger) endOf(seq int, r *record) End {
	end := r.end(l.deliveriesOf(seq))
	if l.blind && end == EndLost {
		return EndUnknown
	}
	return end
}

// PhaseCount is what a phase holds: in the open model what was due of its schedule, in the closed one what was taken.
type PhaseCount struct {
	Requests int
	Messages int
	Accepted int // messages
	Due      int // deliveries of what was accepted
}
