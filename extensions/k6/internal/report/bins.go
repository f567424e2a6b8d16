package report

import (
	"math"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// binsPerDecade is the scale of the page's heatmap: bin k holds times from 10^(k/10) µs.
const binsPerDecade = 10

// NewBins counts an interval's times in common bins: the number of the first used bin, then the counts up to the last
// used one; nil without a sample.
func NewBins(s *ledger.Series) []int64 {
	var bins []int64
	for _, bar := range s.Histogram.Distribution() {
		if bar.Count == 0 {
			continue
		}
		bin := binOf((bar.From + bar.To) / 2) // the middle of the histogram's bucket
		if bins == nil {
			bins = []int64{bin}
		}
		for int64(len(bins)) < bin-bins[0]+2 {
			bins = append(bins, 0)
		}
		bins[len(bins)-1] += bar.Count
	}
	return bins
}

// binOf is the bin of a time in µs; shorter times than 1 µs are in the first.
func binOf(us int64) int64 {
	const correction = 1e-9 // log10 of a power of ten may be just below the whole number
	return int64(math.Floor(math.Log10(float64(max(us, 1)))*binsPerDecade + correction))
}
