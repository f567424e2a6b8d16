package engine

import (
	"context"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

// trace writes the traces of a run that has ended, and sends them to a collector if one is configured. An error is
// reported, but does not fail the run.
func (e *Engine) trace(ctx context.Context, log logrus.FieldLogger) {
	if e.options.Traces == 0 {
		return
	}
	messages := e.tracedMessages()
	failed := func(class string, err error) {
		if err != nil {
			e.notes.Count("trace", class, err.Error())
			log.Errorf("traces %s: %s", class, err)
		}
	}
	failed("not written", traces.Write(e.dir.path(), traces.Spans(e.parts.ID, e.options.stages, messages)))
	failed("not exported", traces.Export(ctx, e.parts.ID, e.options.stages, messages))
}

// tracedMessages are the slowest, a sample of all, and those that did not arrive.
func (e *Engine) tracedMessages() []traces.Message {
	found := e.Ledger.Messages()
	var all []traces.Message
	places := map[int]int{} // where a message is in all
	of := func(seq, phase int, due int64) *traces.Message {
		at, ok := places[seq]
		if !ok {
			at = len(all)
			places[seq] = at
			all = append(all, e.traceOf(seq, phase, due))
		}
		return &all[at]
	}
	for _, m := range found.Missing {
		if m.Due != ledger.Forgotten {
			of(m.Seq, m.Phase, m.Due).End = m.End.String()
		}
	}
	for _, d := range slices.Concat(found.Slowest, found.Sample) {
		m := of(d.Seq, d.Phase, d.Due)
		one := traces.Delivery{Subscriber: d.Subscriber + 1, Arrival: d.Arrival, Stages: d.Stages[:d.Known:d.Known]}
		if !slices.ContainsFunc(m.Deliveries, func(o traces.Delivery) bool { return o.Subscriber == one.Subscriber }) {
			m.Deliveries = append(m.Deliveries, one)
		}
	}
	return all
}

func (e *Engine) traceOf(seq, phase int, due int64) traces.Message {
	id, target, flow := e.nameOf(seq)
	m := traces.Message{
		ID: id, Carrier: e.parts.Bodies.ID(e.Ledger.SlotOf(seq).FirstID), Topic: e.options.from.Prefix + target, Flow: flow,
		Due: e.Epoch.Truncate(time.Microsecond).Add(time.Duration(due) * time.Microsecond), // as run.json has it
	}
	if name := e.phaseName(phase); name != nil {
		m.Phase = *name
	}
	return m
}

// traceID is the trace of a message, for the report; empty without traces.
func (e *Engine) traceID(id string) string {
	if e.options.Traces == 0 {
		return ""
	}
	return traces.Of(id).TraceID()
}
