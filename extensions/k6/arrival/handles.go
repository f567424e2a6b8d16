package arrival

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// slotHandle is a request that a script sends itself.
type slotHandle struct {
	slot pacer.Slot
	IDs  []string `js:"ids"`
	Flow string   `js:"flow"`
	Path string   `js:"path"`
	Body string   `js:"body"`

	Targets []string `js:"targets"`
	Stamp   float64  `js:"stamp"`

	sent      time.Time
	iteration context.Context // that took it
	done      bool            // the script has settled it
}

// settleGrace is how much longer than a request may take it may be unsettled: a script's own time-out is as long, and knows more.
const settleGrace = time.Second

// handles are the requests that scripts have taken and not settled.
type handles struct {
	mu   sync.Mutex
	open map[*slotHandle]struct{}
}

func (s *handles) add(h *slotHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*slotHandle]struct{}{}
	}
	s.open[h] = struct{}{}
}

// remove reports whether the request was still to be settled.
func (s *handles) remove(h *slotHandle) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, open := s.open[h]
	delete(s.open, h)
	return open
}

// overdue removes the requests whose iteration has ended, and those that have taken longer than they may.
func (s *handles) overdue(now time.Time, patience time.Duration) (ended, late []*slotHandle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.open {
		switch {
		case h.iteration.Err() != nil:
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

// giveUp settles as unknown what scripts will not settle any more.
func (e *engine) giveUp(now time.Time) {
	patience := e.options.Timeout.duration() + settleGrace
	ended, late := e.handles.overdue(now, patience)
	for _, h := range ended {
		e.count("request", "not settled", "the iteration ended without run.settle(): did it throw? k6's log says it")
		e.ledger.Settle(h.slot, ledger.Unknown)
	}
	for _, h := range late {
		e.count("request", "not settled", fmt.Sprintf("no run.settle() within %s", patience))
		e.ledger.Settle(h.slot, ledger.Unknown)
	}
}

// next is run.next(): the next request when it is due, for a script that sends it by itself; null after the last.
func (m *instance) next(e *engine, flow string) sobek.Value {
	rt := m.vu.Runtime()
	if m.vu.State() == nil {
		common.Throw(rt, errors.New("run.next() is for a scenario's function: in the init context there is no load yet"))
	}
	if m.waiter == nil {
		if m.misplaced(e) {
			return sobek.Null()
		}
		m.waiter = newWaiter()
	}
	if m.waiter.flow = 0; flow != "" {
		m.waiter.flow = 1 + slices.IndexFunc(e.options.profile.Flows, func(f profile.Flow) bool { return f.Name == flow && f.Weight > 0 })
		if m.waiter.flow == 0 || !e.pacer.Closed() {
			common.Throw(rt, fmt.Errorf("run.next(%q): a flow can be chosen in the closed model, if the profile has it with a weight above 0", flow))
		}
	}
	if e.pacer.Closed() && !e.choose(flow != "") {
		common.Throw(rt, errors.New("run.next(): a flow is chosen in each call of a run, or in none"))
	}
	slot, ok := e.take(m.vu.Context(), m.waiter)
	if !ok {
		return sobek.Null()
	}
	h := &slotHandle{
		slot: slot, Flow: e.options.profile.Flows[slot.Flow].Name, Path: e.options.Ingest.Path,
		Body: string(e.bodies.append(nil, slot)),
	}
	if slot.Messages > 1 {
		h.Path = e.options.Ingest.BatchPath
	}
	for i := range slot.Messages {
		h.IDs = append(h.IDs, e.bodies.prefix+strconv.Itoa(slot.FirstID+i))
		h.Targets = append(h.Targets, string(e.bodies.flows[slot.Flow].target(nil, slot, i)))
	}
	h.sent = time.Now()
	if e.options.Redis.URL != "" {
		at := e.clock.At(h.sent)
		h.Stamp = float64(at + e.clock.Offset(at))
	}
	h.iteration = m.vu.Context()
	e.sent(slot, h.sent)
	e.handles.add(h)
	return rt.ToValue(h)
}

// settle is run.settle(slot, status). It comes to nothing for a request that was given up.
func (m *instance) settle(e *engine, h *slotHandle, status int) {
	if h == nil || h.done || h.iteration == nil {
		common.Throw(m.vu.Runtime(), errors.New("run.settle() wants what run.next() returned, once"))
	}
	h.done = true
	if !e.handles.remove(h) {
		return
	}
	a := answer{status: status, body: func() []byte { return nil }, done: time.Now()}
	e.ledger.Settle(h.slot, e.answered(h.slot, a, h.sent))
}
