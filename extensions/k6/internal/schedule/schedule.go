// Package schedule hands out the requests of a run: in the open model when each is due, in the closed model
// when its sender has its turn.
package schedule

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// Course is the shared schedule of a run: due times, the ledger and the clock.
type Course struct {
	Pacer   *pacer.Pacer
	Ledger  *ledger.Ledger
	Clock   *clock.Clock
	Epoch   time.Time     // the beginning of the schedule
	Started chan struct{} // closed when the subscribers hold their topics; Epoch is set before
	Halted  chan struct{} // closed when sending more has no use

	halting sync.Once
}

// New makes a Course that has not started.
func New(due *pacer.Pacer) *Course {
	return &Course{Pacer: due, Clock: clock.New(), Started: make(chan struct{}), Halted: make(chan struct{})}
}

// Start releases the senders, from the epoch on.
func (c *Course) Start() {
	c.Ledger.Start(c.Clock.At(c.Epoch))
	c.Clock.Begin()
	close(c.Started)
}

// Elapsed is the time since the epoch; 0 before it.
func (c *Course) Elapsed() time.Duration {
	if !IsClosed(c.Started) {
		return 0
	}
	return max(0, time.Since(c.Epoch))
}

// Halt ends the load, and reports whether it was the first to do so.
func (c *Course) Halt() (first bool) {
	c.halting.Do(func() {
		close(c.Halted)
		first = true
	})
	return first
}

// IsHalted reports whether the load was halted.
func (c *Course) IsHalted() bool { return IsClosed(c.Halted) }

// IsClosed reports whether a channel on which nothing is sent is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

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

// DropLeft drops requests that were put aside, when they are due: no sender will take them.
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

// DropRest drops the requests that no sender has taken.
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

// gate releases senders when their requests are due. One goroutine waits for all of them: a timer for each
// request took a fifth of a pump's CPU, most of it in the kernel.
type gate struct {
	mu      sync.Mutex
	waiting []*Waiter     // in the order of their due times
	first   chan struct{} // holds a token when waiting is no longer empty
}

// Waiter is a sender that waits for its next request.
type Waiter struct {
	due  time.Time
	turn chan struct{} // holds a token when it is due

	number int // the sender's in the closed model, from 1; 0: it has not sent yet
	Flow   int // the flow it wants in the closed model, from 1; 0: the next in turn
}

// NewWaiter makes a Waiter that wants the next flow in turn.
func NewWaiter() *Waiter { return &Waiter{turn: make(chan struct{}, 1)} }

// atOnce is the span within which the gate opens once. Above 20,000 requests per second each is late by up to
// this, which is less than the oversleep of 50 µs that the kernel may add.
const atOnce = 50 * time.Microsecond

func newGate() *gate { return &gate{first: make(chan struct{}, 1)} }

// tend opens the gate until ctx ends.
func (g *gate) tend(ctx context.Context) {
	for {
		g.mu.Lock()
		var due time.Time
		if len(g.waiting) > 0 {
			due = g.waiting[0].due
		}
		g.mu.Unlock()
		if due.IsZero() {
			select {
			case <-g.first:
				continue
			case <-ctx.Done():
				return
			}
		}
		if soonest := time.Now().Add(atOnce); due.Before(soonest) {
			due = soonest
		}
		if !clock.SleepUntil(ctx, nil, due) {
			return
		}
		g.open(time.Now())
	}
}

// open releases the senders that are due.
func (g *gate) open(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for n < len(g.waiting) && !g.waiting[n].due.After(now) {
		g.waiting[n].turn <- struct{}{}
		n++
	}
	clear(g.waiting[:n])
	g.waiting = g.waiting[n:]
}

// wait returns when w is due; false when ctx ends or halted closes first.
func (g *gate) wait(ctx context.Context, halted <-chan struct{}, w *Waiter, due time.Time) bool {
	if !time.Now().Before(due) {
		return clock.GoesOn(ctx, halted)
	}
	w.due = due
	if !g.join(w) {
		return clock.SleepUntil(ctx, halted, due)
	}
	select {
	case <-w.turn:
		return clock.GoesOn(ctx, halted)
	case <-ctx.Done():
	case <-halted:
	}
	g.remove(w)
	return false
}

// remove takes w out, so that it can wait again: a second token would block the gate.
func (g *gate) remove(w *Waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = slices.DeleteFunc(g.waiting, func(other *Waiter) bool { return other == w })
	select {
	case <-w.turn:
	default:
	}
}

// join appends w. It refuses one that is due before another, since the gate would open too late for it. Senders
// take requests in order, so that is rare.
func (g *gate) join(w *Waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(g.waiting)
	if n > 0 && w.due.Before(g.waiting[n-1].due) {
		return false
	}
	g.waiting = append(g.waiting, w)
	if n == 0 {
		select {
		case g.first <- struct{}{}:
		default:
		}
	}
	return true
}
