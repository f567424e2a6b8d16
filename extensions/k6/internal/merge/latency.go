package merge

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// add puts a histogram into another one, count by count.
func add(to, from *hdrhistogram.Histogram) {
	if lost := to.Merge(from); lost > 0 {
		must.Fail("a histogram has %d times above the longest that a histogram holds", lost)
	}
}

// latency adds the distributions that there are; nil: there is none. Means, min and max stay exact: sums are whole µs.
func latency(parts []*report.Latency) *report.Latency {
	sum, known := ledger.NewSeries(), false
	for _, p := range parts {
		known = known || p != nil
		if p == nil || p.Count == 0 {
			continue
		}
		if p.Histogram == nil {
			must.Fail("a latency has no histogram, so it cannot be added to others")
		}
		h, err := hdrhistogram.Decode([]byte(*p.Histogram))
		if err != nil {
			must.Fail("a latency's histogram can't be read: %w", err)
		}
		add(sum.Histogram, h)
		sum.Count += p.Count
		sum.Sum += micros(*p.Mean * float64(p.Count))
		sum.Min, sum.Max = min(sum.Min, micros(*p.Min)), max(sum.Max, micros(*p.Max))
	}
	if !known {
		return nil
	}
	return new(report.NewLatency(&sum, true))
}

func micros(ms float64) int64 { return int64(math.Round(ms * 1000)) }

// quantiles is what is known of several without their histograms: no percentile, but how many, their mean and the longest.
func quantiles(parts []*report.Quantiles) *report.Quantiles {
	all := &report.Quantiles{}
	sum := 0.0
	for _, q := range parts {
		if q != nil {
			all.Count += q.Count
			sum += q.Mean * float64(q.Count)
			all.Max = max(all.Max, q.Max)
		}
	}
	if all.Count == 0 {
		return nil
	}
	all.Mean = sum / float64(all.Count)
	return all
}
