package arrival

import (
	"context"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// take returns the next request of the schedule when it is due. ok is false when there is none left, or the run has been
// halted, or the VU stopped.
func (e *engine) take(ctx context.Context, w *waiter) (slot pacer.Slot, ok bool) {
	select {
	case <-e.started: // alone, which is much cheaper, as it is so from the first request on
	default:
		select {
		case <-e.started:
		case <-ctx.Done():
			return slot, false
		}
	}
	if e.pacer.Closed() {
		return e.takeNow(ctx, w)
	}
	for {
		n := int(e.next.Add(1)) - 1
		if n >= e.pacer.Requests() || ctx.Err() != nil {
			return slot, false
		}
		slot = e.pacer.Slot(n)
		due := e.epoch.Add(slot.Due)
		switch late := time.Since(due); {
		case late > lateLimit:
			e.ledger.Drop(slot)
			continue
		case late >= 0:
			if late > lateFloor {
				e.unattended.Add(1)
			}
			return slot, !e.isHalted()
		}
		return slot, e.gate.wait(ctx, e.halted, w, due)
	}
}

// pump sends until the schedule is empty, without JavaScript in between: as many requests at a time as a VU may have in
// flight.
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
