package engine

import (
	"context"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

// naming names the messages of a run.
type naming struct {
	*schedule.Course // what is due when, the ledger, and the clock
	parts            *run.Parts
	options          *Options
}

func (e *Engine) naming() naming { return naming{e.Course, &e.parts, e.options} }

// trace writes the traces of a run that has ended, and sends them to a collector if one is configured. An error is
// reported, but does not fail the run.
func (e *Engine) trace(ctx context.Context, log logrus.FieldLogger) {
	if e.options.Traces == 0 {
		return
	}
	messages := e.naming().tracedMessages()
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
func (n naming) tracedMessages() []traces.Message {
	found := n.Ledger.Messages()
	var all []traces.Message
	places := map[int]int{} // the index of each message in all
	of := func(seq, phase int, due int64) *traces.Message {
		at, ok := places[seq]
		if !ok {
			at = len(all)
			places[seq] = at
			all = append(all, n.traceOf(seq, phase, due))
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

func (n naming) traceOf(seq, phase int, due int64) traces.Message {
	id, target, flow := n.nameOf(seq)
	m := traces.Message{
		ID: id, Carrier: n.parts.Bodies.ID(n.Ledger.SlotOf(seq).FirstID), Flow: flow,
		Due: n.Epoch.Truncate(time.Microsecond).Add(time.Duration(due) * time.Microsecond), // µs, as in run.json
	}
	if target != "" {
		m.Topic = n.options.from.Prefix + target
	}
	if name := n.phaseName(phase); name != nil {
		m.Phase = *name
	}
	return m
}

// traceID is the trace of a message, for the report; empty without traces.
func (n naming) traceID(id string) string {
	if n.options.Traces == 0 {
		return ""
	}
	return traces.Of(id).TraceID()
}

const microFormat = "2006-01-02T15:04:05.000000Z"

// describeMessages names the messages of a run that has ended.
func (n naming) describeMessages() *runfile.Messages {
	found := n.Ledger.Messages()
	m := &runfile.Messages{Slowest: []runfile.Slow{}, Named: []runfile.Named{}}
	for _, d := range found.Slowest {
		id, target, flow := n.nameOf(d.Seq)
		s := runfile.Slow{
			ID: id, Trace: n.traceID(id), Target: target, Flow: flow, Phase: *n.phaseName(d.Phase),
			Subscriber: d.Subscriber + 1, Due: *n.momentOf(d.Due), ArrivalMS: float64(d.Arrival) / 1000,
			StagesMS: map[string]float64{},
		}
		for i := range d.Known {
			s.StagesMS[n.options.stages[i].Name] = float64(d.Stages[i]) / 1000
		}
		m.Slowest = append(m.Slowest, s)
	}
	name := func(end string, seq, phase int, due int64, delivered *int) {
		id, target, flow := n.nameOf(seq)
		m.Named = append(m.Named, runfile.Named{
			ID: id, End: end, Target: target, Flow: flow, Phase: n.phaseName(phase), Due: n.momentOf(due),
			Delivered: delivered,
		})
	}
	cameTo := func(d ledger.Misplaced) string {
		if d.Target > 0 {
			return n.parts.Targets.Name(d.Target - 1)
		}
		return "a connection that does not hold it"
	}
	cameLast := map[int]string{}
	for _, d := range found.Misplaced {
		cameLast[d.Seq] = cameTo(d)
	}
	for _, one := range found.Missing {
		name(one.End.String(), one.Seq, one.Phase, one.Due, &one.Delivered)
		last := &m.Named[len(m.Named)-1]
		if one.End == ledger.EndMisdelivered {
			last.CameTo = cameLast[one.Seq]
		}
		if last.Due != nil {
			last.Trace = n.traceID(last.ID)
		}
	}
	for _, d := range found.Duplicates {
		name("duplicates", d.Seq, d.Phase, d.Due, nil)
	}
	for _, d := range found.Misplaced {
		name(runfile.Misdeliveries, d.Seq, d.Phase, ledger.Forgotten, nil)
		m.Named[len(m.Named)-1].CameTo = cameTo(d)
	}
	for _, d := range found.Negative {
		name("negative", d.Seq, d.Phase, d.Due, nil)
	}
	return m
}

// nameOf names a message; target is empty where nobody knows for whom it was.
func (n naming) nameOf(seq int) (id, target, flow string) {
	slot := n.Ledger.SlotOf(seq)
	i := seq - slot.FirstSeq
	if n.Pacer.TargetKnown(slot.N) {
		target = string(n.parts.Bodies.AppendTarget(nil, slot, i))
	}
	return n.parts.Bodies.ID(slot.FirstID + i), target, n.options.profile.Flows[slot.Flow].Name
}

func (n naming) phaseName(phase int) *string {
	if phase < 0 {
		return nil
	}
	return &n.options.profile.Phases[phase].Name
}

// momentOf is a time in µs since the start of the run, as UTC; nil: not known.
func (n naming) momentOf(us int64) *string {
	if us == ledger.Forgotten {
		return nil
	}
	return new(n.Epoch.Add(time.Duration(us) * time.Microsecond).UTC().Format(microFormat))
}
