package report

// NewResource sums up what a process used. Rows are second of the run, cpu_percent, rss_mb; nil where the system does not tell.
func NewResource(name string, rows [][3]*float64) Resource {
	if rows == nil {
		rows = [][3]*float64{}
	}
	return Resource{Process: name, CPUPercent: meanMax(rows, 1), RSSMB: meanMax(rows, 2), Series: rows}
}

func meanMax(rows [][3]*float64, column int) MeanMax {
	sum, most, n := 0.0, 0.0, 0
	for _, row := range rows {
		if v := row[column]; v != nil {
			if n == 0 || *v > most {
				most = *v
			}
			sum += *v
			n++
		}
	}
	if n == 0 {
		return MeanMax{}
	}
	mean := sum / float64(n)
	return MeanMax{Mean: &mean, Max: &most}
}

// CPUBetween is what each process used in a span of the run (seconds): the mean of what it said in it, in percent of a core. Nil
// where none said anything, as in a span of less than a second.
func CPUBetween(resources []Resource, from, to float64) map[string]float64 {
	var used map[string]float64
	for _, r := range resources {
		sum, n := 0.0, 0
		for _, row := range r.Series {
			if t, cpu := row[0], row[1]; t != nil && cpu != nil && from <= *t && *t < to {
				sum += *cpu
				n++
			}
		}
		if n > 0 {
			if used == nil {
				used = map[string]float64{}
			}
			used[r.Process] = sum / float64(n)
		}
	}
	return used
}
