package report

import "math"

// NewResource sums up what a process used. Rows are second of the run, cpu_percent, rss_mb; nil where the system does not tell.
func NewResource(name string, rows [][3]*float64) Resource {
	return Resource{Process: name, CPUPercent: meanMax(rows, 1), RSSMB: meanMax(rows, 2), Series: rows}
}

func meanMax(rows [][3]*float64, column int) *MeanMax {
	m, n := MeanMax{Max: math.Inf(-1)}, 0
	for _, row := range rows {
		if v := row[column]; v != nil {
			m.Mean += *v
			m.Max = max(m.Max, *v)
			n++
		}
	}
	if n == 0 {
		return nil
	}
	m.Mean /= float64(n)
	return &m
}
