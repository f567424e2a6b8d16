package merge

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

func figures(runs []*report.Run) []report.Figure {
	all := []report.Figure{}
	for _, r := range runs {
		for _, f := range r.Figures {
			f.Generator = r.Run.Generator.Number
			all = append(all, f)
		}
	}
	return all
}

// resources are the pipeline's, whose processes report the same to all instances: the one that listened longest knows most of them. What the
// generators themselves used has a name of its own each.
func resources(runs []*report.Run) []report.Resource {
	longest := slices.MaxFunc(runs, func(a, b *report.Run) int { return cmp.Compare(len(a.Resources), len(b.Resources)) })
	all := []report.Resource{}
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

func errorClasses(runs []*report.Run) []report.ErrorClass {
	all := []report.ErrorClass{}
	for _, r := range runs {
		for _, e := range r.Errors {
			at := slices.IndexFunc(all, func(o report.ErrorClass) bool { return o.Stage == e.Stage && o.Class == e.Class })
			if at < 0 {
				all = append(all, e)
			} else {
				all[at].Count += e.Count
			}
		}
	}
	slices.SortStableFunc(all, func(a, b report.ErrorClass) int { return cmp.Compare(b.Count, a.Count) })
	return all
}

// environments are what is the same on all hosts; Generators has of each what it is judged by. The whole came from where
// the first instance did.
func environments(runs []*report.Run) map[string]any {
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

// targets are each generator's own where generators have topics of their own. One that several have has no percentile.
func targets(runs []*report.Run) *report.Targets {
	all := &report.Targets{Rows: []report.Target{}}
	own, names := map[string][]*report.Target{}, []string{}
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
	if all.Others = combined(each(runs, func(r *report.Run) *report.Others { return r.Targets.Others })); all.Others != nil {
		all.Total += all.Others.Targets
	}
	p99 := func(t report.Target) float64 {
		if t.Arrival == nil || t.Arrival.P99 == nil {
			return 0
		}
		return *t.Arrival.P99
	}
	slices.SortStableFunc(all.Rows, func(a, b report.Target) int { return cmp.Compare(p99(b), p99(a)) })
	return all
}

// together keeps the percentiles of one that stands alone.
func together(parts []*report.Quantiles) *report.Quantiles {
	if len(parts) == 1 {
		return parts[0]
	}
	return quantiles(parts)
}
