package facts

import (
	"cmp"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// ConnectionCost is what a process used for each connection that it held.
type ConnectionCost struct {
	Process     string  `json:"process"`
	Connections float64 `json:"connections"` // of this process; with several brokers, its share
	// MemoryKB is how much resident memory grew from the first second to the first one with all connections, for each
	// of them, in KB (1,000 bytes); nil: not known.
	MemoryKB *float64 `json:"memory_kb"`
	// CPUUSPerS is the mean CPU while the connections were held, for each of them, in µs of CPU in a second; nil: not
	// known.
	CPUUSPerS *float64 `json:"cpu_us_per_s"`
}

// NewConnectionCost is the cost of each connection of a process, all of which were open in a span of the run.
func NewConnectionCost(r *report.Run, process string, connections float64, held report.Span) ConnectionCost {
	cost := ConnectionCost{Process: process, Connections: connections}
	type row struct{ t, cpu, rss float64 }
	var known, within []row
	for _, resource := range r.Resources {
		if resource.Process != process {
			continue
		}
		for _, s := range resource.Series {
			if s[0] != nil && s[1] != nil && s[2] != nil {
				known = append(known, row{*s[0], *s[1], *s[2]})
			}
		}
	}
	slices.SortStableFunc(known, func(a, b row) int { return cmp.Compare(a.t, b.t) })
	for _, one := range known {
		if one.t >= held.FromS && one.t < held.ToS {
			within = append(within, one)
		}
	}
	if len(within) == 0 || connections <= 0 {
		return cost
	}
	cpu := 0.0
	for _, one := range within {
		cpu += one.cpu / float64(len(within))
	}
	const kbOfMB, usOfPercent = 1000, 10_000 // 1 % of a core is 10,000 µs a second
	cost.CPUUSPerS = new(cpu * usOfPercent / connections)
	if first := known[0]; first.t < within[0].t {
		cost.MemoryKB = new((within[0].rss - first.rss) * kbOfMB / connections)
	}
	return cost
}
