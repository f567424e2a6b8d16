package facts

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// valueAt is the value (µs) at a share of a histogram's samples, 0 to 1, by the nearest rank rounded up: at most that
// share of the samples is below it. It is the upper end of the histogram's step, which is 0.1 % wide. The histogram has
// a sample.
func valueAt(h *hdrhistogram.Histogram, share float64) int64 {
	const slack = 1e-9 // 0.99 × 100 is above 99 in binary
	left := max(1, int64(math.Ceil(share*float64(h.TotalCount())-slack)))
	last := int64(0)
	for _, bar := range h.Distribution() {
		if bar.Count == 0 {
			continue
		}
		last = bar.To
		if left -= bar.Count; left <= 0 {
			break
		}
	}
	return last
}
