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
