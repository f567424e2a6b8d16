package schedule

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// LateLimit is how late a request may be sent. Later ones are dropped and counted: a generator that is half a
// minute behind measures only itself.
const LateLimit = 30 * time.Second

// LateFloor is the lateness that is attributed to the operating system.
const LateFloor = 2 * time.Millisecond

// Open hands out the requests of the open model, each when it is due.
type Open struct {
	*Course
	gate       *gate
	next       atomic.Int64 // the request that is taken next
	unattended atomic.Int64

	mu   sync.Mutex
	left []pacer.Slot // taken by senders that were stopped before it was due
}

// NewOpen makes an Open for a run. Its Tend must run.
func NewOpen(c *Course) *Open { return &Open{Course: c, gate: newGate()} }

// Tend releases senders when their requests are due, until ctx ends.
func (o *Open) Tend(ctx context.Context) { o.gate.tend(ctx) }

// Drawn is at least the number of requests that have been taken.
func (o *Open) Drawn() int { return int(o.next.Load()) }

// Unattended is how many requests found no free sender when they were due, and were late by more than LateFloor.
func (o *Open) Unattended() int64 { return o.unattended.Load() }

// Take returns the next request when it is due. ok is false when none is left, the run was halted or the VU
// stopped.
func (o *Open) Take(ctx context.Context, w *Waiter) (slot pacer.Slot, ok bool) {
	slot, due, ok := o.Draw(ctx)
	if !ok {
		return slot, false
	}
	if ok = o.gate.wait(ctx, o.Halted, w, due); !ok {
		o.putAside(slot)
	}
	return slot, ok
}

// Draw takes the next request off the schedule and drops those that are too late. ok is false when none is
// left, ctx has ended or the run was halted.
func (o *Open) Draw(ctx context.Context) (slot pacer.Slot, due time.Time, ok bool) {
	for {
		if ctx.Err() != nil || o.IsHalted() {
			return slot, due, false
		}
		n := int(o.next.Add(1)) - 1
		if n >= o.Pacer.Requests() {
			return slot, due, false
		}
		slot = o.Pacer.Slot(n)
		due = o.Epoch.Add(slot.Due)
		late := time.Since(due)
		if late <= LateLimit {
			if late > LateFloor {
				o.unattended.Add(1)
			}
			return slot, due, true
		}
		o.Ledger.Drop(slot)
	}
}

// putAside keeps aside a request whose sender was stopped before it was due.
func (o *Open) putAside(slot pacer.Slot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left = append(o.left, slot)
}

// DropLeft drops requests that were put aside, when they are due: nobody will send them.
func (o *Open) DropLeft(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left = slices.DeleteFunc(o.left, func(s pacer.Slot) bool {
		due := !now.Before(o.Epoch.Add(s.Due))
		if due {
			o.Ledger.Drop(s)
		}
		return due
	})
}

// DropRest drops what nobody has taken.
func (o *Open) DropRest() {
	for n := int(o.next.Add(1)) - 1; n < o.Pacer.Requests(); n = int(o.next.Add(1)) - 1 {
		o.Ledger.Drop(o.Pacer.Slot(n))
	}
}

// Abandoned reports whether the next request is too late to be sent and no sender is left to take it. Without
// this check such a run went on until k6 ended it.
func (o *Open) Abandoned(now time.Time) bool {
	n := int(o.next.Load())
	return n < o.Pacer.Requests() && o.Ledger.InFlight() == 0 && now.Sub(o.Epoch.Add(o.Pacer.Slot(n).Due)) > LateLimit
}
