package record

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
)

// desk hands requests to the caller of a recorder and receives their results.
type desk struct {
	*recording

	mu       sync.Mutex
	tickets  map[int]*ticket // by the request's number; removed when the caller settles it
	underWay int             // handed out, and neither settled nor dropped
	asks     []ask           // closed model: callers' next lines that wait for their turn
	over     bool            // the caller has ended the load
	changed  chan struct{}   // closed model: holds a token when something may be handed out
}

// ticket is a request that the caller has.
type ticket struct {
	*engine.Request
	sent    time.Time // zero: not yet
	dropped bool      // it was not sent in time
}

// ask is a next line of the closed model.
type ask struct {
	flow int // from 1; 0: the next in turn
	id   json.RawMessage
}

// draw hands out the next n requests of the open model, ahead of their due times.
func (d *desk) draw(ctx context.Context, n int) []slotLine {
	lines := []slotLine{}
	for range n {
		r := d.run.Next(ctx)
		if r == nil {
			break
		}
		if line, ok := d.hand(r); ok {
			lines = append(lines, line)
		}
	}
	return lines
}

// hand gives a request to the caller, who holds it until it is settled. After the end of the load it drops it
// instead.
func (d *desk) hand(r *engine.Request) (slotLine, bool) {
	t := &ticket{Request: r}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.underWay++
	if d.over {
		d.drop(t)
		return slotLine{}, false
	}
	d.tickets[r.N] = t
	return slotLine{N: r.N, DueUS: d.clock.us(r.Due), Phase: r.Phase, Messages: r.Messages, Content: r.Content}, true
}

// hold takes a request that the caller tells. After the end of the load it is dropped.
func (d *desk) hold(r *engine.Request) {
	t := &ticket{Request: r}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.underWay++
	d.tickets[r.N] = t
	if d.over {
		d.drop(t)
	}
}

func errNotUnderWay(n int) error {
	return fmt.Errorf("request %d is not under way: it was not handed out, or is settled already", n)
}

func (d *desk) sent(n int, at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tickets[n]
	switch {
	case t == nil:
		return errNotUnderWay(n)
	case t.dropped:
		d.run.TooLate(t.Request)
		return nil
	case !t.sent.IsZero():
		return fmt.Errorf("request %d was sent already", n)
	}
	t.sent = at
	d.run.Sent(t.Request, at, d.release)
	return nil
}

// unsent drops a request that the caller will not send, and notes why.
func (d *desk) unsent(n int, why string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tickets[n]
	switch {
	case t == nil:
		return errNotUnderWay(n)
	case !t.sent.IsZero():
		return fmt.Errorf("request %d was sent already, so it can't be unsent; allowed: settled", n)
	}
	delete(d.tickets, n)
	if !t.dropped {
		d.drop(t)
	}
	d.run.Unsent(why)
	return nil
}

func (d *desk) settled(n, retries int, a send.Result) error {
	d.mu.Lock()
	t := d.tickets[n]
	delete(d.tickets, n)
	d.mu.Unlock()
	switch {
	case t == nil:
		return errNotUnderWay(n)
	case t.dropped:
		return nil
	case t.sent.IsZero():
		return fmt.Errorf("request %d was settled, but not sent", n)
	case a.Done.Before(t.sent):
		return fmt.Errorf("request %d was settled %.3f s before it was sent", n, t.sent.Sub(a.Done).Seconds())
	}
	d.run.Settle(t.Request, a, retries)
	return nil
}

// dropUnsent drops requests that are too late to be sent.
func (d *desk) dropUnsent(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.tickets {
		if t.sent.IsZero() && !t.dropped && (d.over || now.Sub(t.Due) > schedule.LateLimit) {
			d.drop(t)
		}
	}
}

// drop drops a request that was taken. The lock is held.
func (d *desk) drop(t *ticket) {
	t.dropped = true
	d.run.Drop(t.Request)
	d.underWay--
	d.wake()
}

// release counts a request as done.
func (d *desk) release() {
	d.mu.Lock()
	d.underWay--
	d.mu.Unlock()
	d.wake()
}

func (d *desk) wake() {
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// end drops the requests that were not sent, and those that were not taken.
func (d *desk) end() {
	d.mu.Lock()
	d.over = true
	d.mu.Unlock()
	d.dropUnsent(time.Now())
	d.run.DropRest()
}

// ask queues for a request of the closed model.
func (d *desk) ask(a ask) {
	d.mu.Lock()
	d.asks = append(d.asks, a)
	d.mu.Unlock()
	d.wake()
}

// serve answers asks in order: when fewer requests are in flight than the phase has VUs, or when there are no
// more requests.
func (d *desk) serve(ctx context.Context) {
	for ctx.Err() == nil {
		d.mu.Lock()
		var first *ask
		if len(d.asks) > 0 {
			first = &d.asks[0]
		}
		sender := d.underWay + 1
		d.mu.Unlock()
		var another <-chan struct{}
		if first != nil {
			var r *engine.Request
			if r, another = d.run.Turn(ctx, sender, first.flow); another == nil {
				d.answer(r)
				continue
			}
		}
		select {
		case <-d.changed:
		case <-another:
		case <-ctx.Done():
		}
	}
}

// answer answers the first ask, with request r unless it is nil.
func (d *desk) answer(r *engine.Request) {
	d.mu.Lock()
	first := d.asks[0]
	d.asks = d.asks[1:]
	d.mu.Unlock()
	lines := []slotLine{}
	if r != nil {
		if line, ok := d.hand(r); ok {
			lines = append(lines, line)
		}
	}
	d.out.writeLine(slotsLine{lines, first.id})
}
