package report

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

// NewFigures puts samples, sorted by time, into bins: gauges as means, counters as increases. It returns nil without figures. A
// counter counts from its second sample; one that falls has restarted.
func NewFigures(samples []Sample) *Figures {
	if len(samples) == 0 {
		return nil
	}
	width := max(0, samples[len(samples)-1].T)/maxBins + 1
	f := &Figures{BinS: width, T: []int{}}
	gauges, counts, counted := columns{}, columns{}, map[string]float64{}
	for _, s := range samples {
		if start := s.T / width * width; s.T >= 0 && (len(f.T) == 0 || f.T[len(f.T)-1] < start) {
			f.T = append(f.T, start)
		}
		row := len(f.T) - 1
		for name, value := range s.Counters {
			before, known := counted[name]
			counted[name] = value
			if value < before {
				before = 0
			}
			if known && row >= 0 {
				counts.add(name, row, value-before)
			}
		}
		for name, value := range s.Gauges {
			if row >= 0 {
				gauges.add(name, row, value)
			}
		}
	}
	if len(gauges)+len(counts) == 0 {
		return nil
	}
	f.Gauges = gauges.of(len(f.T), func(c cell) float64 { return c.sum / c.n }) // 0/0 without samples
	f.Counts = counts.of(len(f.T), func(c cell) float64 { return c.sum })
	return f
}

// cell sums the samples of a bin; columns have a cell for each bin up to the last used one.
type (
	cell    struct{ sum, n float64 }
	columns map[string][]cell
)

func (c columns) add(name string, row int, value float64) {
	column := c[name]
	column = append(column, make([]cell, max(0, row+1-len(column)))...)
	column[row].sum += value
	column[row].n++
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
