package facts

import (
	"cmp"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// NewMemoryGrowth lists the processes of a run, those that grew most first, unknown ones last. It returns nil without
// a measured phase.
func NewMemoryGrowth(r *runfile.Run) []runfile.MemoryGrowth {
	all, ok := measuredSpan(r.Steps)
	if !ok {
		return nil
	}
	early, late := quarterOf(all, 2), quarterOf(all, 4)
	grown := []runfile.MemoryGrowth{}
	for _, resource := range r.Resources {
		g := runfile.MemoryGrowth{Process: resource.Process}
		g.Pipeline = g.Process != "host" && !generates(r, g.Process)
		g.GrewMB, g.Of = grewMB(resource, early, late)
		grown = append(grown, g)
	}
	slices.SortStableFunc(grown, func(a, b runfile.MemoryGrowth) int {
		switch {
		case a.GrewMB == nil && b.GrewMB == nil:
			return 0
		case a.GrewMB == nil:
			return 1
		case b.GrewMB == nil:
			return -1
		}
		return cmp.Compare(*b.GrewMB, *a.GrewMB)
	})
	return grown
}

// MostGrowth is the most that a process of the pipeline has grown, in MB, and 0 if all shrank; nil: one of them, or
// all, reported no memory.
func MostGrowth(grown []runfile.MemoryGrowth) (most *float64) {
	for _, g := range grown {
		if !g.Pipeline {
			continue
		}
		if g.GrewMB == nil {
			return nil
		}
		if most == nil {
			most = new(0.0)
		}
		most = new(max(*most, *g.GrewMB))
	}
	return most
}

func grewMB(resource runfile.Resource, early, late runfile.Span) (mb *float64, of string) {
	gauge := func(name string) (rows []reading) {
		if resource.Figures == nil {
			return nil
		}
		for i, t := range resource.Figures.T {
			if column := resource.Figures.Gauges[name]; i < len(column) && column[i] != nil {
				rows = append(rows, reading{float64(t), *column[i]})
			}
		}
		return rows
	}
	if heap := grew(gauge("live_heap_mb"), early, late, meanOr0); heap != nil {
		if buffers := grew(gauge("external_mb"), early, late, slices.Min[[]float64]); buffers != nil {
			*heap += *buffers
		}
		return heap, runfile.Heap
	}
	var rss []reading
	for _, row := range resource.Series {
		if row[0] != nil && row[2] != nil {
			rss = append(rss, reading{*row[0], *row[2]})
		}
	}
	if mb = grew(rss, early, late, slices.Min[[]float64]); mb != nil {
		of = runfile.RSS
	}
	return mb, of
}

// reading is a value in a second of the run.
type reading struct{ second, value float64 }

// grew is how much a measure of values grew between two spans; nil: one of them has no value.
func grew(rows []reading, early, late runfile.Span, measure func([]float64) float64) *float64 {
	in := func(span runfile.Span) (values []float64) {
		for _, row := range rows {
			if row.second >= span.FromS && row.second < span.ToS {
				values = append(values, row.value)
			}
		}
		return values
	}
	from, to := in(early), in(late)
	if len(from) == 0 || len(to) == 0 {
		return nil
	}
	return new(measure(to) - measure(from))
}
