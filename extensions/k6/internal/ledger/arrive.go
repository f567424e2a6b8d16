package ledger

import (
	"math/bits"

	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// Arrival is one delivery of a message to a subscriber.
type Arrival struct {
	Seq     int
	At      int64
	Kernel  bool        // At is the kernel's stamp, not the time of the read
	Waited  int64       // how long the message may have been unread before At, µs; negative: unknown
	Stamps  hops.Stamps // on the own clock
	Bound   int64       // how far Stamps may be off, µs
	Stamped bool        // the message carries Stamps
	Altered bool        // its content is not what was sent
	Sum     uint64      // of its content, as of Compare; 0: it is not compared
	Target  int         // the target where it came, from 1; 0: not known, or any; NotHeld
	Bytes   int32       // length of its payload; 0 for all but one of the messages of a payload

	place place // where it is kept, if it waited until its request had left
}

// NotHeld is the target of a delivery on a connection that does not hold the one of its message.
const NotHeld = -1

// Arrive records the messages that a subscriber has read and appends their arrival latencies, in µs, to latencies. A
// message that was never sent counts as foreign, as does one at a subscriber that the run does not have.
func (l *Ledger) Arrive(subscriber int, arrivals []Arrival, latencies []int64) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if subscriber < 0 || subscriber >= l.seen.subscribers {
		l.foreign += len(arrivals)
		arrivals = nil
	}
	for _, a := range arrivals {
		if us, ok := l.receive(subscriber, a); ok {
			latencies = append(latencies, us)
		}
	}
	latencies = append(latencies, l.recalled...)
	l.recalled = l.recalled[:0]
	return latencies
}

func (l *Ledger) receive(subscriber int, a Arrival) (us int64, ok bool) {
	us, phase, ok := l.arrive(subscriber, a)
	if ok && l.phases[phase].Measured {
		l.reading.note(a)
	}
	return us, ok
}

// Reading describes how the deliveries of the measured phases were read.
type Reading struct {
	Kernel, Read int64  // deliveries timed by the kernel's stamp, and by the read
	Waits        Series // how long each delivery may have been unread, where that is known
}

func (r *Reading) note(a Arrival) {
	if a.Kernel {
		r.Kernel++
	} else {
		r.Read++
	}
	if a.Waited < 0 {
		return
	}
	if n := a.Stamps.N; a.Stamped && n > 0 { // it can't have waited longer than since its last stamp
		a.Waited = min(a.Waited, max(0, a.At-a.Stamps.At[n-1]))
	}
	r.Waits.Add(a.Waited)
}

func (l *Ledger) arrive(subscriber int, a Arrival) (us int64, phase int, ok bool) {
	pg, r := l.lookup(a.Seq)
	if r == nil || r.outcome == none || r.outcome == dropped {
		if r != nil && r.outcome == dropped || !l.keepEarly(subscriber, a) {
			l.foreign++
		}
		return 0, 0, false
	}
	slot := l.pacer.SlotOf(a.Seq)
	if l.pacer.Told() && a.Target > 0 {
		// At a target of another flow it is misdelivered.
		if within := a.Target - 1 - l.targets.First(slot.Flow); within >= 0 && within < l.flows[slot.Flow].Targets {
			l.pacer.Came(a.Seq, within)
			slot = l.pacer.SlotOf(a.Seq)
		}
	}
	flow := l.flows[slot.Flow]
	number := l.targets.Of(slot.Flow, slot.OfFlow+a.Seq-slot.FirstSeq)
	target := number - l.targets.First(slot.Flow) // counted within its flow
	if a.Target != 0 && a.Target-1 != number {
		l.misplace(subscriber, pg, r, a)
		return 0, 0, false
	}
	if r.sent == leaving {
		l.keepLeaving(subscriber, a, slot, target)
		return 0, 0, false
	}
	bit := uint32(1) << subscriber
	if r.outcome == complete || r.got&bit != 0 {
		if l.duplicates++; l.duplicates <= NamedOfEach {
			l.named.duplicates = append(l.named.duplicates, Named{
				Seq: a.Seq, Phase: l.phaseOf(a.Seq, r), Subscriber: subscriber, Due: Forgotten,
			})
		}
		return 0, 0, false
	}
	if r.outcome == Rejected {
		r = l.retract(a.Seq, pg, r) // the ingest rejected the message but also took it
	}
	if a.Altered || a.Sum != 0 && !l.same(a.Seq, a.Sum) {
		r.fate = Altered
		l.anyOurs = true
		return 0, 0, false
	}
	first := r.got == 0
	r.got |= bit
	l.deliveries++

	late := a.place == behind
	if a.place == unplaced {
		late = l.seen.note(subscriber, slot.Flow, target, l.turnOf(a.Seq, r))
	}
	if late {
		l.reordered++
		l.targets.reordered[number]++
	}

	sent, due := r.sent, l.epoch+slot.Due.Microseconds()
	if l.pacer.Closed() {
		slot.Phase, due = int(r.phase), sent
	}
	switch {
	case r.outcome == Accepted:
		l.owed--
	case r.outcome == Unknown && first && due != Forgotten: // the phase of any other one is forgotten too
		l.takeUp(slot, 1)
	}
	if bits.OnesCount32(r.got) == flow.Deliveries {
		l.arrived++
		if r.outcome != inFlight {
			l.open--
		}
		r.outcome = complete
		l.resolve(a.Seq, pg, r)
		if l.over != nil {
			l.over(a.Seq)
		}
	}
	if due == Forgotten {
		l.unmeasured++
		return 0, 0, false
	}
	delivery := Kept{a.Seq, slot.Phase, subscriber, due, sent, a.At}
	l.keeper.note(delivery)
	if l.picks != nil {
		if seq, ok := l.picks(slot); ok && seq == a.Seq {
			l.traced.note(delivery)
		}
	}
	if !l.pacer.TargetKnown(slot.N) {
		number = noTarget
	}
	return l.measure(slot, number, subscriber, due, sent, a), slot.Phase, true
}

