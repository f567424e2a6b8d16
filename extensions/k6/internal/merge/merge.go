package merge

import (
	"cmp"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// Runs merges the parts of a run and writes their histogram log. name is that of the run's directory.
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
		Latency:  *combined(each(runs, func(r *report.Run) *report.Latencies { return &r.Latency })),
		Messages: report.MergeMessages(each(runs, func(r *report.Run) *report.Messages { return r.Messages })),
		Tail:     report.MergeTails(each(runs, func(r *report.Run) *report.Tail { return r.Tail })),
		Health:   health(runs), Flows: flows(runs),
		Canary: combined(each(runs, func(r *report.Run) *report.Canary { return r.Canary })),
	}
	r.Run.Name, r.Run.Generator, r.Run.Ended = name, nil, ended(runs)
	r.Timeline = seconds(parts, first.Run.ID, must.Get(time.Parse(time.RFC3339, first.Run.Started)).UnixMilli(), log)
	r.Steps = steps(runs, r.Resources)
	r.Verdict = judge.OfParts(r, runs, requests(first.Run))
	r.Conclude("") // a script's own sentence is about one part
	return r
}

func each[P, T any](parts []P, of func(P) T) []T {
	all := make([]T, len(parts))
	for i, p := range parts {
		all[i] = of(p)
	}
	return all
}

// ended is the end of the last part; nil if a part did not end or is missing.
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

// generators lists all instances of the run by number, missing ones included.
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
	all := combined(each(runs, func(r *report.Run) *report.Account { return &r.Account }))
	for _, r := range runs {
		all.Balanced = all.Balanced && r.Account.Balanced
	}
	return *all
}

// combined merges records field by field: it sums whole numbers and distributions, takes the largest of optional
// numbers, and the first of everything else. The caller sets the fields that need another rule. It returns nil if all
// records are nil.
func combined[T any](parts []*T) *T {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p *T) bool { return p == nil })
	if len(parts) == 0 {
		return nil
	}
	all := *parts[0]
	combine(reflect.ValueOf(&all).Elem(), each(parts, func(p *T) reflect.Value { return reflect.ValueOf(p).Elem() }))
	return &all
}

func combine(to reflect.Value, parts []reflect.Value) {
	switch to := to.Addr().Interface().(type) {
	case *report.Latency:
		*to = *latency(each(parts, func(p reflect.Value) *report.Latency { return p.Addr().Interface().(*report.Latency) }))
		return
	case **report.Latency:
		*to = latency(values[*report.Latency](parts))
		return
	case *map[string]report.Latency:
		*to = map[string]report.Latency{}
		for stage := range ledger.Stages {
			name := stage.String()
			own := each(values[map[string]report.Latency](parts), func(of map[string]report.Latency) *report.Latency { return new(of[name]) })
			(*to)[name] = *latency(own)
		}
		return
	case **float64:
		for _, v := range values[*float64](parts) {
			*to = most(*to, v)
		}
		return
	case **report.Quantiles:
		if len(parts) > 1 { // one alone keeps its percentiles
			*to = quantiles(values[*report.Quantiles](parts))
		}
		return
	case **int: // nil if one of them is
		known := values[*int](parts)
		if *to = nil; !slices.Contains(known, nil) {
			*to = new(0)
			for _, n := range known {
				**to += *n
			}
		}
		return
	case **string:
		*to = cmp.Or(values[*string](parts)...)
		return
	}
	switch to.Kind() {
	case reflect.Int, reflect.Int64:
		for _, p := range parts[1:] {
			to.SetInt(to.Int() + p.Int())
		}
	case reflect.Struct:
		for i := range to.NumField() {
			combine(to.Field(i), each(parts, func(p reflect.Value) reflect.Value { return p.Field(i) }))
		}
	}
}

func values[T any](of []reflect.Value) []T {
	return each(of, func(v reflect.Value) T { return v.Interface().(T) })
}

// clocks merges the clocks. A stage lies between one generator and the pipeline, so the widest bound holds for all.
// Offsets and drifts differ by generator and are left out.
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
