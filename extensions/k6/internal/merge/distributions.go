package merge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// flows are those of the profile, by their place.
func flows(runs []*report.Run) []report.FlowResult {
	all := make([]report.FlowResult, len(runs[0].Flows))
	for i := range all {
		var own []*report.FlowResult
		for _, r := range runs {
			if i < len(r.Flows) {
				own = append(own, &r.Flows[i])
			}
		}
		all[i] = *combined(own)
	}
	return all
}

func health(runs []*report.Run) report.Health {
	all := combined(each(runs, func(r *report.Run) *report.Health { return &r.Health }))
	all.Gaps, all.TrendOneIn = []report.Gap{}, 1
	for _, r := range runs {
		for _, gap := range r.Health.Gaps {
			gap.Reason = fmt.Sprintf("generator %d: %s", r.Run.Generator.Number, gap.Reason)
			all.Gaps = append(all.Gaps, gap)
		}
		all.TrendOneIn = max(all.TrendOneIn, r.Health.TrendOneIn)
	}
	slices.SortStableFunc(all.Gaps, func(a, b report.Gap) int { return cmp.Compare(a.FromS, b.FromS) })
	return *all
}

// steps are the phases by their place: each instance has all of them, as far as it came.
func steps(runs []*report.Run, resources []report.Resource) []report.Step {
	all := []report.Step{}
	for i := 0; ; i++ {
		var there []*report.Step
		for _, r := range runs {
			if i < len(r.Steps) {
				there = append(there, &r.Steps[i])
			}
		}
		if len(there) == 0 {
			return all
		}
		step := combined(there)
		end := 0.0
		for _, p := range there {
			step.StartS, end = min(step.StartS, p.StartS), max(end, p.StartS+p.DurationS)
			if p.DrainedS == nil {
				step.DrainedS = nil
			}
		}
		step.DurationS, step.Sampled = end-step.StartS, nil
		step.ScheduledPerS, step.AcceptedPerS = float64(step.Scheduled)/step.DurationS, float64(step.Accepted)/step.DurationS
		step.ArrivedPerS = float64(step.Arrived) / step.DurationS
		step.CPUPercent = report.CPUBetween(resources, step.StartS, end)
		all = append(all, *step)
	}
}
