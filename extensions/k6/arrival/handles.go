package arrival

import (
	"errors"
	"fmt"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// content hides the embedded Content from scripts.
type content = engine.Content

type slotHandle struct {
	content
	Stamp float64 `js:"stamp"`

	handle *engine.Handle
	done   bool // the script has settled it
}

// next is run.next(): it returns the next request when it is due, for a script that sends it itself; null after
// the last.
func (m *instance) next(e *engine.Engine, flow string) sobek.Value {
	rt := m.vu.Runtime()
	m.inScenario("run.next()")
	if m.waiter == nil {
		if !m.joins(e, false) {
			return sobek.Null()
		}
		m.waiter = schedule.NewWaiter()
		e.SentBy(lib.GetScenarioState(m.vu.Context()))
	}
	var err error
	if m.waiter.Flow, err = e.FlowNumber(flow); err != nil {
		common.Throw(rt, fmt.Errorf("run.next(%q): %w", flow, err))
	}
	h := e.Next(m.vu.Context(), m.waiter)
	if h == nil {
		return sobek.Null()
	}
	return rt.ToValue(&slotHandle{content: h.Content, Stamp: h.Stamp, handle: h})
}

func (m *instance) settle(e *engine.Engine, h *slotHandle, status int) {
	if h == nil || h.done || h.handle == nil {
		common.Throw(m.vu.Runtime(), errors.New("run.settle() takes what run.next() returned, once"))
	}
	h.done = true
	e.Settle(h.handle, status)
}