// turnOf orders the messages of a target: by their numbers, or by when they were sent where a caller tells them, whose
// threads count for themselves.
func (l *Ledger) turnOf(seq int, r *record) int {
	if !l.pacer.Told() {
		return seq
	}
	return int(max(0, r.sent))
}

// misplace records a delivery at a recipient that its message was not for. The message may still reach its own.
func (l *Ledger) misplace(subscriber int, pg *page, r *record, a Arrival) {
	l.anyOurs = true
	if l.misplaced++; l.misplaced <= NamedOfEach {
		l.named.misplaced = append(l.named.misplaced, Misplaced{a.Seq, l.phaseOf(a.Seq, r), subscriber, a.Target})
	}
	switch r.outcome {
	case complete:
		return
	case Rejected:
		r = l.retract(a.Seq, pg, r)
	}
	r.fate = Misdelivered
}

// phaseOf is the phase of a message; −1 if its record is gone (closed model).
func (l *Ledger) phaseOf(seq int, r *record) int {
	if !l.pacer.Closed() {
		return l.pacer.SlotOf(seq).Phase
	}
	if r == goneComplete || r == goneRejected || r.sent == Forgotten {
		return -1
	}
	return int(r.phase)
}

// noTarget is the target of a message where nobody knows for whom it was.
const noTarget = -1

// measure splits the time of one delivery into stages. Each begins where the one before ends, so they sum to the
// arrival latency. A delivery whose send time is Forgotten has no stages.
func (l *Ledger) measure(slot pacer.Slot, target, subscriber int, due, sent int64, a Arrival) int64 {
	t, at, measured := l.times[slot.Phase], a.At, l.phases[slot.Phase].Measured
	d := Named{Seq: a.Seq, Phase: slot.Phase, Subscriber: subscriber, Due: due - l.epoch, Arrival: at - due}
	t.Arrival.Add(d.Arrival)
	if most := &l.almost[slot.Phase]; t.Arrival.Count == most.deliveries {
		most.at = at - l.epoch
	}
	l.interval.Arrival.Add(d.Arrival)
	l.interval.Bytes += int64(a.Bytes)
	if measured {
		l.flowTimes[slot.Flow].Add(d.Arrival)
		if target != noTarget {
			l.targets.add(target, d.Arrival)
		}
		l.dues.add(d.Due, d.Arrival)
	}
	negative := d.Arrival < 0
	if sent != Forgotten {
		t.FromSend.Add(at - sent)
		l.interval.FromSend.Add(at - sent)
		d.Stages[0], d.Known = sent-due, 1
		negative = sent < due || at < sent
		var ends [stages.Most]int64 // ends of the stages, from Schedule on
		known := min(a.Stamps.N, l.stages.Stamps())
		ends[0], ends[known+1] = sent, at
		copy(ends[1:], a.Stamps.At[:known])
		a.Stamped = a.Stamped || l.stages.Stamps() == 0 // one stage holds all then
		crosses := a.Stamped && crossesStep(ends[:known+2], a.Bound)
		negative = negative || crosses
		if a.Stamped && !crosses {
			whole := known == l.stages.Stamps()
			if whole {
				known++
			}
			for ; d.Known <= known; d.Known++ {
				d.Stages[d.Known] = ends[d.Known] - ends[d.Known-1]
				least := int64(0)
				if d.Known == 1 || d.Known == len(l.stages)-1 { // between the own clock and a stamp
					least = -a.Bound
				}
				negative = negative || d.Stages[d.Known] < least
			}
			if whole {
				l.interval.Stages.add(&d.Stages)
				if measured {
					l.flowStages[slot.Flow].add(&d.Stages)
					l.tail.add(d.Arrival, &d.Stages)
				}
			}
		}
		for i := range d.Known {
			t.Stages[i].Add(d.Stages[i])
		}
	}
	if negative {
		if l.negative++; l.negative <= NamedOfEach {
			l.named.negative = append(l.named.negative, d)
		}
	}
	if measured {
		l.named.note(d, slot.Phase*len(l.flows)+slot.Flow)
	}
	return d.Arrival
}

// step is how far below zero a stage has to be to show that a clock was set between two of its stamps, µs. The sum
// of the stages is right then, so one is as much too long.
const step = 100_000

// crossesStep reports whether a clock was set between the stamps of a delivery, so that its stages are not known.
func crossesStep(stamps []int64, bound int64) bool {
	for i := 1; i < len(stamps); i++ {
		if stamps[i]-stamps[i-1] < -bound-step {
			return true
		}
	}
	return false
}

// Foreign counts messages that belong to another run.
func (l *Ledger) Foreign(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.foreign += n
}
