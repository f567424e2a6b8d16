package merge

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// flows merges the profile's flows, by index.
func flows(runs []*runfile.Run) []runfile.FlowResult {
	all := make([]runfile.FlowResult, len(runs[0].Flows))
	for i := range all {
		var own []*runfile.FlowResult
		for _, r := range runs {
			if i < len(r.Flows) {
				own = append(own, &r.Flows[i])
			}
		}
		all[i] = *combined(own)
		all[i].Stages = addStages(each(own,
			func(f *runfile.FlowResult) stageMeans { return stageMeans{f.Stamped, f.Stages} }))
	}
	return all
}

func gaps(runs []*runfile.Run) []runfile.Gap {
	all := []runfile.Gap{}
	for _, r := range runs {
		for _, gap := range r.Health.Gaps {
			gap.Reason = fmt.Sprintf("generator %d: %s", r.Run.Generator.Number, gap.Reason)
			all = append(all, gap)
		}
	}
	slices.SortStableFunc(all, func(a, b runfile.Gap) int { return cmp.Compare(a.FromS, b.FromS) })
	return all
}

// steps merges the phases, by index. An instance has those that it reached.
func steps(runs []*runfile.Run, resources []runfile.Resource) []runfile.Step {
	all := []runfile.Step{}
	for i := 0; ; i++ {
		var present []*runfile.Step
		for _, r := range runs {
			if i < len(r.Steps) {
				present = append(present, &r.Steps[i])
			}
		}
		if len(present) == 0 {
			return all
		}
		step := combined(present)
		end := 0.0
		for _, p := range present {
			end = max(end, p.StartS+p.DurationS)
		}
		step.DurationS = end - step.StartS
		step.ScheduledPerS, step.AcceptedPerS = float64(step.Scheduled)/step.DurationS,
			float64(step.Accepted)/step.DurationS
		step.ArrivedPerS = float64(step.Arrived) / step.DurationS
		step.CPUPercent = runfile.CPUBetween(resources, step.StartS, end)
		all = append(all, *step)
	}
}

// add puts a histogram into another one, count by count.
func add(to, from *hdrhistogram.Histogram) {
	if lost := to.Merge(from); lost > 0 {
		must.Fail("a histogram has %d times above the longest that a histogram holds", lost)
	}
}

// latency sums the distributions that are not nil. Mean, min and max stay exact because sums are whole µs.
func latency(parts []*runfile.Latency) *runfile.Latency {
	sum := ledger.Series{Histogram: ledger.NewHistogram(), Min: math.MaxInt64, Max: math.MinInt64}
	known := false
	for _, p := range parts {
		known = known || p != nil
		if p == nil || p.Count == 0 {
			continue
		}
		if p.Histogram == nil {
			must.Fail("a latency has no histogram, so it cannot be added to others")
		}
		h, err := hdrhistogram.Decode([]byte(*p.Histogram))
		if err != nil {
			must.Fail("a latency's histogram can't be read: %w", err)
		}
		add(sum.Histogram, h)
		sum.Count += p.Count
		sum.Sum += micros(*p.Mean * float64(p.Count))
		sum.Min, sum.Max = min(sum.Min, micros(*p.Min)), max(sum.Max, micros(*p.Max))
	}
	if !known {
		return nil
	}
	return new(runfile.NewLatency(&sum, true))
}

func micros(ms float64) int64 { return int64(math.Round(ms * 1000)) }

// quantiles merges short distributions. They have no histograms, so the result has no percentiles.
func quantiles(parts []*runfile.Quantiles) *runfile.Quantiles {
	all := &runfile.Quantiles{}
	sum := 0.0
	for _, q := range parts {
		if q != nil {
			all.Count += q.Count
			sum += q.Mean * float64(q.Count)
			all.Max = max(all.Max, q.Max)
		}
	}
	if all.Count == 0 {
		return nil
	}
	all.Mean = sum / float64(all.Count)
	return all
}

func figures(runs []*runfile.Run) []runfile.Figure {
	all := []runfile.Figure{}
	for _, r := range runs {
		for _, f := range r.Figures {
			f.Generator = r.Run.Generator.Number
			all = append(all, f)
		}
	}
	return all
}

// resources takes the pipeline's processes from the instance with the most of them, because they report the same to
// all. Each generator's own process gets its number.
func resources(runs []*runfile.Run) []runfile.Resource {
	longest := slices.MaxFunc(runs,
		func(a, b *runfile.Run) int { return cmp.Compare(len(a.Resources), len(b.Resources)) })
	all := []runfile.Resource{}
	for _, one := range longest.Resources {
		if one.Process != longest.Run.Tool.Name {
			all = append(all, one)
		}
	}
	for _, r := range runs {
		for _, one := range r.Resources {
			if one.Process == r.Run.Tool.Name {
				one.Process = fmt.Sprintf("%s-%d", one.Process, r.Run.Generator.Number)
				all = append(all, one)
			}
		}
	}
	return all
}

func errorClasses(runs []*runfile.Run) []runfile.ErrorClass {
	all := []runfile.ErrorClass{}
	for _, r := range runs {
		for _, e := range r.Errors {
			at := slices.IndexFunc(all,
				func(o runfile.ErrorClass) bool { return o.Stage == e.Stage && o.Class == e.Class })
			if at < 0 {
				all = append(all, e)
			} else {
				all[at].Count += e.Count
			}
		}
	}
	slices.SortStableFunc(all, func(a, b runfile.ErrorClass) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

// environments keeps what is the same on all hosts. git and ci are the first instance's.
func environments(runs []*runfile.Run) map[string]any {
	all := maps.Clone(runs[0].Environment)
	shared := false
	for _, r := range runs {
		for name, value := range all {
			if name != "git" && name != "ci" && !reflect.DeepEqual(value, r.Environment[name]) {
				all[name] = nil
			}
		}
		shared = shared || r.Environment["shared_host"] == true
	}
	if shared {
		all["shared_host"] = true
	}
	return all
}

// targets merges the targets by name. A target of several generators has no percentiles.
func targets(runs []*runfile.Run) *runfile.Targets {
	all := &runfile.Targets{Rows: []runfile.Target{}}
	own, names := map[string][]*runfile.Target{}, []string{}
	for _, r := range runs {
		if r.Targets == nil {
			return nil
		}
		for i := range r.Targets.Rows {
			row := &r.Targets.Rows[i]
			if own[row.Name] == nil {
				names = append(names, row.Name)
			}
			own[row.Name] = append(own[row.Name], row)
		}
	}
	for _, name := range names {
		all.Rows = append(all.Rows, *combined(own[name]))
	}
	all.Total = len(all.Rows)
	all.Others = combined(each(runs, func(r *runfile.Run) *runfile.Others { return r.Targets.Others }))
	if all.Others != nil {
		all.Total += all.Others.Targets
	}
	p99 := func(t runfile.Target) float64 {
		if t.Arrival == nil || t.Arrival.P99 == nil {
			return 0
		}
		return *t.Arrival.P99
	}
	slices.SortStableFunc(all.Rows, func(a, b runfile.Target) int { return cmp.Compare(p99(b), p99(a)) })
	return all
}
