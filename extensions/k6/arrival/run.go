package arrival

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/js/common"

	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// object is what new Run() returns. k6 can call its members without a receiver, so handleSummary = run.summary
// works.
func (m *instance) object(rt *sobek.Runtime, e *engine) *sobek.Object {
	o := rt.NewObject()
	set := func(name string, value any) {
		if err := o.DefineDataProperty(name, rt.ToValue(value), sobek.FLAG_FALSE, sobek.FLAG_FALSE,
			sobek.FLAG_TRUE); err != nil {
			common.Throw(rt, err)
		}
	}
	set("id", e.Name)
	if w := e.options.Webhook; w != nil {
		set("webhook", m.webhook(rt, e, w))
	}
	set("scenarios", func(given scenarioOptions) map[string]any {
		given.Pump = given.Pump || e.options.Publishers != nil // one VU holds all connections
		m.root.pumped.Store(given.Pump)
		return e.scenarios(given)
	})
	set("thresholds", func(own map[string]any) map[string]any {
		if env := m.vu.InitEnv(); env != nil {
			var err error
			if own, err = e.within.thresholds(env.Registry, own); err != nil {
				common.Throw(rt, err)
			}
		}
		return e.thresholds(own)
	})
	set("collect", func() { m.collect(e) })
	var s *sender
	set("send", func(sobek.FunctionCall) sobek.Value {
		state := m.inScenario("run.send()")
		if m.root.pumped.Load() {
			common.Throw(rt, errors.New("run.send() is for scenarios(): with scenarios({ pump: "+
				"true }) the sender calls run.pump()"))
		}
		if s == nil {
			if !m.beginsSending(e) {
				return rt.ToValue(false)
			}
			s = newSender(e, state)
		}
		if e.Pacer.Closed() { // the iteration lasts as long as the load
			for s.send(m.vu.Context()) {
			}
			return rt.ToValue(false)
		}
		return rt.ToValue(s.send(m.vu.Context()))
	})
	set("pump", func() {
		state := m.inScenario("run.pump()")
		if !m.root.pumped.Load() {
			common.Throw(rt, errors.New("run.pump() is for the sender of scenarios({ pump: true })"))
		}
		if !m.beginsSending(e) {
			return
		}
		if e.options.Publishers != nil {
			e.publish(m.vu.Context(), state)
			return
		}
		e.pump(m.vu.Context(), state)
	})
	set("next", func(flow string) sobek.Value { return m.next(e, flow) })
	set("settle", func(slot *slotHandle, status int) { m.settle(e, slot, status) })
	set("subscribed", func() sobek.Value { return m.subscribed(e) })
	set("receiving", func() bool { m.inScenario("run.receiving()"); return !schedule.IsClosed(e.consumers.over) })
	set("arrived", func(payload, how sobek.Value) { m.arrived(e, payload, how) })
	set("result", func() sobek.Value { return m.result(e) })
	set("connections", func() sobek.Value { return m.connections(e) })
	set("figure", func(name string, value float64, unit string) { e.figure(name, value, unit) })
	set("answer", func(sentence string) { e.note(func() { e.answer = sentence }) })
	set("summary", func(data sobek.Value) map[string]any { return m.summary(e, data) })
	return o
}

type scenarioOptions struct {
	Pump bool `js:"pump"`
}

// startup is the longest time for connecting and subscribing before k6's clock for the load begins.
const startup = 30 * time.Second

// startup is the longest time before the load begins.
func (e *engine) startup() time.Duration {
	if e.segment.Alone() {
		return startup
	}
	return startup + e.options.Gather.duration() + segment.StartDelay
}

// scenarios returns one VU that collects, and the VUs that send.
func (e *engine) scenarios(given scenarioOptions) map[string]any {
	o, s := e.options, e.segment
	retries := time.Duration(o.Ingest.Retries)
	patience := (1+retries)*o.Timeout.duration() + retries*retryAfterMost
	load := e.startup() + o.profile.Duration() + o.profile.Drains() + e.waits() + patience
	most := load + schedule.LateLimit + o.Drain.duration() + startup
	executor, vus, iterations, late := "per-vu-iterations", min(max(1, s.Scale(o.Senders)), e.Pacer.Requests()), 1,
		schedule.LateLimit
	switch {
	case e.turns != nil: // each has one iteration, as long as the load
		vus, late = s.Scale(o.profile.Most()), 0
		if given.Pump {
			vus = (vus + o.InFlight - 1) / o.InFlight
		}
	case o.Publishers != nil:
		vus = 1
	case !given.Pump: // as many iterations as requests, so that k6's progress bar is right
		executor, iterations = "shared-iterations", s.UnscaleShared(e.Pacer.Requests(), s.Unscale(vus))
	}
	scenarios := map[string]any{
		"subscriber": map[string]any{
			"executor": "per-vu-iterations", "exec": "subscriber", "vus": s.Unscale(1), "iterations": 1,
			"maxDuration": wholeSeconds(most), "gracefulStop": "0s",
		},
		"sender": map[string]any{
			"executor": executor, "exec": "sender", "vus": s.Unscale(vus), "iterations": iterations,
			"maxDuration": wholeSeconds(load + late), "gracefulStop": wholeSeconds(patience),
		},
	}
	if n := e.consumers.wanted; n > 0 {
		scenarios["consumer"] = map[string]any{
			"executor": "per-vu-iterations", "exec": "consumer", "vus": n, "iterations": 1,
			"maxDuration": wholeSeconds(most), "gracefulStop": wholeSeconds(consumersLast),
		}
	}
	return scenarios
}

func wholeSeconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10) + "s"
}

func (e *engine) thresholds(own map[string]any) map[string]any {
	all := map[string]any{}
	for name, expressions := range e.builtIn() {
		all[name] = expressions
	}
	maps.Copy(all, own)
	return all
}

// collect runs the run in this VU. An error ends the test: without its subscriber a run measures nothing.
func (m *instance) collect(e *engine) {
	if err := e.collect(m.vu.Context(), m.inScenario("run.collect()"), m.metrics); err != nil {
		if unwritten(err) {
			e.life.change(func(p *progress) { p.full = err })
		}
		m.abort(err)
	}
}

func (m *instance) abort(err error) {
	m.vu.Runtime().Interrupt(&errext.InterruptError{Reason: errext.AbortTest + ": " + words.Printable(err.Error())})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
