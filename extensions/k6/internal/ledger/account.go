package ledger

import (
	"math/bits"
	"slices"
)

// Account counts the messages of a run by their end, in the form of run.json. A field counts messages unless noted.
type Account struct {
	Scheduled int `json:"scheduled" merge:"sum"`
	Dropped   int `json:"dropped" merge:"sum"`  // never sent by the generator
	Rejected  int `json:"rejected" merge:"sum"` // refused by the ingest
	Unknown   int `json:"unknown" merge:"sum"`  // never arrived: no answer, or the queue could not be searched
	Arrived   int `json:"arrived" merge:"sum"`  // to all subscribers
	// Altered: arrived with other content than was sent, and to some subscriber not whole
	Altered int `json:"altered" merge:"sum"`
	// Misdelivered: arrived at another recipient, and not at each of its own
	Misdelivered int `json:"misdelivered" merge:"sum"`
	DeadLettered int `json:"dead_lettered" merge:"sum"`
	Queued       int `json:"queued" merge:"sum"`  // still in the queue when the drain limit was reached
	Lost         int `json:"lost" merge:"sum"`    // accepted, but neither arrived nor found in the queue
	Pending      int `json:"pending" merge:"sum"` // open in a run that did not end

	// Balanced: every scheduled message has one end, and Arrived equals the count at arrival
	Balanced   bool `json:"balanced" merge:"and"`
	Duplicates int  `json:"duplicates" merge:"sum"` // deliveries beyond the first to the same subscriber
	// Misdeliveries: deliveries at a recipient that their message was not for
	Misdeliveries int `json:"misdeliveries" merge:"sum"`
	Reordered     int `json:"reordered" merge:"sum"` // deliveries after one with a higher number on the same topic
	// Negative: deliveries with a stage below zero, of Request and Delivery by more than the clock bound
	Negative   int        `json:"negative" merge:"sum"`
	Foreign    int        `json:"foreign" merge:"sum"` // messages of other runs
	Requests   Requests   `json:"requests" merge:"fields"`
	Deliveries Deliveries `json:"deliveries" merge:"fields"`

	// Unmeasured: deliveries without a latency: in the closed model, of messages rejected long before
	Unmeasured int `json:"-" merge:"sum"`
}

// Requests counts POSTs.
type Requests struct {
	Scheduled int `json:"scheduled" merge:"sum"`
	Sent      int `json:"sent" merge:"sum"`    // each counted once
	Retried   int `json:"retried" merge:"sum"` // repetitions, with the same id
	Failed    int `json:"failed" merge:"sum"`  // without a 2xx in the end, whether or not their messages arrived
}

// Deliveries counts deliveries: a message has one for each subscriber of its topic.
type Deliveries struct {
	Due     int `json:"due" merge:"sum"`
	Arrived int `json:"arrived" merge:"sum"`
	Missing int `json:"missing" merge:"sum"`
}

// closed completes an account. arrived counts the messages as they arrived.
func (a Account) closed(arrived int) Account {
	sum := 0
	for _, end := range Ends {
		sum += *end.at(&a)
	}
	a.Balanced = a.Arrived == arrived && a.Scheduled == sum
	a.Deliveries.Missing = a.Deliveries.Due - a.Deliveries.Arrived
	return a
}

// counters returns the running counts. requests is the number of scheduled requests to account for.
func (l *Ledger) counters(requests int) Account {
	a := Account{
		Scheduled:  l.pacer.Messages(requests),
		Requests:   Requests{Scheduled: requests, Sent: l.sent, Retried: l.retried, Failed: l.failed},
		Duplicates: l.duplicates, Reordered: l.reordered, Negative: l.negative, Foreign: l.foreign + l.unsent(),
		Misdeliveries: l.misplaced,
		Deliveries:    Deliveries{Arrived: l.deliveries}, Unmeasured: l.unmeasured,
	}
	if !l.pacer.Planned() {
		a.Scheduled, a.Requests.Scheduled = 0, 0
		for _, c := range l.counts {
			a.Scheduled += c.Messages
			a.Requests.Scheduled += c.Requests
		}
	}
	return a
}

