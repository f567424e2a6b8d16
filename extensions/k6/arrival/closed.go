package arrival

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// The closed model: each sender sends its next request when its last one has been answered, so a message is due when it is sent.
// How long a phase takes that ends with a number of requests, or with everything having arrived, is up to what is under test. k6's
// executors want to know it beforehand, so the run leads its phases itself.

// turn is what the senders of the closed model are to do now.
type turn struct {
	phase int
	vus   int // senders that send; 0: all wait
	end   time.Time
	left  *atomic.Int64 // requests that may still be taken; nil: no limit
	over  bool          // there is nothing more to send
	next  chan struct{} // closed when another turn begins
}

// take reports whether one more request may be sent in the turn.
func (t *turn) take(sender int, now time.Time) bool {
	return sender <= t.vus && now.Before(t.end) && (t.left == nil || t.left.Add(-1) >= 0)
}

// spent reports whether the turn's requests have all been taken.
func (t *turn) spent() bool { return t.left.Load() <= 0 }

// turnTo begins another turn.
func (e *engine) turnTo(t turn) *turn {
	t.next = make(chan struct{})
	if last := e.turn.Swap(&t); last != nil {
		close(last.next)
	}
	return &t
}

// takeNow returns the next request of a sender in the closed model; it is due now.
func (e *engine) takeNow(ctx context.Context, w *waiter) (slot pacer.Slot, ok bool) {
	if !e.choose(w.flow > 0) {
		e.count("request", "not sent", "the flows of this run's requests are chosen by run.next(flow), so there are none to send in turn")
		return slot, false
	}
	if w.number == 0 {
		w.number = int(e.senders.Add(1))
	}
	for {
		slot, t := e.takeIn(ctx, w.number, w.flow)
		if t == nil || t.over {
			return slot, t == nil
		}
		select {
		case <-t.next:
		case <-e.halted:
		case <-ctx.Done():
		}
	}
}

// overTurn stands for the turn of a run that has been stopped.
var overTurn = &turn{over: true}

// takeIn returns the next request of a sender where it is its turn, and else the turn that it has to wait for the end of.
func (e *engine) takeIn(ctx context.Context, sender, flow int) (slot pacer.Slot, instead *turn) {
	e.taking.Add(1)
	t := e.turn.Load()
	if e.isHalted() || ctx.Err() != nil {
		t = overTurn
	}
	if !t.over && t.take(sender, time.Now()) {
		slot = e.slotOf(flow)
		slot.Phase = t.phase
		return slot, nil // taking until it is sent
	}
	e.taking.Add(-1)
	return slot, t
}

// sent notes a request that leaves now.
func (e *engine) sent(slot pacer.Slot, at time.Time) {
	e.ledger.Sent(slot, e.clock.At(at))
	if e.pacer.Closed() {
		e.taking.Add(-1)
	}
}

// drop drops a request that was taken, and will not be sent.
func (e *engine) drop(slot pacer.Slot) {
	e.ledger.Drop(slot)
	if e.pacer.Closed() {
		e.taking.Add(-1)
	}
}

// quiet reports whether no request is under way, nor about to be: the ledger does not know one yet that has been taken and whose body
// is being made.
func (e *engine) quiet() bool { return e.taking.Load() == 0 && e.ledger.InFlight() == 0 }

// slotOf is the request that a sender takes: of the flow it wants, or the next in turn.
func (e *engine) slotOf(flow int) pacer.Slot {
	if flow == 0 {
		return e.pacer.Slot(int(e.next.Add(1)) - 1)
	}
	return e.byFlow.Slot(e.byFlow.Turn(flow-1, int(e.chosen[flow-1].Add(1))-1))
}

// choose reports whether the senders may choose the flow of their requests, or leave it: the first one decides for all, since the
// numbers of the one and of the other are the same.
func (e *engine) choose(chosen bool) bool {
	e.choice.Do(func() {
		if e.choosing = chosen; chosen {
			e.ledger.ByFlow(e.byFlow)
		}
	})
	return e.choosing == chosen
}

// ending is how often it is looked whether a phase has ended that does not end with its time.
const ending = time.Millisecond

// lead leads the phases of the closed model, one after the other.
func (e *engine) lead(ctx context.Context, client *store) {
	defer e.turnTo(turn{over: true})
	begin := e.opening(ctx)
	for i, p := range e.options.profile.Phases {
		if !sleepUntil(ctx, e.halted, begin) {
			return
		}
		end := begin.Add(p.Duration)
		latest := end.Add(p.Drain)
		now := turn{phase: i, vus: e.segment.scale(p.VUs), end: end}
		if p.Requests > 0 {
			now.left = new(atomic.Int64)
			now.left.Store(int64(e.segment.scaleShared(p.Requests, p.VUs)))
		}
		e.beginSpan(i, begin, end)
		end = e.last(ctx, e.turnTo(now))
		if now := time.Now(); e.external != nil && e.external.hasEnded() && now.Before(end) {
			end = now
		}
		e.endSpan(i, end, e.ledger.Owed())
		begin = end
		if p.Drain > 0 {
			e.turnTo(turn{})
			if e.drained(ctx, end.Add(p.Drain)) {
				e.drainSpan(i, time.Since(end))
			}
			begin = time.Now()
		}
		if e.waitsAfter(i) {
			begin = e.together(ctx, client, i+1, latest.Add(phaseWait))
		}
	}
	sleepUntil(ctx, e.halted, begin)
}

