package schedule

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
)

// gate releases senders when their requests are due. One goroutine waits for all of them: a timer for each
// request took a fifth of a pump's CPU, most of it in the kernel.
type gate struct {
	mu      sync.Mutex
	waiting []*Waiter     // in the order of their due times
	first   chan struct{} // holds a token when waiting is no longer empty
}

type Waiter struct {
	due  time.Time
	turn chan struct{} // holds a token when it is due

	number int // of the sender in the closed model, from 1; 0: it has not sent yet
	Flow   int // the flow it wants in the closed model, from 1; 0: the next in turn
}

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
