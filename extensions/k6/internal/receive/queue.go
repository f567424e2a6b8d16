package receive

import (
	"context"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// takeFromQueue reads the queue in place of a broker. Messages of other runs count as foreign and are removed
// too.
func (s *Subscribers) takeFromQueue(ctx context.Context) error {
	queue, err := store.OpenQueue(s.Network, s.Queue)
	if err != nil {
		return err
	}
	if err := queue.Take(ctx, s.taken); err != nil { // fails before the load if the user lacks a permission
		_ = queue.Close()
		return err
	}
	s.read.Go(func() {
		defer queue.Close()
		for ctx.Err() == nil {
			if err := queue.Take(ctx, s.taken); err != nil && ctx.Err() == nil {
				s.Failed <- err
				return
			}
		}
	})
	return nil
}

// taken records frames that were read at one moment in the ledger and in k6's metric. Nobody claims or
// publishes them: they arrive in the queue.
func (s *Subscribers) taken(moment time.Time, frames []string) {
	at := s.Clock.At(moment)
	arrivals := make([]ledger.Arrival, 0, len(frames))
	back, bound := s.Clock.Back(), s.Clock.Bound()
	foreign := 0
	for _, frame := range frames {
		stampText, body := store.Parts(frame)
		seq, ok := s.Bodies.Seq([]byte(body))
		if !ok {
			foreign++
			continue
		}
		a := ledger.Arrival{Seq: seq, At: at, Waited: -1}
		if stampText != "" && s.Stamped {
			stamps, err := hops.Parse([]byte(stampText + ",0,0"))
			if a.Stamped = err == nil; a.Stamped {
				a.Stamps, a.Bound = stamps.Move(back), bound
				a.Stamps.Claimed, a.Stamps.Published = at, at
			} else {
				s.Count("queue", "stamps unreadable", err.Error())
			}
		}
		arrivals = append(arrivals, a)
	}
	latencies := s.Ledger.Arrive(0, arrivals, nil)
	if foreign > 0 {
		s.Ledger.Foreign(foreign)
	}
	s.Latencies(latencies)
}