// waitsAfter reports whether the instances of a run wait for each other after a phase: each ends it when its own requests have been
// answered, and what it has sent has arrived.
func (e *engine) waitsAfter(i int) bool {
	p := e.options.profile.Phases[i]
	return e.segment != nil && i+1 < len(e.options.profile.Phases) && (p.Requests > 0 || p.Drain > 0)
}

// waits is how long all of that can take.
func (e *engine) waits() (d time.Duration) {
	for i := range e.options.profile.Phases {
		if e.waitsAfter(i) {
			d += phaseWait + phaseLead
		}
	}
	return d
}

// opening is when the first phase begins: with the epoch, or with the first sender, where a scenario of the script's own begins later.
func (e *engine) opening(ctx context.Context) time.Time {
	for e.segment == nil && e.senders.Load() == 0 && time.Since(e.epoch) < LateLimit {
		if !sleepUntil(ctx, e.halted, time.Now().Add(ending)) {
			break
		}
	}
	if now := time.Now(); now.After(e.epoch) {
		return now
	}
	return e.epoch
}

// last returns when a turn has ended, and when that was: after its time, or when the last of its requests has been answered.
func (e *engine) last(ctx context.Context, t *turn) time.Time {
	if t.left == nil {
		sleepUntil(ctx, e.halted, t.end)
		return t.end
	}
	for now := time.Now(); now.Before(t.end); now = time.Now() {
		if t.spent() && e.quiet() {
			return now
		}
		if !sleepUntil(ctx, e.halted, now.Add(ending)) {
			break
		}
	}
	return t.end
}

// drained waits until every request has been answered and everything that was accepted has arrived, and reports whether that came about.
func (e *engine) drained(ctx context.Context, limit time.Time) bool {
	for !e.quiet() || e.ledger.Owed() > 0 {
		if time.Now().After(limit) || !sleepUntil(ctx, e.halted, time.Now().Add(ending)) {
			return false
		}
	}
	return true
}

// closedScenario is the one of the senders: each has one iteration, which lasts as long as the load.
func (e *engine) closedScenario(how scenarioOptions, patience time.Duration) map[string]any {
	p := e.options.profile
	vus := e.segment.scale(p.Most())
	if how.Pump {
		vus = (vus + e.options.InFlight - 1) / e.options.InFlight
	}
	return map[string]any{
		"executor": "per-vu-iterations", "exec": "sender", "vus": e.segment.unscale(vus), "iterations": 1,
		"maxDuration": wholeSeconds(e.startup() + p.Duration() + p.Drains() + e.waits() + patience), "gracefulStop": wholeSeconds(patience),
	}
}

// span is a phase as it went. Times are since the epoch.
type span struct {
	begun      bool
	start, end time.Duration
	backlog    *int     // deliveries owed at its end; nil: it has not ended
	drained    *float64 // seconds from its end until nothing was owed; nil: it was not waited for, or in vain
}

// planSpans lays out the phases of the open model, which are known beforehand.
func (e *engine) planSpans() {
	e.spans = make([]span, len(e.options.profile.Phases))
	if e.pacer.Closed() {
		return
	}
	start := time.Duration(0)
	for i, p := range e.options.profile.Phases {
		e.spans[i] = span{begun: true, start: start, end: start + p.Duration}
		start += p.Duration
	}
}

func (e *engine) beginSpan(i int, start, end time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spans[i] = span{begun: true, start: start.Sub(e.epoch), end: end.Sub(e.epoch)}
}

func (e *engine) endSpan(i int, end time.Time, owed int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spans[i].end, e.spans[i].backlog = end.Sub(e.epoch), &owed
}

func (e *engine) drainSpan(i int, took time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spans[i].drained = new(took.Seconds())
}

// noteBacklogs keeps what is owed when phases of the open model end.
func (e *engine) noteBacklogs(now time.Time) {
	if e.pacer.Closed() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.spans {
		if s := &e.spans[i]; s.backlog == nil && now.Sub(e.epoch) >= s.end {
			s.backlog = new(e.ledger.Owed())
		}
	}
}

// spansUntil are the phases as far as a run came that goes on, or was stopped.
func (e *engine) spansUntil(ran time.Duration) []span {
	spans := e.spansNow()
	for i := range spans {
		s := &spans[i]
		if s.begun = s.begun && s.start < ran; s.end > ran {
			s.end, s.backlog, s.drained = ran, nil, nil
		}
	}
	return spans
}

// spansNow is a copy of the phases as they went so far; those of the open model are there from the start.
func (e *engine) spansNow() []span {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]span{}, e.spans...)
}
