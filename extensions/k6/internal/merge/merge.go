package merge

import (
	"cmp"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// Runs merges the instances of a run and writes their histogram log. name is the name of the run's directory.
func Runs(parts []Instance, name string, log io.Writer) (r *runfile.Run, err error) {
	if err := order(parts); err != nil {
		return nil, err
	}
	err = must.Try(func() { r = whole(parts, name, log) })
	return r, err
}

func whole(parts []Instance, name string, log io.Writer) *runfile.Run {
	first := parts[0].Run
	runs := make([]*runfile.Run, len(parts))
	for i, p := range parts {
		runs[i] = p.Run
	}
	r := combined(runs)
	r.Run, r.Run.Name, r.Run.Generator, r.Run.Ended = first.Run, name, nil, ended(runs)
	r.Generators, r.Health.Gaps, r.Clock.Processes = generators(parts), gaps(runs), processes(runs)
	r.Figures, r.Resources = figures(runs), resources(runs)
	r.Errors, r.Environment = errorClasses(runs), environments(runs)
	r.Targets, r.Flows = targets(runs), flows(runs)
	r.Messages = runfile.MergeMessages(each(runs, func(r *runfile.Run) *runfile.Messages { return r.Messages }))
	r.Tail = runfile.MergeTails(each(runs, func(r *runfile.Run) *runfile.Tail { return r.Tail }))
	r.Facts.LoadFacts = counted(runs)
	quarters := facts.NewQuarters(first.Run.Profile.Phases)
	r.Timeline = seconds(parts, first.Run.ID, must.Get(time.Parse(time.RFC3339, first.Run.Started)).UnixMilli(), log,
		quarters)
	r.Facts.Drift = facts.NewDrift(quarters)
	r.Steps = steps(runs, r.Resources)
	facts.Offer(r)
	r.Verdict = judge.OfParts(r, runs, requests(first.Run))
	facts.Conclude(r, "") // a script's own sentence is about one part
	return r
}

// counted are the facts that the rest of a merged report does not hold.
func counted(runs []*runfile.Run) runfile.LoadFacts {
	first := runs[0].Facts
	f := runfile.LoadFacts{Question: first.Question, Connections: first.Connections}
	for _, r := range runs {
		if s := r.Facts.Sessions; s != nil {
			if f.Sessions == nil {
				f.Sessions = &runfile.Sessions{}
			}
			f.Sessions.Begun, f.Sessions.Completed = f.Sessions.Begun+s.Begun, f.Sessions.Completed+s.Completed
		}
	}
	return f
}

func each[P, T any](parts []P, of func(P) T) []T {
	all := make([]T, len(parts))
	for i, p := range parts {
		all[i] = of(p)
	}
	return all
}

// ended is the end of the last part; nil if a part did not end or is missing.
func ended(runs []*runfile.Run) *string {
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
func generators(parts []Instance) []runfile.Instance {
	limits := strings.Split(parts[0].generator().Sequence, ",")
	all := make([]runfile.Instance, parts[0].generator().Of)
	for i := range all {
		segment := "?:?"
		if i+1 < len(limits) {
			segment = limits[i] + ":" + limits[i+1]
		}
		all[i] = runfile.Instance{Number: i + 1, Segment: segment, Result: runfile.Missing, Reasons: []string{}}
	}
	for _, p := range parts {
		g, r := p.generator(), p.Run
		lateness := r.Latency.Stages[stages.Schedule].P99
		if r.Health.Lateness != nil {
			lateness = r.Health.Lateness.P99
		}
		part := runfile.Instance{
			Number: g.Number, Segment: g.Segment, Result: r.Verdict.Result, Reasons: r.Verdict.Reasons,
			LateMS: &g.LateMS, Scheduled: &r.Account.Scheduled, Arrived: &r.Account.Arrived, ScheduleP99MS: lateness,
			Cores: r.Environment["cores"], Kernel: r.Environment["kernel"], ClockOffsetMS: r.Clock.OffsetMS,
			ClockBoundMS: &r.Clock.GeneratorBoundMS,
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

// processes returns the processes as the instance saw them that saw most: they report the same to all.
func processes(runs []*runfile.Run) []runfile.ProcessClock {
	longest := slices.MaxFunc(runs, func(a, b *runfile.Run) int {
		return cmp.Compare(len(a.Clock.Processes), len(b.Clock.Processes))
	})
	return longest.Clock.Processes
}
