package merge

import (
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// Runs makes one run of its parts, and writes the histogram log of all.
//
// name is that of the run's directory.
func Runs(parts []Part, name string, log io.Writer) (r *report.Run, err error) {
	if err := order(parts); err != nil {
		return nil, err
	}
	err = must.Try(func() { r = whole(parts, name, log) })
	return r, err
}

func whole(parts []Part, name string, log io.Writer) *report.Run {
	first := parts[0].Run
	runs := make([]*report.Run, len(parts))
	for i, p := range parts {
		runs[i] = p.Run
	}
	r := &report.Run{
		Schema: report.Schema, Run: first.Run, Account: accounts(runs), Clock: clocks(runs), Generators: generators(parts),
		Figures: figures(runs), Resources: resources(runs), Errors: errorClasses(runs), Environment: environments(runs), Targets: targets(runs),
		Latency:  latencies(runs, func(r *report.Run) *report.Latencies { return &r.Latency }),
		Messages: report.MergeMessages(each(runs, func(r *report.Run) *report.Messages { return r.Messages })),
		Tail:     report.MergeTails(each(runs, func(r *report.Run) *report.Tail { return r.Tail })),
		Health:   health(runs), Canary: canaries(runs), Flows: flows(runs),
	}
	r.Run.Name, r.Run.Generator, r.Run.Ended = name, nil, ended(runs)
	r.Timeline = seconds(parts, first.Run.ID, must.Get(time.Parse(time.RFC3339, first.Run.Started)).UnixMilli(), log)
	r.Steps = steps(runs, r.Resources)
	r.Verdict = judge.OfParts(r, runs, requests(first.Run))
	r.Conclude("") // that of a script is about its own part
	return r
}

func each[T any](runs []*report.Run, of func(*report.Run) T) []T {
	all := make([]T, len(runs))
	for i, r := range runs {
		all[i] = of(r)
	}
	return all
}

// ended is when the last part came to its end; nil: one did not, or is missing.
func ended(runs []*report.Run) *string {
	var last *string
	for _, r := range runs {
		if r.Run.Ended == nil || len(runs) < runs[0].Run.Generator.Of {
			return nil
		}
		if last == nil || *r.Run.Ended > *last {
			last = r.Run.Ended
		}
	}
	return last
}

// generators are the instances that the run should have, by their numbers.
func generators(parts []Part) []report.Part {
	limits := strings.Split(parts[0].generator().Sequence, ",")
	all := make([]report.Part, parts[0].generator().Of)
	for i := range all {
		segment := "?:?"
		if i+1 < len(limits) {
			segment = limits[i] + ":" + limits[i+1]
		}
		all[i] = report.Part{Number: i + 1, Segment: segment, Result: report.Missing, Reasons: []string{}}
	}
	for _, p := range parts {
		g, r := p.generator(), p.Run
		lateness := r.Latency.Stages[ledger.Schedule.String()].P99
		if r.Health.Lateness != nil {
			lateness = r.Health.Lateness.P99
		}
		part := report.Part{
			Number: g.Number, Segment: g.Segment, Result: r.Verdict.Result, Reasons: r.Verdict.Reasons, LateMS: &g.LateMS,
			Scheduled: &r.Account.Scheduled, Arrived: &r.Account.Arrived, ScheduleP99MS: lateness,
			Cores: r.Environment["cores"], Kernel: r.Environment["kernel"],
			ClockOffsetMS: r.Clock.OffsetMS, ClockBoundMS: &r.Clock.GeneratorBoundMS,
		}
		if w := r.Health.SocketWait; w != nil {
			part.SocketWaitP99MS = w.P99
		}
		for _, row := range r.Timeline {
			part.CPUPercentMax = most(part.CPUPercentMax, row.Generator.CPUPercent)
		}
		all[g.Number-1] = part
	}
	return all
}

func accounts(runs []*report.Run) report.Account {
	all := report.Account{Balanced: true}
	for _, r := range runs {
		all.Balanced = all.Balanced && r.Account.Balanced
		addCounts(&all, &r.Account)
	}
	return all
}

// addCounts adds the whole numbers of a record, and of the records in it, to those of another one of its kind. What is no sum (the second of an
// interval, how many samples a latency has) is set afterwards.
func addCounts[T any](to, from *T) {
	addNumbers(reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem())
}

func addNumbers(to, from reflect.Value) {
	for i := range to.NumField() {
		switch field := to.Field(i); field.Kind() {
		case reflect.Int, reflect.Int64:
			field.SetInt(field.Int() + from.Field(i).Int())
		case reflect.Struct:
			addNumbers(field, from.Field(i))
		}
	}
}

// clocks are one: a stage lies between one generator and the pipeline, so the widest bound of a generator with the pipeline's processes is that
// of all. Offsets and drifts are each generator's own.
func clocks(runs []*report.Run) report.Clock {
	first := runs[0].Clock
	all := report.Clock{Reference: first.Reference, LimitMS: first.LimitMS, OneHost: true, Processes: first.Processes}
	for _, r := range runs {
		c := r.Clock
		all.BoundMS = max(all.BoundMS, c.BoundMS)
		all.GeneratorBoundMS = max(all.GeneratorBoundMS, c.GeneratorBoundMS)
		all.OneHost = all.OneHost && c.OneHost
		all.Probes += c.Probes
		if len(c.Processes) > len(all.Processes) {
			all.Processes = c.Processes
		}
	}
	return all
}
