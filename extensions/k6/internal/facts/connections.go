package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// NewConnectionCost is the cost of each connection of a process, all of which were open in a span of the run.
func NewConnectionCost(r *runfile.Run, process string, connections float64, held runfile.Span) runfile.ConnectionCost {
	cost := runfile.ConnectionCost{Process: process, Connections: connections}
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

// connections completes the figures of a run with publishers; nil: it has none.
//
// The instrument sets what was wanted, and when all were to be open. What was held is in the figures of each
// instance.
func connections(r *runfile.Run) *runfile.Connections {
	c := r.Facts.Connections
	if c == nil {
		return nil
	}
	sums := map[string]int{}
	costs := []runfile.ConnectionCost{}
	for _, f := range r.Figures {
		if f.Value == nil {
			continue
		}
		sums[f.Name] += int(*f.Value)
		if f.Name != runfile.FigureWanted {
			continue
		}
		process := r.Run.Tool.Name
		if f.Generator > 0 {
			process = fmt.Sprintf("%s-%d", process, f.Generator)
		}
		costs = append(costs, NewConnectionCost(r, process, *f.Value, c.During))
	}
	for n := range c.Brokers {
		process := broker
		if n > 0 {
			process = fmt.Sprintf("%s-%d", broker, n+1)
		}
		costs = append(costs, NewConnectionCost(r, process, float64(c.All)/float64(c.Brokers), c.During))
	}
	var astray *int
	if r.Canary != nil {
		astray = new(r.Canary.Sent - r.Canary.Arrived)
	}
	return &runfile.Connections{
		CanaryMissing: astray,
		Wanted:        sums[runfile.FigureWanted], Held: sums[runfile.FigureHeld], Lost: sums[runfile.FigureLost],
		Missing: sums[runfile.FigureWanted] - sums[runfile.FigureHeld] + sums[runfile.FigureLost],
		All:     c.All, Brokers: c.Brokers, During: c.During, Costs: costs,
	}
}

// broker is the process of the first broker of the pipeline's stack; those beside it have numbers from 2 on.
const broker = "mosquitto"

// clientsGauge is the figure of a broker that counts its connections.
const clientsGauge = "clients"

// connectionsTitle is about the connections that brokers counted over time; empty: they counted none.
func connectionsTitle(r *runfile.Run) string {
	c := r.Facts.Connections
	if c == nil || !slices.ContainsFunc(r.Resources, func(one runfile.Resource) bool {
		return strings.HasPrefix(one.Process, broker) && one.Figures != nil && len(one.Figures.Gauges[clientsGauge]) > 0
	}) {
		return ""
	}
	title := fmt.Sprintf("%s of %s were held", words.Count(c.Held), words.Plural(c.Wanted, "connection"))
	if c.Lost > 0 {
		title += fmt.Sprintf("; %s were lost", words.Count(c.Lost))
	}
	return title
}

// HeldDuring is the span in which all connections are to be open: from the first phase that begins when they are, at
// the pace of so many a second, to the end of the load.
func HeldDuring(phases []runfile.Phase, connections int, perS float64) runfile.Span {
	opening := float64(connections) / perS
	held, start := runfile.Span{FromS: opening}, 0.0
	for _, p := range phases {
		if start >= opening && held.ToS == 0 {
			held.FromS, held.ToS = start, start
		}
		start += p.DurationS
	}
	held.ToS = max(start, held.FromS)
	return held
}
