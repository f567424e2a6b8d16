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
// latencies. An id that was never sent counts as foreign.
func (l *Ledger) Arrive(subscriber int, at int64, arrivals []Arrival, latencies []int64) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range arrivals {
		if us, ok := l.arrive(subscriber, at, a); ok {
			latencies = append(latencies, us)
		}
	}
	return latencies
}

func (l *Ledger) arrive(subscriber int, at int64, a Arrival) (int64, bool) {
	if a.Seq < 0 || a.Seq >= l.pacer.Messages(l.pacer.Requests()) {
		l.foreign++
		return 0, false
	}
	pg := l.pages[a.Seq/pageSize]
	if pg == arrivedInFull {
		l.duplicates++
		return 0, false
	}
	r := l.record(a.Seq)
	if r.outcome == none {
		l.foreign++
		return 0, false
	}
	bit := uint32(1) << subscriber
	if r.got&bit != 0 {
		l.duplicates++
		return 0, false
	}
	r.got |= bit
	l.deliveries++

	slot := l.pacer.SlotOf(a.Seq)
	flow := l.flows[slot.Flow]
	topic := l.topics[slot.Flow] + (slot.OfFlow+a.Seq-slot.FirstSeq)%flow.Targets
	if last := &l.lastSeen[subscriber*l.perTopic+topic]; a.Seq < *last {
		l.reordered++
	} else {
		*last = a.Seq
	}

	switch {
	case r.outcome == Accepted:
		l.owed--
	case r.outcome == Rejected && r.got == bit:
		l.rejected-- // the ingest said no and took it all the same
	}
	if bits.OnesCount32(r.got) == flow.Deliveries {
		l.arrived++
		if r.outcome == Accepted || r.outcome == Unknown {
			l.open--
		}
		defer l.close(a.Seq / pageSize)
	}
	return l.measure(slot, r.sent, at, a), true
}

// measure splits the time of one delivery into its stages. They telescope, so they sum to the arrival latency.
func (l *Ledger) measure(slot pacer.Slot, sent, at int64, a Arrival) int64 {
	due := l.epoch + slot.Due.Microseconds()
	t := l.times[slot.Phase]
	arrival := at - due
	t.Arrival.Add(arrival)
	t.FromSend.Add(at - sent)
	l.interval.Arrival.Add(arrival)
	l.interval.FromSend.Add(at - sent)
	if l.phases[slot.Phase].Measured {
		l.flowTimes[slot.Flow].Add(arrival)
	}

	negative := sent < due || at < sent
	t.Stages[Schedule].Add(sent - due)
	if a.Stamped {
		stamps := [...]int64{sent, a.Stamps.Received, a.Stamps.Queued, a.Stamps.Claimed, a.Stamps.Published, at}
		l.interval.Stamped++
		l.interval.StageSums[Schedule] += sent - due
		for i := 1; i < len(stamps); i++ {
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
