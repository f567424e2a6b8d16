package arrival

import (
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

const microFormat = "2006-01-02T15:04:05.000000Z"

// describeMessages names the messages of a run that has ended.
func (e *engine) describeMessages() *report.Messages {
	found := e.Ledger.Messages()
	m := &report.Messages{Slowest: []report.Slow{}, Named: []report.Named{}}
	for _, d := range found.Slowest {
		id, target, flow := e.nameOf(d.Seq)
		s := report.Slow{
			ID: id, Trace: e.traceID(id), Target: target, Flow: flow, Phase: *e.phaseName(d.Phase), Subscriber: d.Subscriber + 1, Due: *e.momentOf(d.Due),
			ArrivalMS: float64(d.Arrival) / 1000, StagesMS: map[string]float64{},
		}
		for i := range d.Known {
			s.StagesMS[ledger.Stage(i).String()] = float64(d.Stages[i]) / 1000
		}
		m.Slowest = append(m.Slowest, s)
	}
	name := func(end string, seq, phase int, due int64, delivered *int) {
		id, target, flow := e.nameOf(seq)
		m.Named = append(m.Named, report.Named{
			ID: id, End: end, Target: target, Flow: flow, Phase: e.phaseName(phase), Due: e.momentOf(due), Delivered: delivered,
		})
	}
	for _, one := range found.Missing {
		name(one.End.String(), one.Seq, one.Phase, one.Due, &one.Delivered)
		if last := &m.Named[len(m.Named)-1]; last.Due != nil {
			last.Trace = e.traceID(last.ID)
		}
	}
	for _, d := range found.Duplicates {
		name("duplicates", d.Seq, d.Phase, d.Due, nil)
	}
	for _, d := range found.Negative {
		name("negative", d.Seq, d.Phase, d.Due, nil)
	}
	return m
}

// nameOf is the id, the target and the flow of a message.
func (e *engine) nameOf(seq int) (id, target, flow string) {
	slot := e.Pacer.SlotOf(seq)
	i := seq - slot.FirstSeq
	return e.Bodies.ID(slot.FirstID + i), string(e.Bodies.AppendTarget(nil, slot, i)), e.options.profile.Flows[slot.Flow].Name
}

func (e *engine) phaseName(phase int) *string {
	if phase < 0 {
		return nil
	}
	return &e.options.profile.Phases[phase].Name
}

// momentOf is a time in µs since the start of the run, as UTC; nil: not known.
func (e *engine) momentOf(us int64) *string {
	if us == ledger.Forgotten {
		return nil
	}
	return new(e.Epoch.Add(time.Duration(us) * time.Microsecond).UTC().Format(microFormat))
}
