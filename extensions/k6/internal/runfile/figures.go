package runfile

import (
	"math"
	"strconv"
)

// maxBins is the most rows of a process in run.json: a run of an hour has bins of 12 s.
const maxBins = 300

// Sample holds the figures that a process reported at a moment.
type Sample struct {
	T        int // second of the run; below 0: before its start, for the initial counters
	Gauges   map[string]float64
	Counters map[string]float64 // since the process started
}

// mostCells is the most rows of a process in memory.
const mostCells = 4 * maxBins

// SampleBins puts the samples of a process into bins as they come: gauges as means, counters as increases. Its memory
// does not grow with the length of the run. The zero value is empty.
type SampleBins struct {
	width          int   // s of a bin
	last           int   // second of the latest sample
	starts         []int // starts of the bins with samples, s
	gauges, counts columns
	counted        map[string]float64 // the latest values of counters
}

// Add adds a sample that is not older than those before. A counter counts from its second sample; one that falls has
// restarted.
func (g *SampleBins) Add(s Sample) {
	if g.counted == nil {
		g.width, g.gauges, g.counts, g.counted = 1, columns{}, columns{}, map[string]float64{}
	}
	g.last = max(g.last, s.T)
	if start := s.T / g.width * g.width; s.T >= 0 && (len(g.starts) == 0 || g.starts[len(g.starts)-1] < start) {
		g.starts = append(g.starts, start)
	}
	row := len(g.starts) - 1
	for name, value := range s.Counters {
		before, known := g.counted[name]
		g.counted[name] = value
		if value < before {
			before = 0
		}
		if known && row >= 0 {
			g.counts.add(name, row, cell{value - before, 1})
		}
	}
	for name, value := range s.Gauges {
		if row >= 0 {
			g.gauges.add(name, row, cell{value, 1})
		}
	}
	if len(g.starts) > mostCells {
		g.widen(2 * g.width)
	}
}

// widen merges bins into wider ones; width is a multiple of that of today.
func (g *SampleBins) widen(width int) {
	var starts, rows []int // rows: the new row of each bin
	for _, t := range g.starts {
		if start := t / width * width; len(starts) == 0 || starts[len(starts)-1] < start {
			starts = append(starts, start)
		}
		rows = append(rows, len(starts)-1)
	}
	merged := func(all columns) columns {
		wider := columns{}
		for name, cells := range all {
			for row, c := range cells {
				wider.add(name, rows[row], c)
			}
		}
		return wider
	}
	g.width, g.starts, g.gauges, g.counts = width, starts, merged(g.gauges), merged(g.counts)
}

// Figures returns what was gathered, in at most maxBins bins; nil without figures. Nothing can be added afterwards.
func (g *SampleBins) Figures() *Figures {
	if len(g.gauges)+len(g.counts) == 0 {
		return nil
	}
	if wanted := g.last/maxBins + 1; wanted > g.width {
		g.widen((wanted + g.width - 1) / g.width * g.width)
	}
	f := &Figures{BinS: g.width, T: append([]int{}, g.starts...)}
	f.Gauges = g.gauges.of(len(f.T), func(c cell) float64 { return c.sum / c.n }) // 0/0 without samples
	f.Counts = g.counts.of(len(f.T), func(c cell) float64 { return c.sum })
	return f
}

// cell sums the samples of a bin; columns have a cell for each bin up to the last used one.
type (
	cell    struct{ sum, n float64 }
	columns map[string][]cell
)

func (c columns) add(name string, row int, more cell) {
	column := c[name]
	column = append(column, make([]cell, max(0, row+1-len(column)))...)
	column[row].sum += more.sum
	column[row].n += more.n
	c[name] = column
}

// of converts cells to numbers; nil for the rows after the last.
func (c columns) of(rows int, number func(cell) float64) map[string][]*float64 {
	all := map[string][]*float64{}
	for name, cells := range c {
		all[name] = make([]*float64, rows)
		for row, cell := range cells {
			all[name][row] = rounded(number(cell))
		}
	}
	return all
}

// rounded rounds a number for JSON: integers stay, others get the 4 digits that a chart can show.
func rounded(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	if v != math.Trunc(v) {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	}
	return &v
}
