package schedule

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// Turns hand out the requests of the closed model: each sender sends its next one when its last one has been answered, so a message is due
// when it is sent. They know no phases: who leads the run says whose turn it is.
type Turns struct {
	*Course
	now     atomic.Pointer[Turn] // what is to be done now
	next    atomic.Int64         // the request that is taken next
	senders atomic.Int64         // those that have come to send
	taking  atomic.Int64         // those that take a request, and have not sent it yet

	choice   sync.Once
	choosing bool           // senders choose the flow of each request
	byFlow   *pacer.Pacer   // numbers these
	chosen   []atomic.Int64 // them, by flow
}

// NewTurns makes them for a run with so many flows.
func NewTurns(c *Course, flows int) *Turns {
	t := &Turns{Course: c, byFlow: c.Pacer.ByFlow(), chosen: make([]atomic.Int64, flows)}
	t.To(Turn{})
	return t
}

// Turn is what the senders are to do now.
type Turn struct {
	Phase int
	VUs   int // senders that send; 0: all wait
	End   time.Time
	Left  *atomic.Int64 // requests that may still be taken; nil: no limit
	Over  bool          // there is nothing more to send
	next  chan struct{} // closed when another turn begins
}

// take reports whether one more request may be sent in the turn.
func (t *Turn) take(sender int, now time.Time) bool {
	return sender <= t.VUs && now.Before(t.End) && (t.Left == nil || t.Left.Add(-1) >= 0)
}

// Next is closed when another turn begins.
func (t *Turn) Next() <-chan struct{} { return t.next }

// spent reports whether the turn's requests have all been taken.
func (t *Turn) spent() bool { return t.Left.Load() <= 0 }

// To begins another turn.
func (s *Turns) To(t Turn) *Turn {
	t.next = make(chan struct{})
	if last := s.now.Swap(&t); last != nil {
		close(last.next)
	}
	return &t
}

// Over reports whether there is nothing more to send; the open model does not say so here.
func (s *Turns) Over() bool { return s != nil && s.now.Load().Over }

// Take returns the next request of a sender; it is due now.
func (s *Turns) Take(ctx context.Context, w *Waiter) (slot pacer.Slot, ok bool) {
	if w.number == 0 {
		w.number = int(s.senders.Add(1))
	}
	for {
		slot, t := s.TakeIn(ctx, w.number, w.Flow)
		if t == nil || t.Over {
			return slot, t == nil
		}
		select {
		case <-t.next:
		case <-s.Halted:
		case <-ctx.Done():
		}
	}
}

// overTurn stands for the turn of a run that has been stopped.
var overTurn = &Turn{Over: true}

// TakeIn returns the next request of a sender where it is its turn, and else the turn that it has to wait for the end of.
func (s *Turns) TakeIn(ctx context.Context, sender, flow int) (slot pacer.Slot, instead *Turn) {
	s.taking.Add(1)
	t := s.now.Load()
	if s.IsHalted() || ctx.Err() != nil {
		t = overTurn
	}
	if !t.Over && t.take(sender, time.Now()) {
		slot = s.slot(flow)
		slot.Phase = t.Phase
		return slot, nil // taking until it is sent
	}
	s.taking.Add(-1)
	return slot, t
}

// Taken notes that a request that was taken has been sent, or dropped.
func (s *Turns) Taken() {
	if s != nil {
		s.taking.Add(-1)
	}
}

// Idle reports whether no request has been taken that is not sent yet.
func (s *Turns) Idle() bool { return s.taking.Load() == 0 }

// quiet reports whether no request is under way, nor about to be: the ledger does not know one yet that has been taken and whose body
// is being made.
func (s *Turns) quiet() bool { return s.Idle() && s.Ledger.InFlight() == 0 }

// slot is the request that a sender takes: of the flow it wants, or the next in turn.
func (s *Turns) slot(flow int) pacer.Slot {
	if flow == 0 {
		return s.Pacer.Slot(int(s.next.Add(1)) - 1)
	}
	return s.byFlow.Slot(s.byFlow.Turn(flow-1, int(s.chosen[flow-1].Add(1))-1))
}

// Choose reports whether the senders may choose the flow of their requests, or leave it: the first one decides for all, since the
// numbers of the one and of the other are the same.
func (s *Turns) Choose(chosen bool) bool {
	s.choice.Do(func() {
		if s.choosing = chosen; chosen {
			s.Ledger.ByFlow(s.byFlow)
		}
	})
	return s.choosing == chosen
}

// Attend notes that there is a sender, which asks by TakeIn.
func (s *Turns) Attend() { s.senders.CompareAndSwap(0, 1) }

// Ending is how often it is looked whether a phase has ended that does not end with its time.
const Ending = time.Millisecond

// AwaitSender waits for the first sender, which a scenario of the script's own may begin later, until a limit.
func (s *Turns) AwaitSender(ctx context.Context, limit time.Time) {
	for s.senders.Load() == 0 && time.Now().Before(limit) && clock.SleepUntil(ctx, s.Halted, time.Now().Add(Ending)) {
	}
}

// Last returns when a turn has ended, and when that was: after its time, or when the last of its requests has been answered.
func (s *Turns) Last(ctx context.Context, t *Turn) time.Time {
	if t.Left == nil {
		clock.SleepUntil(ctx, s.Halted, t.End)
		return t.End
	}
	for now := time.Now(); now.Before(t.End); now = time.Now() {
		if t.spent() && s.quiet() {
			return now
		}
		if !clock.SleepUntil(ctx, s.Halted, now.Add(Ending)) {
			break
		}
	}
	return t.End
}

// Drained waits until every request has been answered and everything that was accepted has arrived, and reports whether that came about.
func (s *Turns) Drained(ctx context.Context, limit time.Time) bool {
	for !s.quiet() || s.Ledger.Owed() > 0 {
		if time.Now().After(limit) || !clock.SleepUntil(ctx, s.Halted, time.Now().Add(Ending)) {
			return false
		}
	}
	return true
}
