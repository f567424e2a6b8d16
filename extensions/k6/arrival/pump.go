package arrival

import (
	"context"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// take returns the next request when it is due, or when it is the sender's turn. ok is false when none is left,
// the run was halted or the VU stopped.
func (e *engine) take(ctx context.Context, w *schedule.Waiter) (slot pacer.Slot, ok bool) {
	select {
	case <-e.Started: // much cheaper than the select below; closed from the first request on
	default:
		select {
		case <-e.Started:
		case <-ctx.Done():
			return slot, false
		}
	}
	switch {
	case e.turns == nil:
		return e.open.Take(ctx, w)
	case !e.turns.Choose(w.Flow > 0):
		e.count("request", "not sent", "the flows of this run's requests are chosen by run.next(flow), so there are none to send in turn")
		return slot, false
	}
	return e.turns.Take(ctx, w)
}

func (e *engine) sent(slot pacer.Slot, at time.Time) {
	e.Ledger.Sent(slot, e.Clock.At(at))
	e.turns.Taken()
}

// drop drops a request that was taken and will not be sent.
func (e *engine) drop(slot pacer.Slot) {
	e.Ledger.Drop(slot)
	e.turns.Taken()
}

// pump sends until the schedule is empty, without running JavaScript, with as many requests in flight as a VU
// may have.
func (e *engine) pump(ctx context.Context, state *lib.State) {
	var senders sync.WaitGroup
	for range e.options.InFlight {
		senders.Go(func() {
			for s := newSender(e, state); s.send(ctx); {
			}
		})
	}
	senders.Wait()
}
