package arrival

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
)

// desk hands requests out to the caller of a recorder, and takes back what became of them.
type desk struct {
	*recording

	mu       sync.Mutex
	tickets  map[int]*ticket // by the request's number; gone when the caller has settled it
	unsent   []*ticket       // in the order in which they were handed out; some have left meanwhile
	underWay int             // closed model: handed out, and neither settled nor dropped
	asks     []ask           // closed model: that wait for their turn
	over     bool            // the caller has ended the load
	changed  chan struct{}   // closed model: holds a token when something may be handed out
}

// ticket is a request that the caller has.
type ticket struct {
	given
	due   time.Time
	state ticketState
}

type ticketState uint8

const (
	handedOut ticketState = iota
	hasLeft
	wasDropped // it was not sent in time
)

// ask is a next line of the closed model.
type ask struct {
	flow int // from 1; 0: the next in turn
	id   json.RawMessage
}

func newDesk(r *recording) *desk {
	return &desk{recording: r, tickets: map[int]*ticket{}, changed: make(chan struct{}, 1)}
}

// draw hands out so many of the next requests of the open model, ahead of their time.
func (d *desk) draw(ctx context.Context, n int) []slotLine {
	lines := []slotLine{}
	for range n {
		slot, due, ok := d.engine.draw(ctx)
		if !ok {
			break
		}
		if line, ok := d.hand(ctx, slot, due); ok {
			lines = append(lines, line)
		}
	}
	return lines
}

// hand gives a request to the caller, who has it until it is settled. It drops it instead where the load has ended meanwhile.
func (d *desk) hand(ctx context.Context, slot pacer.Slot, due time.Time) (slotLine, bool) {
	e := d.engine
	t := &ticket{given: given{slot: slot, taker: ctx}, due: due}
	if e.pacer.Closed() {
		t.given.over = d.release
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.underWay++
	if d.over {
		d.drop(t)
		return slotLine{}, false
	}
	d.tickets[slot.N] = t
	d.unsent = append(d.unsent, t)
	return slotLine{
		N: slot.N, DueUS: d.clock.us(due), Phase: e.options.profile.Phases[slot.Phase].Name, Messages: slot.Messages, content: e.content(slot),
	}, true
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
	case t.state == wasDropped:
		d.engine.count("request", "sent too late", fmt.Sprintf("request %d was sent after it had been dropped", n))
		return nil
	case t.state == hasLeft:
		return fmt.Errorf("request %d was sent already", n)
	}
	t.state = hasLeft
	d.engine.depart(&t.given, at)
	return nil
}

func (d *desk) settled(n, retries int, a send.Answer) error {
	d.mu.Lock()
	t := d.tickets[n]
	delete(d.tickets, n)
	d.mu.Unlock()
	switch {
	case t == nil:
		return errNotUnderWay(n)
	case t.state == wasDropped:
		return nil
	case t.state == handedOut:
		return fmt.Errorf("request %d was settled, but not sent", n)
	case a.Done.Before(t.sent):
		return fmt.Errorf("request %d was settled %.3f s before it was sent", n, t.sent.Sub(a.Done).Seconds())
	}
	for range retries {
		d.engine.ledger.Retried()
	}
	d.engine.settle(&t.given, a)
	return nil
}

// dropUnsent drops what was due so long ago that it does not count any more.
func (d *desk) dropUnsent(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for ; n < len(d.unsent); n++ {
		t := d.unsent[n]
		if t.state != handedOut {
			continue
		}
		if now.Sub(t.due) <= lateLimit {
			break
		}
		d.drop(t)
	}
	d.unsent = d.unsent[n:]
}

// drop drops a request that was taken. The lock is held.
func (d *desk) drop(t *ticket) {
	t.state = wasDropped
	d.engine.ledger.Drop(t.slot)
	d.underWay--
	if d.engine.pacer.Closed() {
		d.engine.taking.Add(-1)
		d.wake()
	}
}

// release notes in the closed model that a request is under way no more.
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

// end drops what has not been sent, and what has not been taken.
func (d *desk) end() {
	e := d.engine
	d.mu.Lock()
	d.over = true
	for _, t := range d.unsent {
		if t.state == handedOut {
			d.drop(t)
		}
	}
	d.unsent = nil
	d.mu.Unlock()
	for n := int(e.next.Add(1)) - 1; !e.pacer.Closed() && n < e.pacer.Requests(); n = int(e.next.Add(1)) - 1 {
		e.ledger.Drop(e.pacer.Slot(n))
	}
}

// ask queues for a request of the closed model.
func (d *desk) ask(a ask) {
	d.engine.senders.CompareAndSwap(0, 1) // the first phase waits for it
	d.mu.Lock()
	d.asks = append(d.asks, a)
	d.mu.Unlock()
	d.wake()
}

// serve answers asks in their order: when fewer requests are under way than the phase has VUs, or when there will be no more.
func (d *desk) serve(ctx context.Context) {
	e := d.engine
	for ctx.Err() == nil {
		d.mu.Lock()
		var first *ask
		if len(d.asks) > 0 {
			first = &d.asks[0]
		}
		sender := d.underWay + 1
		d.mu.Unlock()
		var next, halted <-chan struct{}
		if first != nil {
			slot, turn := e.takeIn(ctx, sender, first.flow)
			if turn == nil || turn.over {
				d.answer(ctx, slot, turn == nil)
				continue
			}
			next, halted = turn.next, e.halted
		}
		select {
		case <-d.changed:
		case <-next:
		case <-halted:
		case <-ctx.Done():
		}
	}
}

// answer answers the first ask, with a request if it is given one.
func (d *desk) answer(ctx context.Context, slot pacer.Slot, taken bool) {
	d.mu.Lock()
	first := d.asks[0]
	d.asks = d.asks[1:]
	d.mu.Unlock()
	lines := []slotLine{}
	if taken {
		if line, ok := d.hand(ctx, slot, time.Now()); ok {
			lines = append(lines, line)
		}
	}
	d.out.sayLine(slotsLine{lines, first.id})
}
