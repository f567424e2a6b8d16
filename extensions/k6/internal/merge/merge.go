package merge

import (
	"io"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// Runs makes one run of its parts, and writes the histogram log of all.
//
// name is that of the run's directory.
func Runs(parts []Part, name string, log io.Writer) (*report.Run, error) {
	if err := order(parts); err != nil {
		return nil, err
	}
	first := parts[0].Run
	runs := make([]*report.Run, len(parts))
	for i, p := range parts {
		runs[i] = p.Run
	}
	r := &report.Run{
		Schema: report.Schema, Run: first.Run, Account: accounts(runs), Clock: clocks(runs), Generators: generators(parts),
		Figures: figures(runs), Resources: resources(runs), Errors: errorClasses(runs), Environment: environments(runs), Targets: targets(runs),
	}
	r.Run.Name, r.Run.Generator, r.Run.Ended = name, nil, ended(runs)
	started, err := time.Parse(time.RFC3339, first.Run.Started)
	if err != nil {
		return nil, err
	}
	if r.Timeline, err = seconds(parts, first.Run.ID, started.UnixMilli(), log); err != nil {
		return nil, err
	}
	if err := addUp(r, runs); err != nil {
		return nil, err
	}
	r.Verdict = judge.OfParts(r, runs, requests(first.Run))
	return r, nil
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
		a := r.Account
		all.Balanced = all.Balanced && a.Balanced
		for _, sum := range []struct {
			to *int
			n  int
		}{
			{&all.Scheduled, a.Scheduled}, {&all.Dropped, a.Dropped}, {&all.Rejected, a.Rejected}, {&all.Unknown, a.Unknown},
			{&all.Arrived, a.Arrived}, {&all.DeadLettered, a.DeadLettered}, {&all.Queued, a.Queued}, {&all.Lost, a.Lost},
			{&all.Pending, a.Pending}, {&all.Duplicates, a.Duplicates}, {&all.Reordered, a.Reordered}, {&all.Negative, a.Negative},
			{&all.Foreign, a.Foreign}, {&all.Requests.Scheduled, a.Requests.Scheduled}, {&all.Requests.Sent, a.Requests.Sent},
			{&all.Requests.Retried, a.Requests.Retried}, {&all.Deliveries.Due, a.Deliveries.Due},
			{&all.Deliveries.Arrived, a.Deliveries.Arrived}, {&all.Deliveries.Missing, a.Deliveries.Missing},
		} {
			*sum.to += sum.n
		}
	}
	return all
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
