package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

type side struct {
	what  string
	value float64
	unit  string
}

func (s side) String() string { return fmt.Sprintf("%s %s %s", s.what, significant(s.value), s.unit) }

// figure is one line of the table. ratio is ours divided by the baseline: at most limit for a cost, at least limit
// for a throughput.
type figure struct {
	row            string // empty if the row has one figure
	baseline, ours side
	ratio          float64
	limit          float64
	atLeast        bool
	notes          []string // below the table
}

// atMost returns the figure of a value with an absolute limit.
func atMost(limit float64, what string, value float64, unit string) figure {
	return figure{limit: 1, baseline: side{"allowed", limit, unit}, ours: side{what, value, unit}, ratio: value / limit}
}

func (f *figure) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

func (f figure) holds() bool {
	if f.atLeast {
		return f.ratio >= f.limit
	}
	return f.ratio > 0 && f.ratio <= f.limit // a cost below 0: more was subtracted than measured
}

func (f figure) wanted() string {
	sign := "≤"
	if f.atLeast {
		sign = "≥"
	}
	return fmt.Sprintf("%s %.2f", sign, f.limit)
}

func table(figures []figure) string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "\nfigure\tbaseline\tours\tratio\twanted\tok")
	for _, f := range figures {
		ok := "yes"
		if !f.holds() {
			ok = "NO"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%.3f\t%s\t%s\n", f.row, f.baseline, f.ours, f.ratio, f.wanted(), ok)
	}
	_ = w.Flush() // into memory
	for _, f := range figures {
		for _, note := range f.notes {
			fmt.Fprintf(&text, "\n%s: %s", f.row, note)
		}
	}
	return strings.TrimRight(text.String(), "\n") + "\n"
}

// significant formats a figure with 3 digits; the others are noise.
func significant(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// median needs at least one value.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
