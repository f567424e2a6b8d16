package arrival

import (
	"errors"
	"fmt"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/webhook"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// object is what new Run() returns. k6 can call its members without a receiver, so handleSummary = run.summary
// works.
func (m *instance) object(rt *sobek.Runtime, e *engine.Engine) *sobek.Object {
	o := rt.NewObject()
	set := func(name string, value any) {
		if err := o.DefineDataProperty(name, rt.ToValue(value), sobek.FLAG_FALSE, sobek.FLAG_FALSE,
			sobek.FLAG_TRUE); err != nil {
			common.Throw(rt, err)
		}
	}
	set("id", e.Name())
	if w := e.Webhook(); w != nil {
		set("webhook", m.webhook(rt, e, w))
	}
	set("scenarios", func(given scenarioOptions) map[string]any {
		given.Pump = given.Pump || e.Publishes() // one VU holds all connections
		m.root.pumped.Store(given.Pump)
		return e.Scenarios(given.Pump)
	})
	set("thresholds", func(own map[string]any) map[string]any {
		var registry *metrics.Registry
		if env := m.vu.InitEnv(); env != nil {
			registry = env.Registry
		}
		all, err := e.Thresholds(registry, own)
		if err != nil {
			common.Throw(rt, err)
		}
		return all
	})
	set("collect", func() { m.collect(e) })
	set("greet", func(seconds float64) { m.greet(e, seconds) })
	var s *engine.Sender
	set("send", func(sobek.FunctionCall) sobek.Value {
		state := m.inScenario("run.send()")
		if m.root.pumped.Load() {
			common.Throw(rt, errors.New("run.send() is for scenarios(): with scenarios({ pump: "+
				"true }) the sender calls run.pump()"))
		}
		if s == nil {
			if !m.joins(e, true) {
				return rt.ToValue(false)
			}
			s = engine.NewSender(e, state)
		}
		if e.Pacer.Closed() { // the iteration lasts as long as the load
			for s.Send(m.vu.Context()) {
			}
			return rt.ToValue(false)
		}
		return rt.ToValue(s.Send(m.vu.Context()))
	})
	set("pump", func() {
		state := m.inScenario("run.pump()")
		if !m.root.pumped.Load() {
			common.Throw(rt, errors.New("run.pump() is for the sender of scenarios({ pump: true })"))
		}
		if !m.joins(e, true) {
			return
		}
		e.Pump(m.vu.Context(), state)
	})
	set("next", func(flow string) sobek.Value { return m.next(e, flow) })
	set("settle", func(slot *slotHandle, status int) { m.settle(e, slot, status) })
	set("subscribed", func() sobek.Value { return m.subscribed(e) })
	set("receiving", func() bool { m.inScenario("run.receiving()"); return !schedule.IsClosed(e.Consumers().Over()) })
	set("arrived", func(payload, how sobek.Value) { m.arrived(e, payload, how) })
	set("result", func() sobek.Value { return m.result(e) })
	set("connections", func() sobek.Value { return m.connections(e) })
	set("figure", func(name string, value float64, unit string) { e.Figure(name, value, unit) })
	set("answer", func(sentence string) { e.Answer(sentence) })
	set("summary", func(data sobek.Value) map[string]any { return m.summary(e, data) })
	return o
}

type scenarioOptions struct {
	Pump bool `js:"pump"`
}

// collect runs the run in this VU. An error ends the test: without its subscriber a run measures nothing.
func (m *instance) collect(e *engine.Engine) {
	if err := e.Collect(m.vu.Context(), m.inScenario("run.collect()"), m.metrics); err != nil {
		m.abort(err)
	}
}

// greet lets one message go round in this VU, and prints each step. An error is the last one.
func (m *instance) greet(e *engine.Engine, seconds float64) {
	say := func(step, what string) { fmt.Printf("%-10s %s\n", step, what) }
	most := time.Duration(seconds * float64(time.Second))
	ctx := m.vu.Context()
	if err := e.Try(ctx, m.inScenario("run.greet()"), m.metrics, most, say); err != nil && ctx.Err() == nil {
		say("ended", words.Printable(err.Error()))
	}
}

func (m *instance) abort(err error) {
	m.vu.Runtime().Interrupt(&errext.InterruptError{Reason: errext.AbortTest + ": " + words.Printable(err.Error())})
}

// inScenario returns the state of a VU that runs a scenario's function, and throws elsewhere. In setup() and teardown()
// a call would wait for VUs that do not run.
func (m *instance) inScenario(call string) *lib.State {
	state := m.vu.State()
	if state == nil || lib.GetScenarioState(m.vu.Context()) == nil {
		common.Throw(m.vu.Runtime(), fmt.Errorf("%s is for a scenario's function: in the init context, setup(), "+
			"teardown() and handleSummary() there is no load", call))
	}
	return state
}

// joins waits until the run begins, and ends the test where that can't happen. It returns false if the VU has nothing
// to send. A native VU sends by itself, as run.send() and run.pump() do.
func (m *instance) joins(e *engine.Engine, native bool) bool {
	begun, err := e.Join(m.vu.Context(), m.vu.State().Options, native)
	if err != nil {
		m.abort(err)
	}
	return begun
}

// webhook is run.webhook: its url is known from the options, or when the run listens.
func (m *instance) webhook(rt *sobek.Runtime, e *engine.Engine, o *webhook.Options) *sobek.Object {
	of := rt.NewObject()
	url := func(sobek.FunctionCall) sobek.Value {
		if l, ok := e.Receiver().(receive.CallbackReceiver); ok {
			return rt.ToValue(l.URL())
		}
		if known := o.Known(); known != "" {
			return rt.ToValue(known)
		}
		common.Throw(rt, errors.New("run.webhook.url is not known before the run listens, "+
			"since webhook.address has the port 0: use it after run.next(), or set a port"))
		return nil
	}
	err := of.DefineAccessorProperty("url", rt.ToValue(url), nil, sobek.FLAG_FALSE, sobek.FLAG_TRUE)
	if err != nil {
		common.Throw(rt, err)
	}
	return of
}
