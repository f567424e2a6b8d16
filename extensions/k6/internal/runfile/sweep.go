package runfile

import (
	"cmp"
	"slices"
)

// SweepSteps are the measured steps of the closed model by ascending concurrency.
func SweepSteps(all []Step) []Step {
	steps := slices.DeleteFunc(slices.Clone(all),
		func(s Step) bool { return !s.Measured || s.VUs == nil || *s.VUs == 0 })
	slices.SortStableFunc(steps, func(a, b Step) int { return cmp.Compare(*a.VUs, *b.VUs) })
	return steps
}

// Sweeps reports whether steps differ in their concurrency.
func Sweeps(all []Step) bool {
	steps := SweepSteps(all)
	return len(steps) > 1 && *steps[0].VUs < *steps[len(steps)-1].VUs
}

// P99OrNil is the p99; it is nil with too few deliveries.
func (q *Quantiles) P99OrNil() *float64 {
	if q == nil || q.Count < Hundred {
		return nil
	}
	return q.P99
}

// Hundred is how many deliveries a 99th percentile needs.
const Hundred = 100
