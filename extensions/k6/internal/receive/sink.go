package receive

import (
	"bytes"
	"fmt"
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// Sink turns what receivers read into arrivals of the ledger. It may be used from any goroutine.
type Sink struct {
	parts     *run.Parts
	stamped   bool
	latencies func(us []int64)
}

// NewSink makes a Sink. stamped: the pipeline's stamps are on the clock of Redis, which is known. latencies gets the
// arrival latencies that it records.
func NewSink(parts *run.Parts, stamped bool, latencies func(us []int64)) *Sink {
	return &Sink{parts: parts, stamped: stamped, latencies: latencies}
}

// Answered records consecutive messages that arrived with the answer to their request.
func (s *Sink) Answered(seq, messages int, at socket.Arrival) {
	arrivals := make([]ledger.Arrival, messages)
	for i := range arrivals {
		arrivals[i] = s.arrival(at)
		arrivals[i].Seq, arrivals[i].Stamped = seq+i, true
	}
	s.latencies(s.parts.Ledger.Arrive(0, arrivals, nil))
}

// arrival is an arrival on the clock of the run.
func (s *Sink) arrival(at socket.Arrival) ledger.Arrival {
	a := ledger.Arrival{At: s.parts.Clock.At(at.At), Kernel: at.Kernel, Waited: at.Waited.Microseconds()}
	if at.Waited < 0 { // rounding below 1 µs
		a.Waited = -1
	}
	return a
}

// Taker records what one subscriber reads. It is for one goroutine.
type Taker struct {
	*Sink
	IDs   bool // a payload may be an id alone, which is not compared with what was sent
	Lines bool // line ends came as LF, whichever were sent
	// Place is the target where a message came, as of ledger.Arrival; nil: any message may come here
	Place      func(seq int, payload []byte) int
	subscriber int
	greeting   []byte // ids of the canary's messages begin with it
	stamps     int    // that a message has at most

	arrivals  []ledger.Arrival // since the last Flush
	foreign   int
	back      func(at int64) int64 // turns a time of Redis' clock into our own, as of the first arrival
	bound     int64
	latencies []int64
	seqs      []int
	scratch   []byte
}

// Subscriber returns the Taker of a subscriber, which counts from 0. A second copy of a message for one subscriber is a
// duplicate.
func (s *Sink) Subscriber(i int) *Taker {
	return &Taker{
		Sink: s, subscriber: i, greeting: []byte(s.parts.Bodies.Prefix(canaryPrefix(s.parts))),
		stamps: s.parts.Ledger.Stages().Stamps(),
	}
}

// Take notes a message: its payload, its stamps as they came (empty: none) and its arrival. It keeps no reference to
// either.
func (t *Taker) Take(payload, stamps []byte, at socket.Arrival) {
	t.TakeAs(t.parts.Bodies.Within(payload, nil), payload, stamps, at)
}

// Within returns the text in which the id of a message stands, as the run's options say.
func (t *Taker) Within(payload []byte, header body.Header) []byte {
	return t.parts.Bodies.Within(payload, header)
}

// Knows reports whether a text has the id of a message of the run.
func (t *Taker) Knows(text []byte) bool {
	return len(t.parts.Bodies.Seqs(text, nil)) > 0 || t.parts.Bodies.Sibling(text) || bytes.Contains(text, t.greeting)
}

// Greets reports whether a text has the id of a message of the canary.
func (t *Taker) Greets(text []byte) bool { return bytes.Contains(text, t.greeting) }

// TakeAs is Take for a message whose id is in a text that need not be its payload, like a header field. It reports
// whether the message is one of the load.
func (t *Taker) TakeAs(id, payload, stamps []byte, at socket.Arrival) bool {
	t.seqs = t.parts.Bodies.Seqs(id, t.seqs[:0])
	if len(t.seqs) == 0 {
		if !t.parts.Bodies.Sibling(id) && !bytes.Contains(id, t.greeting) {
			t.foreign++
			t.parts.Sample(payload)
		}
		return false
	}
	if len(t.arrivals) == 0 {
		t.back, t.bound = t.parts.Clock.Back(), t.parts.Clock.Bound()
	}
	a := t.arrival(at)
	if len(stamps) > 0 && t.stamped {
		parsed, err := hops.Parse(stamps)
		if err == nil && parsed.N > t.stamps {
			err = fmt.Errorf("hops: %d stamps, and the stages of the run have %d", parsed.N, t.stamps)
		}
		if a.Stamped = err == nil; a.Stamped {
			a.Stamps, a.Bound = parsed.Move(t.back), t.bound
		} else {
			t.parts.Count("delivery", "stamps unreadable", err.Error())
		}
	}
	if len(t.seqs) == 1 && !bytes.Contains(id, t.greeting) && !(t.IDs && t.parts.Bodies.IsID(payload)) {
		if sums := t.parts.Sums(); sums != nil {
			a.Sum = sums.Of(t.seqs[0], payload, t.Lines)
		} else {
			a.Altered = t.altered(payload, t.seqs[0])
		}
	}
	a.Bytes = int32(min(len(payload), math.MaxInt32))
	for _, a.Seq = range t.seqs {
		if t.Place != nil {
			a.Target = t.Place(a.Seq, payload)
		}
		t.arrivals = append(t.arrivals, a)
		a.Bytes = 0
	}
	return true
}

// altered reports whether a message did not arrive as it was sent; false where the run does not know what was sent.
func (t *Taker) altered(payload []byte, seq int) bool {
	every := t.parts.Verify()
	if every == 0 {
		return false
	}
	slot, whole := t.parts.Slot(seq), false
	whole, t.scratch = t.parts.Bodies.Whole(payload, slot, seq-slot.FirstSeq, every, t.scratch)
	if !whole && t.Lines {
		whole, t.scratch = t.parts.Bodies.SameLines(payload, slot, seq-slot.FirstSeq, t.scratch)
	}
	if !whole {
		t.parts.Count("delivery", "altered", runfile.ExcerptOf(payload))
	}
	return !whole
}

// TargetOf is the number of a message's target.
func (s *Sink) TargetOf(seq int) int {
	slot := s.parts.Slot(seq)
	return s.parts.Targets.Of(slot.Flow, slot.OfFlow+seq-slot.FirstSeq)
}

// Flush records the messages that were taken since the last call. Call it after each read.
func (t *Taker) Flush() {
	if t.latencies = t.parts.Ledger.Arrive(t.subscriber, t.arrivals, t.latencies[:0]); t.foreign > 0 {
		t.parts.Ledger.Foreign(t.foreign)
	}
	t.Sink.latencies(t.latencies)
	t.arrivals, t.foreign = t.arrivals[:0], 0
}
