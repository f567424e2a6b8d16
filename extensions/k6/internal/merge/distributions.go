package merge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// addUp fills in what has histograms.
func addUp(r *report.Run, runs []*report.Run) (err error) {
	all := make([]*report.Latencies, len(runs))
	for i, one := range runs {
		all[i] = &one.Latency
	}
	if r.Latency, err = latencies(all); err != nil {
		return err
	}
	if r.Health, err = health(runs); err != nil {
		return err
	}
	if r.Canary, err = canaries(runs); err != nil {
		return err
	}
	if r.Steps, err = steps(runs, r.Resources); err != nil {
		return err
	}
	r.Knee = report.NewKnee(r.Steps)
	r.Flows = make([]report.FlowResult, len(runs[0].Flows))
	for i := range r.Flows {
		flow := &r.Flows[i]
		flow.Name = runs[0].Flows[i].Name
		var own []*report.Latency
		for _, one := range runs {
			if i >= len(one.Flows) {
				continue
			}
			part := &one.Flows[i]
			flow.Scheduled += part.Scheduled
			flow.Arrived += part.Arrived
			own = append(own, &part.Arrival)
		}
		if flow.Arrival, err = latency(own); err != nil {
			return err
		}
	}
	return nil
}

func health(runs []*report.Run) (report.Health, error) {
	all := report.NewHealth()
	var lateness, waits []*report.Latency
	for _, r := range runs {
		h := r.Health
		if h.Lateness != nil {
			lateness = append(lateness, h.Lateness)
		}
		if h.SocketWait != nil {
			waits = append(waits, h.SocketWait)
		}
		all.ArrivalStamps.Kernel += h.ArrivalStamps.Kernel
		all.ArrivalStamps.Read += h.ArrivalStamps.Read
		for _, gap := range h.Gaps {
			gap.Reason = fmt.Sprintf("generator %d: %s", r.Run.Generator.Number, gap.Reason)
			all.Gaps = append(all.Gaps, gap)
		}
		all.SamplesDiscarded += h.SamplesDiscarded
		all.TrendOneIn = max(all.TrendOneIn, h.TrendOneIn)
	}
	slices.SortStableFunc(all.Gaps, func(a, b report.Gap) int { return cmp.Compare(a.FromS, b.FromS) })
	for to, from := range map[**report.Latency][]*report.Latency{&all.Lateness: lateness, &all.SocketWait: waits} {
		if len(from) > 0 {
			sum, err := latency(from)
			if err != nil {
				return all, err
			}
			*to = &sum
		}
	}
	return all, nil
}

func canaries(runs []*report.Run) (*report.Canary, error) {
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
		all.Sent += c.Sent
		all.Arrived += c.Arrived
		own = append(own, &c.Latency)
	}
	if all == nil {
		return nil, nil
	}
	var err error
	all.Latency, err = latency(own)
	return all, err
}

// steps are the phases by their place: each instance has all of them, as far as it came.
func steps(runs []*report.Run, resources []report.Resource) ([]report.Step, error) {
	all := []report.Step{}
	for i := 0; ; i++ {
		var there []*report.Step
		for _, r := range runs {
			if i < len(r.Steps) {
				there = append(there, &r.Steps[i])
			}
		}
		if len(there) == 0 {
			return all, nil
		}
		step, err := addSteps(there)
		if err != nil {
			return nil, err
		}
		step.CPUPercent = report.CPUBetween(resources, step.StartS, step.StartS+step.DurationS)
		all = append(all, step)
	}
}

func addSteps(parts []*report.Step) (all report.Step, err error) {
	first := parts[0]
	all = report.Step{Name: first.Name, StartS: first.StartS, Measured: first.Measured, Backlog: new(0), DrainedS: first.DrainedS}
	if first.VUs != nil {
		all.VUs = new(0)
	}
	end := 0.0
	var own []*report.Latencies
	for _, p := range parts {
		all.StartS, end = min(all.StartS, p.StartS), max(end, p.StartS+p.DurationS)
		if all.VUs != nil && p.VUs != nil {
			*all.VUs += *p.VUs
		}
		all.Requests += p.Requests
		all.Scheduled += p.Scheduled
		all.Accepted += p.Accepted
		all.Due += p.Due
		all.Arrived += p.Arrived
		if all.Backlog != nil && p.Backlog != nil {
			*all.Backlog += *p.Backlog
		} else {
			all.Backlog = nil
		}
		if all.DrainedS != nil && p.DrainedS != nil {
			all.DrainedS = most(all.DrainedS, p.DrainedS)
		} else {
			all.DrainedS = nil
		}
		own = append(own, &p.Latency)
	}
	all.DurationS = end - all.StartS
	all.ScheduledPerS, all.AcceptedPerS = float64(all.Scheduled)/all.DurationS, float64(all.Accepted)/all.DurationS
	all.ArrivedPerS = float64(all.Arrived) / all.DurationS
	all.Latency, err = latencies(own)
	return all, err
}
