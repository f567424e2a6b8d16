package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
)

type given struct {
	slot  pacer.Slot
	sent  time.Time
	taker context.Context // the context of the script's iteration that took it
	over  func()          // called when it is settled; may be nil
}

// Content is what a request consists of, for those who send it.
type Content struct {
	IDs     []string `js:"ids" json:"ids"`
	Targets []string `js:"targets" json:"targets"`
	Flow    string   `js:"flow" json:"flow"`
	Path    string   `js:"path" json:"path"`
	Body    string   `js:"body" json:"body"`

	Traceparent string `js:"traceparent" json:"traceparent,omitempty"`
}

// settleGrace is added to the time-out of a request before the run gives it up: the script's own time-out is as
// long, and its result says more.
const settleGrace = time.Second

// handles are the requests that others have sent and not yet settled.
type handles struct {
	mu   sync.Mutex
	open map[*given]struct{}
}

func (s *handles) add(h *given) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*given]struct{}{}
	}
	s.open[h] = struct{}{}
}

// remove removes a request, and reports whether it was unsettled.
func (s *handles) remove(h *given) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, open := s.open[h]
	delete(s.open, h)
	return open
}

// overdue removes the requests whose taker has ended and those that exceed their time-out.
func (s *handles) overdue(now time.Time, patience time.Duration) (ended, late []*given) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.open {
		switch {
		case h.taker.Err() != nil:
			ended = append(ended, h)
		case now.Sub(h.sent) > patience:
			late = append(late, h)
		default:
			continue
		}
		delete(s.open, h)
	}
	return ended, late
}

// Handle is a request that a script has taken and sends itself.
type Handle struct {
	Content
	Stamp float64 // when it was taken, on the clock of Redis, µs; 0: the run has no such clock
	given given
}

// giveUp settles overdue requests as unknown.
func (s *sending) giveUp(now time.Time) {
	patience := s.timeout + settleGrace
	ended, late := s.handles.overdue(now, patience)
	for _, h := range ended {
		s.notes.Count("request", "not settled", "the iteration ended without run.settle(): did it throw? k6's log says it")
		s.conclude(h, ledger.Unknown)
	}
	for _, h := range late {
		s.notes.Count("request", "not settled", fmt.Sprintf("not settled within %s", patience))
		s.conclude(h, ledger.Unknown)
	}
}

// conclude settles a request that has been removed.
func (s *sending) conclude(h *given, outcome ledger.Outcome) {
	s.Ledger.Settle(h.slot, outcome)
	if h.over != nil {
		h.over()
	}
}

func (s *sending) depart(h *given, at time.Time) {
	h.sent = at
	s.sent(h.slot, at)
	s.handles.add(h)
}

// settle records the answer to a request. It does nothing for one that was given up.
func (s *sending) settle(h *given, a send.Result) {
	if s.handles.remove(h) {
		s.conclude(h, s.answered(h.slot, a, h.sent))
	}
}

func (s *sending) content(slot pacer.Slot) Content {
	c := Content{
		Flow: s.options.profile.Flows[slot.Flow].Name, Body: string(s.parts.Bodies.Append(nil, slot)),
	}
	for i := range slot.Messages {
		c.IDs = append(c.IDs, s.parts.Bodies.ID(slot.FirstID+i))
		c.Targets = append(c.Targets, string(s.parts.Bodies.AppendTarget(nil, slot, i)))
	}
	c.Path = s.options.Ingest.BatchPath
	if slot.Messages == 1 {
		c.Path = strings.Replace(s.options.Ingest.Path, send.Target, c.Targets[0], 1)
	}
	if s.traced() {
		c.Traceparent = string(s.appendParent(nil, slot))
	}
	return c
}

// flowNumber returns the number of the flow that a closed-model sender chooses, from 1; 0: no name.
func (s *sending) flowNumber(name string) (int, error) {
	number := 0
	if name != "" {
		number = 1 + slices.IndexFunc(s.options.profile.Flows,
			func(f profile.Flow) bool { return f.Name == name && f.Weight > 0 })
		if number == 0 || !s.Pacer.Closed() {
			return 0, errors.New("a flow can be chosen in the closed model, " +
				"if the profile has it with a weight above 0")
		}
	}
	if s.Pacer.Closed() && !s.turns.Choose(number > 0) {
		return 0, errors.New("a flow is chosen in each call of a run, or in none")
	}
	return number, nil
}

// next takes the next request when it is due; nil: none is left, or the VU stopped.
func (s *sending) next(ctx context.Context, w *schedule.Waiter) *Handle {
	slot, ok := s.take(ctx, w)
	if !ok {
		return nil
	}
	h := &Handle{Content: s.content(slot), given: given{slot: slot, taker: ctx}}
	now := time.Now()
	if s.options.Redis.URL != "" {
		at := s.Clock.At(now)
		h.Stamp = float64(at + s.Clock.Offset(at))
	}
	s.depart(&h.given, now)
	return h
}

// FlowNumber returns the number of the flow that a closed-model sender chooses, from 1; 0: no name.
func (e *Engine) FlowNumber(name string) (int, error) { return e.sending.flowNumber(name) }

// SentBy notes the scenario of a VU that sends by next().
func (e *Engine) SentBy(s *lib.ScenarioState) { e.sending.executors.note(s) }

// Next takes the next request when it is due; nil: none is left, or the VU stopped.
func (e *Engine) Next(ctx context.Context, w *schedule.Waiter) *Handle { return e.sending.next(ctx, w) }

// Settle records the status of the answer to a request; 0: none came.
func (e *Engine) Settle(h *Handle, status int) {
	e.sending.settle(&h.given, send.Result{Status: status, Body: func() []byte { return nil }, Done: time.Now()})
}

// Pump sends until the schedule is empty, without running JavaScript.
func (e *Engine) Pump(ctx context.Context, state *lib.State) { e.sending.pump(ctx, state) }
