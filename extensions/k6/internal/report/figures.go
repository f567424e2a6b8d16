package report

import (
	"math"
	"strconv"
)

// maxBins bounds the rows that a process has in run.json: a run of an hour is told in bins of 12 s.
const maxBins = 300

// Sample is what a process said of itself at a moment.
type Sample struct {
	T        int // second of the run; below 0 before its start: what the counters stood at
	Gauges   map[string]float64
	Counters map[string]float64 // since the process started
}

// NewFigures puts samples, in the order of their time, into bins: of gauges the mean, of counters what they grew by. It returns
// nil when there is nothing to tell. A counter is known from its second sample on; one that fell has begun anew.
func NewFigures(samples []Sample) *Figures {
	if len(samples) == 0 {
		return nil
	}
	width := max(0, samples[len(samples)-1].T)/maxBins + 1
	sums, sizes, counts := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	counted := map[string]float64{}
	f := &Figures{BinS: width, T: []int{}, Gauges: map[string][]*float64{}, Counts: map[string][]*float64{}}
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
				add(counts, name, row, value-before)
			}
		}
		if row < 0 {
			continue
		}
		for name, value := range s.Gauges {
			add(sums, name, row, value)
			add(sizes, name, row, 1)
		}
	}
	for name, column := range sums {
		for row, sum := range column {
			f.Gauges[name] = append(f.Gauges[name], rounded(sum/sizes[name][row])) // 0/0 where it said nothing
		}
	}
	for name, column := range counts {
		for _, count := range column {
			f.Counts[name] = append(f.Counts[name], rounded(count))
		}
	}
	for _, columns := range []map[string][]*float64{f.Gauges, f.Counts} {
		for name, column := range columns {
			columns[name] = append(column, make([]*float64, len(f.T)-len(column))...)
		}
	}
	if len(f.Gauges)+len(f.Counts) == 0 {
		return nil
	}
	return f
}

func add(columns map[string][]float64, name string, row int, value float64) {
	column := columns[name]
	if missing := row + 1 - len(column); missing > 0 {
		column = append(column, make([]float64, missing)...)
		columns[name] = column
	}
	column[row] += value
}

// rounded is a number as JSON takes it: integers as they are, others to the 4 digits that a chart can show.
func rounded(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	if v != math.Trunc(v) {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	}
	return &v
}
