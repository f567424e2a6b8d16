package render

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// nameMost is the longest name of a phase in a table of eighty columns, and some more.
const nameMost = 20

// stepsText is a table of the phases; nil when there is nothing to compare. wide adds the CPU, and in the open model
// how long a phase took until 99 % of its deliveries had arrived.
func stepsText(r *runfile.Run, wide bool) []string {
	steps := slices.DeleteFunc(slices.Clone(r.Steps), func(s runfile.Step) bool { return s.Requests == 0 })
	if len(steps) < 2 {
		return nil
	}
	for i := range steps {
		if name := []rune(words.Printable(steps[i].Name)); len(name) > nameMost {
			steps[i].Name = string(name[:nameMost-1]) + "…"
		}
	}
	width := stepWidth(steps)
	var roles []string
	if wide {
		roles = cpuRoles(steps)
	}
	mean := r.Run.Protocol + " mean"
	head := fmt.Sprintf("%*s %7s %s %7s %8s %7s %7s %7s", width, "phase", "req/s", mean, "p99", "arr. p50", "p99",
		"max", "backlog")
	almost := wide && slices.ContainsFunc(steps, func(s runfile.Step) bool { return s.Arrived99S != nil })
	if almost {
		head += fmt.Sprintf(" %10s", "99 % in s")
	}
	unit := strings.Repeat("  CPU %:", min(len(roles), 1))
	head += unit
	for _, role := range roles {
		head += fmt.Sprintf(" %*s", max(len(role), 4), role)
	}
	lines := []string{head}
	some := someOf(steps)
	for _, s := range some {
		a, h := s.Latency.Arrival, s.Latency.HTTP
		backlog := "n/a"
		if s.Backlog != nil {
			backlog = words.Count(*s.Backlog)
		}
		line := fmt.Sprintf("%*s %7s %*s %7s %8s %7s %7s %7s", width, s.Name,
			words.Count(int(float64(s.Requests)/s.DurationS+0.5)),
			len(mean), words.MS(h.Mean), words.MS(h.At(99)), words.MS(a.At(50)), words.MS(a.At(99)), words.MS(a.Max), backlog)
		if almost {
			line += fmt.Sprintf(" %10s", words.MS(s.Arrived99S))
		}
		line += strings.Repeat(" ", len(unit))
		for _, role := range roles {
			line += fmt.Sprintf(" %*s", max(len(role), 4), cpuOf(s, role))
		}
		lines = append(lines, line)
	}
	if len(some) < len(steps) {
		lines = append(lines, fmt.Sprintf("%d of %s: the report has all", len(some), words.Plural(len(steps), "phase")))
	}
	return lines
}

const (
	stepsMost = 24 // that a terminal shows, all of them: a sweep has 20
	stepsSome = 10 // are shown where there are more
)

// someOf picks as many steps as a terminal can show, including the first and the last.
func someOf(steps []runfile.Step) []runfile.Step {
	if len(steps) <= stepsMost {
		return steps
	}
	some := make([]runfile.Step, stepsSome)
	for i := range some {
		some[i] = steps[i*(len(steps)-1)/(stepsSome-1)]
	}
	return some
}

// stepWidth is the width of the column of names.
func stepWidth(steps []runfile.Step) int {
	width := 5
	for _, s := range steps {
		width = max(width, utf8.RuneCountInString(s.Name))
	}
	return width
}

// cpuRoles are the kinds of processes that have reported their CPU, without their numbers.
func cpuRoles(steps []runfile.Step) []string {
	var roles []string
	for _, s := range steps {
		for name := range s.CPUPercent {
			roles = append(roles, runfile.RoleOf(name))
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// cpuOf sums the processes of a role.
func cpuOf(s runfile.Step, role string) string {
	sum, known := 0.0, false
	for name, cpu := range s.CPUPercent {
		if runfile.RoleOf(name) == role {
			sum, known = sum+cpu, true
		}
	}
	if !known {
		return "n/a"
	}
	return words.Level(sum)
}
