package runfile

import (
	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// NewBins counts times in common bins (see ledger.BinOf), for the page's heat map and distribution: the number of the
// first used bin, then the counts up to the last used one; nil without a sample.
func NewBins(s *ledger.Series) []int64 {
	if s.Histogram == nil {
		return nil
	}
	var bins []int64
	for _, bar := range s.Histogram.Distribution() {
		if bar.Count == 0 {
			continue
		}
		bin := ledger.BinOf((bar.From + bar.To) / 2) // the middle of the histogram's bucket
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

// NewBins counts the samples in common bins; nil without the histogram.
func (l Latency) NewBins() []int64 {
	if l.Histogram == nil || l.Count == 0 {
		return nil
	}
	h, err := hdrhistogram.Decode([]byte(*l.Histogram))
	if err != nil {
		return nil
	}
	return NewBins(&ledger.Series{Histogram: h})
}
