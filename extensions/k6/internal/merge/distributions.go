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
		var own []*report.Latency
		for _, r := range runs {
			if i < len(r.Flows) {
				addCounts(&all[i], &r.Flows[i])
				own = append(own, &r.Flows[i].Arrival)
			}
		}
		all[i].Name, all[i].Arrival = runs[0].Flows[i].Name, *latency(own)
	}
	return all
}

func health(runs []*report.Run) report.Health {
	all := report.NewHealth()
	var lateness, waits []*report.Latency
	for _, r := range runs {
		h := r.Health
		lateness, waits = append(lateness, h.Lateness), append(waits, h.SocketWait)
		addCounts(&all.ArrivalStamps, &h.ArrivalStamps)
		for _, gap := range h.Gaps {
			gap.Reason = fmt.Sprintf("generator %d: %s", r.Run.Generator.Number, gap.Reason)
			all.Gaps = append(all.Gaps, gap)
		}
		all.SamplesDiscarded += h.SamplesDiscarded
		all.TrendOneIn = max(all.TrendOneIn, h.TrendOneIn)
	}
	slices.SortStableFunc(all.Gaps, func(a, b report.Gap) int { return cmp.Compare(a.FromS, b.FromS) })
	all.Lateness, all.SocketWait = latency(lateness), latency(waits)
	return all
}

func canaries(runs []*report.Run) *report.Canary {
	var all *report.Canary
	var own []*report.Latency
	for _, r := range runs {
		c := r.Canary
		if c == nil {
			continue
		}
		if all == nil {
			all = &report.Canary{IntervalS: c.IntervalS}
		}
		addCounts(all, c)
		own = append(own, &c.Latency)
	}
	if all != nil {
		all.Latency = *latency(own)
	}
	return all
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
		step := addSteps(there)
		step.CPUPercent = report.CPUBetween(resources, step.StartS, step.StartS+step.DurationS)
		all = append(all, step)
	}
}

// latest is nil where one part did not come to it.
func latest(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return most(a, b)
}

func addSteps(parts []*report.Step) report.Step {
	first := parts[0]
	all := report.Step{Name: first.Name, StartS: first.StartS, Measured: first.Measured, Backlog: new(0), DrainedS: first.DrainedS, Arrived99S: first.Arrived99S}
	if first.VUs != nil {
		all.VUs = new(0)
	}
	end := 0.0
	for _, p := range parts {
		all.StartS, end = min(all.StartS, p.StartS), max(end, p.StartS+p.DurationS)
		if all.VUs != nil && p.VUs != nil {
			*all.VUs += *p.VUs
		}
		addCounts(&all, p)
		if all.Backlog != nil && p.Backlog != nil {
			*all.Backlog += *p.Backlog
		} else {
			all.Backlog = nil
		}
		all.DrainedS, all.Arrived99S = latest(all.DrainedS, p.DrainedS), latest(all.Arrived99S, p.Arrived99S)
	}
	all.DurationS = end - all.StartS
	all.ScheduledPerS, all.AcceptedPerS = float64(all.Scheduled)/all.DurationS, float64(all.Accepted)/all.DurationS
	all.ArrivedPerS = float64(all.Arrived) / all.DurationS
	all.Latency = latencies(parts, func(p *report.Step) *report.Latencies { return &p.Latency })
	return all
}
