package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// takeOff is how many times the lowest p50 of lower concurrencies a p50 has to exceed to have taken off.
const takeOff = 5

// Knee is where the arrival latency of a sweep takes off for good.
type Knee struct {
	VUs       int     `json:"vus"` // the last concurrency before
	P50MS     float64 `json:"p50_ms"`
	NextVUs   int     `json:"next_vus"` // the first after
	NextP50MS float64 `json:"next_p50_ms"`
	Stage     *string `json:"stage"` // whose mean grew the most in between; nil: not told by the pipeline
}

// FindKnee finds the knee of the measured steps of the closed model: the last concurrency before p50 of the arrival takes off for good,
// that is, exceeds 5 times the lowest p50 of the concurrencies below, there and at each that is higher. Nil: it does not.
func FindKnee(steps []Step) *Knee {
	steps = sweepSteps(steps)
	if len(steps) == 0 {
		return nil
	}
	first, low := -1, *steps[0].Latency.Arrival.P50
	for i, s := range steps {
		p50 := *s.Latency.Arrival.P50
		switch {
		case p50 <= takeOff*low:
			first, low = -1, min(low, p50)
		case first < 0:
			first = i
		}
	}
	if first < 0 {
		return nil
	}
	before, after := steps[first-1], steps[first]
	k := &Knee{
		VUs: *before.VUs, P50MS: *before.Latency.Arrival.P50, NextVUs: *after.VUs, NextP50MS: *after.Latency.Arrival.P50,
	}
	most := 0.0
	for i := range ledger.Stages {
		name := i.String()
		from, to := before.Latency.Stages[name].Mean, after.Latency.Stages[name].Mean
		if from != nil && to != nil && *to-*from > most {
			most, k.Stage = *to-*from, &name
		}
	}
	if before.Latency.Stages[ledger.Queue.String()].Mean == nil {
		k.Stage = nil // without stamps only the schedule is told, which nothing can be blamed on
	}
	return k
}

// sweepSteps are those that a sweep is made of, by concurrency.
func sweepSteps(steps []Step) []Step {
	var out []Step
	for _, s := range steps {
		if s.Measured && s.VUs != nil && *s.VUs > 0 && s.Latency.Arrival.P50 != nil {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b Step) int { return *a.VUs - *b.VUs })
	return out
}

// sweepText is a table of the steps of the closed model, a line each, and the knee; nil where there is nothing to compare.
func sweepText(r *Run) []string {
	steps := slices.DeleteFunc(slices.Clone(r.Steps), func(s Step) bool { return s.VUs == nil || *s.VUs == 0 })
	if len(steps) < 2 {
		return nil
	}
	roles := cpuRoles(steps)
	head := fmt.Sprintf("%7s %9s %9s %8s %8s %8s %8s %8s", "vus", "req/s", "HTTP mean", "p99", "arr. p50", "p99", "max", "backlog")
	for _, role := range roles {
		head += fmt.Sprintf(" %*s", max(len(role), 4), role)
	}
	lines := []string{head + strings.Repeat(" %", min(len(roles), 1))}
	for _, s := range steps {
		a, h := s.Latency.Arrival, s.Latency.HTTP
		backlog := "n/a"
		if s.Backlog != nil {
			backlog = count(*s.Backlog)
		}
		line := fmt.Sprintf("%7d %9s %9s %8s %8s %8s %8s %8s", *s.VUs, count(int(float64(s.Requests)/s.DurationS+0.5)),
			num(h.Mean), num(h.P99), num(a.P50), num(a.P99), num(a.Max), backlog)
		for _, role := range roles {
			line += fmt.Sprintf(" %*s", max(len(role), 4), cpuOf(s, role))
		}
		lines = append(lines, line)
	}
	return lines
}

// kneeText says in a sentence where the knee is.
func kneeText(r *Run) string {
	switch k := r.Knee; {
	case len(sweepSteps(r.Steps)) < 3:
		return ""
	case k == nil:
		return fmt.Sprintf("none: p50 of the arrival stays within %d times its lowest", takeOff)
	default:
		s := fmt.Sprintf("at %d: p50 %s ms there, %s ms at %d", k.VUs, num(&k.P50MS), num(&k.NextP50MS), k.NextVUs)
		if k.Stage != nil {
			s += "; the stage that grew is " + *k.Stage
		}
		return s
	}
}

// cpuRoles are the kinds of processes that have told their CPU, without their numbers.
func cpuRoles(steps []Step) []string {
	var roles []string
	for _, s := range steps {
		for _, name := range sorted(s.CPUPercent) {
			if role := roleOf(name); !slices.Contains(roles, role) {
				roles = append(roles, role)
			}
		}
	}
	slices.Sort(roles)
	return roles
}

// cpuOf sums the processes of a role.
func cpuOf(s Step, role string) string {
	sum, told := 0.0, false
	for name, cpu := range s.CPUPercent {
		if roleOf(name) == role {
			sum, told = sum+cpu, true
		}
	}
	if !told {
		return "n/a"
	}
	return fmt.Sprintf("%.0f", sum)
}

// roleOf is a process's name without its number: ingest-2 is an ingest.
func roleOf(process string) string {
	role, number, ok := strings.Cut(process, "-")
	if ok && strings.Trim(number, "0123456789") == "" {
		return role
	}
	return process
}

func sorted(m map[string]float64) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
