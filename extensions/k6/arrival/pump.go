package arrival

import (
	"context"
	"slices"
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
	slot, due, ok := e.draw(ctx)
	if !ok {
		return slot, false
	}
	if ok = e.gate.wait(ctx, e.halted, w, due); !ok {
		e.leave(slot)
	}
	return slot, ok
}

// draw takes the next request off the schedule of the open model. What is too late to be sent is dropped. ok is false when there is
// none left, or ctx has ended, or the run has been halted.
func (e *engine) draw(ctx context.Context) (slot pacer.Slot, due time.Time, ok bool) {
	for {
		if ctx.Err() != nil || e.isHalted() {
			return slot, due, false
		}
		n := int(e.next.Add(1)) - 1
		if n >= e.pacer.Requests() {
			return slot, due, false
		}
		slot = e.pacer.Slot(n)
		due = e.epoch.Add(slot.Due)
		late := time.Since(due)
		if late <= LateLimit {
			if late > lateFloor {
				e.unattended.Add(1)
			}
			return slot, due, true
		}
		e.ledger.Drop(slot)
	}
}

// dropRest drops what of the open model nobody has taken.
func (e *engine) dropRest() {
	for n := int(e.next.Add(1)) - 1; !e.pacer.Closed() && n < e.pacer.Requests(); n = int(e.next.Add(1)) - 1 {
		e.ledger.Drop(e.pacer.Slot(n))
	}
}

// leave puts aside a request whose sender was stopped before it was due.
func (e *engine) leave(slot pacer.Slot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left = append(e.left, slot)
}

// dropLeft drops what was put aside, when it is due: nobody will send it.
func (e *engine) dropLeft(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.left = slices.DeleteFunc(e.left, func(s pacer.Slot) bool {
		due := !now.Before(e.epoch.Add(s.Due))
		if due {
			e.ledger.Drop(s)
		}
		return due
	})
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
