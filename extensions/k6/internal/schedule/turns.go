package schedule

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// Turns hand out the requests of the closed model: each sender sends its next request when its last one has
// been answered, so a request is due when it is sent. The engine runs the phases and sets the Turn.
type Turns struct {
	*Course
	now     atomic.Pointer[Turn] // the current turn
	next    atomic.Int64         // the request that is taken next
	senders atomic.Int64         // senders that have started
	taking  atomic.Int64         // senders that have taken a request and not sent it yet
	active  atomic.Int64         // when a request was last taken or seen under way, ns since the epoch

	choice   sync.Once
	choosing bool           // senders choose the flow of each request
	byFlow   *pacer.Pacer   // numbers requests of chosen flows
	chosen   []atomic.Int64 // requests taken, by flow
}

// NewTurns makes Turns for a run with this many flows.
func NewTurns(c *Course, flows int) *Turns {
	t := &Turns{Course: c, byFlow: c.Pacer.ByFlow(), chosen: make([]atomic.Int64, flows)}
	t.To(Turn{})
	return t
}

// Turn is what the senders do now: how many of them send, until when, and how many requests.
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

// To starts another turn.
func (s *Turns) To(t Turn) *Turn {
	t.next = make(chan struct{})
	if last := s.now.Swap(&t); last != nil {
		close(last.next)
	}
	return &t
}

// Over reports whether there is nothing more to send; always false in the open model.
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

// overTurn is the turn of a run that was stopped.
var overTurn = &Turn{Over: true}

// TakeIn returns the next request of a sender if it is its turn, otherwise the turn whose end it must wait for.
func (s *Turns) TakeIn(ctx context.Context, sender, flow int) (slot pacer.Slot, instead *Turn) {
	s.taking.Add(1)
	t := s.now.Load()
	if s.IsHalted() || ctx.Err() != nil {
		t = overTurn
	}
	if now := time.Now(); !t.Over && t.take(sender, now) {
		s.active.Store(int64(now.Sub(s.Epoch)))
		slot = s.slot(flow)
		slot.Phase = t.Phase
		return slot, nil // counts as taking until it is sent
	}
	s.taking.Add(-1)
	return slot, t
}

// Taken records that a taken request has been sent or dropped.
func (s *Turns) Taken() {
	if s != nil {
		s.taking.Add(-1)
	}
}

// Idle reports whether every taken request has been sent.
func (s *Turns) Idle() bool { return s.taking.Load() == 0 }

// quiet reports whether no request is in flight or about to be: the ledger does not know a taken request whose
// body is still being made.
func (s *Turns) quiet() bool { return s.Idle() && s.Ledger.InFlight() == 0 }

// Look notes whether a request is under way. It is called periodically.
func (s *Turns) Look(now time.Time) {
	if s != nil && !s.quiet() {
		s.active.Store(int64(now.Sub(s.Epoch)))
	}
}

// idleLeast is how long nothing must have been under way before a phase counts as abandoned. Look is called more often.
const idleLeast = time.Second

// Abandoned reports whether a phase from begin on ended by its time, and no request was taken or under way in its
// second half. Senders that think as long, send once in a phase; otherwise none is left.
func (s *Turns) Abandoned(t *Turn, begin time.Time) bool {
	if t.Left != nil && t.Left.Load() <= 0 || s.IsHalted() || !s.quiet() {
		return false
	}
	last := s.Epoch.Add(time.Duration(s.active.Load()))
	return t.End.Sub(last) > max(idleLeast, t.End.Sub(begin)/2)
}

// Drawn is how many requests were taken.
func (s *Turns) Drawn() int {
	n := s.next.Load()
	for i := range s.chosen {
		n += s.chosen[i].Load()
	}
	return int(n)
}

// slot is the sender's next request: of the flow it wants, or the next in turn.
func (s *Turns) slot(flow int) pacer.Slot {
	if flow == 0 {
		return s.Pacer.Slot(int(s.next.Add(1)) - 1)
	}
	return s.byFlow.Slot(s.byFlow.Turn(flow-1, int(s.chosen[flow-1].Add(1))-1))
}

// Choose reports whether senders may choose flows (or, if not chosen, must not). The first sender decides for
// all, since both ways use the same numbers.
func (s *Turns) Choose(chosen bool) bool {
	s.choice.Do(func() {
		if s.choosing = chosen; chosen {
			s.Ledger.ByFlow(s.byFlow)
		}
	})
	return s.choosing == chosen
}

// Attend records that there is a sender, which uses TakeIn.
func (s *Turns) Attend() { s.senders.CompareAndSwap(0, 1) }

// Ending is the interval of the check whether a phase has ended before its time.
const Ending = time.Millisecond

// AwaitSender waits for the first sender, up to a limit: a script's own scenario may start later.
func (s *Turns) AwaitSender(ctx context.Context, limit time.Time) {
	for s.senders.Load() == 0 && time.Now().Before(limit) && clock.SleepUntil(ctx, s.Halted, time.Now().Add(Ending)) {
	}
}

// Last waits for the end of a turn and returns its time: its deadline, or when the last of its requests was
// answered.
func (s *Turns) Last(ctx context.Context, t *Turn) time.Time {
	if t.Left == nil {
		clock.SleepUntil(ctx, s.Halted, t.End)
		return t.End
	}
	for now := time.Now(); now.Before(t.End); now = time.Now() {
		if t.Left.Load() <= 0 && s.quiet() {
			return now
		}
		if !clock.SleepUntil(ctx, s.Halted, now.Add(Ending)) {
			break
		}
	}
	return t.End
}

// Drained waits until every request has been answered and every accepted message has arrived, and reports
// whether that happened by the limit.
func (s *Turns) Drained(ctx context.Context, limit time.Time) bool {
	for !s.quiet() || s.Ledger.Owed() > 0 {
		if time.Now().After(limit) || !clock.SleepUntil(ctx, s.Halted, time.Now().Add(Ending)) {
			return false
		}
	}
	return true
}