// Standing is the account of a run at one moment, with the counts of its phases and flows.
type Standing struct {
	Account
	Phases []PhaseCount
	Flows  []int // messages of each flow in the measured phases
}

// Running is the account of a run in progress, from counters alone; open messages are pending. A killed run has no
// other account. due returns the number of requests due so far (open model).
func (l *Ledger) Running(due func() int) Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.counters(max(due(), l.sent+l.dropped))
	a.Arrived, a.Rejected, a.Dropped = l.arrived, l.rejected, l.unsendable // RunningEnds
	a.Pending = a.Scheduled - a.Arrived - a.Rejected - a.Dropped
	a.Deliveries.Due = a.Deliveries.Arrived + l.owed
	return l.standing(a.closed(l.arrived))
}

// standing divides an account among phases and flows.
func (l *Ledger) standing(a Account) Standing {
	s := Standing{a, slices.Clone(l.counts), slices.Clone(l.scheduled)}
	if !l.pacer.Planned() {
		return s
	}
	for i, p := range l.phases {
		from, to := l.pacer.PhaseRequests(i)
		from, to = min(from, a.Requests.Scheduled), min(to, a.Requests.Scheduled)
		s.Phases[i].Requests, s.Phases[i].Messages = to-from, l.pacer.Messages(to)-l.pacer.Messages(from)
		if p.Measured {
			for f, n := range l.pacer.FlowMessages(from, to) {
				s.Flows[f] += n
			}
		}
	}
	return s
}

// Ended is Final with the counts of phases and flows.
func (l *Ledger) Ended() Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.standing(l.final())
}

// Final counts every message of the run after its end. Scheduled messages of the open model that were never sent are
// dropped; without a plan there are only those that were taken.
func (l *Ledger) Final() Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.final()
}

func (l *Ledger) final() Account {
	a := l.counters(l.pacer.Requests())
	end := a.Scheduled
	if !l.pacer.Planned() {
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
			a.Deliveries.Due += l.pacer.Deliveries(to) - l.pacer.Deliveries(from)
		case pg != nil:
			l.tally(&a, pg, from, to)
		case l.pacer.Planned():
			a.Dropped += to - from
		}
	}
	if l.blind {
		a.Unknown, a.Lost = a.Unknown+a.Lost, 0
	}
	return a.closed(l.arrived)
}

// tally adds the messages [from, to) of a page to an account.
func (l *Ledger) tally(a *Account, pg *page, from, to int) {
	if pg.young != nil {
		for seq := from; seq < to; seq++ {
			if r := &pg.young[seq%pageSize]; r.outcome != none || l.pacer.Planned() {
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
	a.Deliveries.Due += l.pacer.Deliveries(to) - l.pacer.Deliveries(from)
	except := func(r *record) func(int) {
		return func(at int) {
			deliveries := l.deliveriesOf(from + at)
			a.Arrived--
			a.Deliveries.Due -= deliveries
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

// add counts a message by its record.
func (a *Account) add(r *record, deliveries int) {
	if r.outcome == Accepted || r.got != 0 {
		a.Deliveries.Due += deliveries
	}
	*Ends[r.end(deliveries)].at(a)++
}

// end is the end of a message with that many deliveries due.
func (r *record) end(deliveries int) End {
	switch {
	case bits.OnesCount32(r.got) == deliveries:
		return EndArrived
	case r.fate == Altered:
		return EndAltered
	case r.fate == Misdelivered:
		return EndMisdelivered
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

// endOf is the end of a message; without a search of the queue, a lost message is unknown.
func (l *Ledger) endOf(seq int, r *record) End {
	end := r.end(l.deliveriesOf(seq))
	if l.blind && end == EndLost {
		return EndUnknown
	}
	return end
}
