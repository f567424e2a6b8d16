package merge

import (
	"errors"
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// add puts a histogram into another one, count by count.
func add(to, from *hdrhistogram.Histogram) error {
	if lost := to.Merge(from); lost > 0 {
		return fmt.Errorf("a histogram has %d times above the longest that can be told apart", lost)
	}
	return nil
}

// latency adds distributions. Means, min and max stay exact: sums are whole µs.
func latency(parts []*report.Latency) (report.Latency, error) {
	sum := ledger.NewSeries()
	for _, p := range parts {
		if p.Count == 0 {
			continue
		}
		if p.Histogram == nil {
			return report.Latency{}, errors.New("a latency has no histogram, so it cannot be added to others")
		}
		h, err := hdrhistogram.Decode([]byte(*p.Histogram))
		if err != nil {
			return report.Latency{}, fmt.Errorf("a latency's histogram can't be read: %w", err)
		}
		if err := add(sum.Histogram, h); err != nil {
			return report.Latency{}, err
		}
		sum.Count += p.Count
		sum.Sum += micros(*p.Mean * float64(p.Count))
		sum.Min, sum.Max = min(sum.Min, micros(*p.Min)), max(sum.Max, micros(*p.Max))
	}
	return report.NewLatency(&sum, true), nil
}

func micros(ms float64) int64 { return int64(math.Round(ms * 1000)) }

func latencies(parts []*report.Latencies) (all report.Latencies, err error) {
	one := func(to *report.Latency, of func(p *report.Latencies) report.Latency) {
		if err != nil {
			return
		}
		own := make([]*report.Latency, len(parts))
		for i, p := range parts {
			own[i] = new(of(p))
		}
		*to, err = latency(own)
	}
	one(&all.Arrival, func(p *report.Latencies) report.Latency { return p.Arrival })
	one(&all.FromSend, func(p *report.Latencies) report.Latency { return p.FromSend })
	one(&all.HTTP, func(p *report.Latencies) report.Latency { return p.HTTP })
	all.Stages = map[string]report.Latency{}
	for i := range ledger.Stages {
		var stage report.Latency
		one(&stage, func(p *report.Latencies) report.Latency { return p.Stages[i.String()] })
		all.Stages[i.String()] = stage
	}
	return all, err
}

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
