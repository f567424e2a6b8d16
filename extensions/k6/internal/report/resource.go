package report

import "slices"

// NewResource summarizes the use of a process. Rows are second of the run, cpu_percent, rss_mb; nil: unknown.
func NewResource(name string, rows [][3]*float64) Resource {
	if rows == nil {
		rows = [][3]*float64{}
	}
	return Resource{Process: name, CPUPercent: meanMax(rows, 1), RSSMB: meanMax(rows, 2), Series: rows}
}

func meanMax(rows [][3]*float64, column int) MeanMax {
	var known []float64
	sum := 0.0
	for _, row := range rows {
		if v := row[column]; v != nil {
			known = append(known, *v)
			sum += *v
		}
	}
	if known == nil {
		return MeanMax{}
	}
	return MeanMax{Mean: new(sum / float64(len(known))), Max: new(slices.Max(known))}
}

// CPUBetween is the mean CPU of each process in a span of the run (seconds), in percent of a core. It is nil without
// a reading, as in a span of less than a second.
func CPUBetween(resources []Resource, from, to float64) map[string]float64 {
	var used map[string]float64
	for _, r := range resources {
		within := slices.DeleteFunc(slices.Clone(r.Series), func(row [3]*float64) bool { return row[0] == nil || *row[0] < from || *row[0] >= to })
		if cpu := meanMax(within, 1).Mean; cpu != nil {
			if used == nil {
				used = map[string]float64{}
			}
			used[r.Process] = *cpu
		}
	}
	return used
}
