package runfile

import (
	"math"
	"slices"
	"strings"
)

// Readings are the use of a process in each second, in a third of the memory of a Resource. The zero value is empty.
type Readings []reading

type reading struct{ second, cpuPercent, rssMB float64 } // NaN: unknown

// Add adds a reading; nil: unknown.
func (r *Readings) Add(second int, cpuPercent, rssMB *float64) {
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	*r = append(*r, reading{float64(second), known(cpuPercent), known(rssMB)})
}

// NewResource summarizes the use of a process.
func NewResource(name string, readings Readings) Resource {
	known := func(v float64) *float64 {
		if math.IsNaN(v) {
			return nil
		}
		return &v
	}
	rows := make([][3]*float64, len(readings))
	for i, r := range readings {
		rows[i] = [3]*float64{&r.second, known(r.cpuPercent), known(r.rssMB)}
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
		within := slices.DeleteFunc(slices.Clone(r.Series),
			func(row [3]*float64) bool { return row[0] == nil || *row[0] < from || *row[0] >= to })
		if cpu := meanMax(within, 1).Mean; cpu != nil {
			if used == nil {
				used = map[string]float64{}
			}
			used[r.Process] = *cpu
		}
	}
	return used
}

// RoleOf is a process's name without its number: ingest-2 is an ingest.
func RoleOf(process string) string {
	role, number, ok := strings.Cut(process, "-")
	if ok && strings.Trim(number, "0123456789") == "" {
		return role
	}
	return process
}
