package ledger

import (
	"math/bits"

	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// Arrival is one message that a subscriber was handed.
type Arrival struct {
	Seq     int
	Stamps  hops.Stamps // on the own clock
	Stamped bool        // false: the pipeline carries no stamps
}

// Arrive records what one subscriber read from its socket at one moment and appends the arrival latencies, in µs, to
// latencies. So many of them as measured are of measured phases. An id that was never sent counts as foreign.
func (l *Ledger) Arrive(subscriber int, at int64, arrivals []Arrival, latencies []int64) (all []int64, measured int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range arrivals {
		us, phase, ok := l.arrive(subscriber, at, a)
		if !ok {
			continue
		}
		latencies = append(latencies, us)
		if l.phases[phase].Measured {
			measured++
		}
	}
	return latencies, measured
}

func (l *Ledger) arrive(subscriber int, at int64, a Arrival) (us int64, phase int, ok bool) {
	pg, r := l.lookup(a.Seq)
	if r == nil || r.outcome == none || r.outcome == dropped {
		l.foreign++
		return 0, 0, false
	}
	bit := uint32(1) << subscriber
	if r.outcome == complete || r.got&bit != 0 {
		l.duplicates++
		return 0, 0, false
	}
	if r.outcome == Rejected {
		r = l.retract(a.Seq, pg, r) // the ingest said no and took it all the same
	}
	r.got |= bit
	l.deliveries++

	slot := l.pacer.SlotOf(a.Seq)
	flow := l.flows[slot.Flow]
	target := (slot.OfFlow + a.Seq - slot.FirstSeq) % flow.Targets
	late := l.seen.note(subscriber, slot.Flow, target, a.Seq)
	if target += l.firstTargets[slot.Flow]; late {
		l.reordered++
		l.targets.reordered[target]++
	}

	sent, due := r.sent, l.epoch+slot.Due.Microseconds()
	if l.pacer.Closed() {
		slot.Phase, due = int(r.phase), sent
	}
	if r.outcome == Accepted {
		l.owed--
	}
	if bits.OnesCount32(r.got) == flow.Deliveries {
		l.arrived++
		if r.outcome != inFlight {
			l.open--
		}
		r.outcome = complete
		l.resolve(a.Seq, pg, r)
	}
	if due == forgotten {
		l.unmeasured++
		return 0, 0, false
	}
	l.keeper.note(Kept{a.Seq, slot.Phase, due, at})
	return l.measure(slot, target, due, sent, at, a), slot.Phase, true
}

// measure splits the time of one delivery into its stages. They telescope, so they sum to the arrival latency. A delivery
// whose time of sending is forgotten has an arrival latency, and no more.
func (l *Ledger) measure(slot pacer.Slot, target int, due, sent, at int64, a Arrival) int64 {
	t := l.times[slot.Phase]
	arrival := at - due
	t.Arrival.Add(arrival)
	l.interval.Arrival.Add(arrival)
	if l.phases[slot.Phase].Measured {
		l.flowTimes[slot.Flow].Add(arrival)
		l.targets.add(target, arrival)
	}
	if sent == forgotten {
		if arrival < 0 {
			l.negative++
		}
		return arrival
	}
	t.FromSend.Add(at - sent)
	l.interval.FromSend.Add(at - sent)

	negative := sent < due || at < sent
	t.Stages[Schedule].Add(sent - due)
	if a.Stamped {
		stamps := [...]int64{sent, a.Stamps.Received, a.Stamps.Queued, a.Stamps.Claimed, a.Stamps.Published, at}
		l.interval.Stamped++
		l.interval.StageSums[Schedule] += sent - due
		for i := 1; i <= int(l.last); i++ {
			us := stamps[i] - stamps[i-1]
			t.Stages[i].Add(us)
			l.interval.StageSums[i] += us
			negative = negative || us < 0
		}
	}
	if negative {
		l.negative++
	}
	return arrival
}

// Foreign counts messages that belong to another run.
func (l *Ledger) Foreign(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.foreign += n
}
