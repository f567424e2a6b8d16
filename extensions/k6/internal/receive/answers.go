package receive

import (
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// Answered records the messages of an accepted request as arrived, in the ledger and in k6's metric. Here the
// answer is the arrival.
func (s *Subscribers) Answered(slot pacer.Slot, done time.Time) {
	at := s.Clock.At(done)
	arrivals := make([]ledger.Arrival, slot.Messages)
	for i := range arrivals {
		arrivals[i] = ledger.Arrival{Seq: slot.FirstSeq + i, At: at, Waited: -1, Stamped: true, Stamps: hops.Stamps{Received: at}}
	}
	s.Latencies(s.Ledger.Arrive(0, arrivals, nil))
}
