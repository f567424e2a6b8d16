package runfile

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// curveOf lists the percentiles of a curve: each step halves the rest, for a logarithmic axis. It ends when less than
// one of so many samples is left.
func curveOf(samples int64) (percentiles []float64) {
	const stepsPerHalf = 4
	for i := 0; ; i++ {
		left := math.Pow(0.5, float64(i)/stepsPerHalf)
		if left*float64(samples) < 1 {
			return append(percentiles, 100)
		}
		percentiles = append(percentiles, 100*(1-left))
	}
}

// NewLatency describes a series. lossless adds the histogram itself.
func NewLatency(s *ledger.Series, lossless bool) Latency {
	l := Latency{Count: s.Count, Curve: [][2]float64{}}
	if s.Count == 0 {
		return l
	}
	at := func(percentiles ...float64) []*float64 {
		values := make([]*float64, len(percentiles))
		for i, us := range atRanks(s, percentiles) {
			values[i] = new(ms(min(us, s.Max))) // it returns the upper end of a bucket, which may exceed the maximum
		}
		return values
	}
	p := at(50, 75, 90, 95, 99, 99.9)
	l.P50, l.P75, l.P90, l.P95, l.P99, l.P999 = p[0], p[1], p[2], p[3], p[4], p[5]
	percentiles := curveOf(s.Count)
	for i, value := range at(percentiles...) {
		l.Curve = append(l.Curve, [2]float64{percentiles[i], *value})
	}
	l.Min, l.Max = new(ms(s.Min)), new(ms(s.Max))
	l.Mean = new(float64(s.Sum) / float64(s.Count) / 1000)
	if lossless {
		if encoded, err := s.Histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err == nil {
			l.Histogram = new(string(encoded))
		}
	}
	return l
}

// At is a percentile of run.json. It is nil with fewer than 1 / (1 − p) samples, where it would just be the largest.
// The page (reports/page/facts.ts) has the same rule.
func (l Latency) At(p float64) *float64 {
	if float64(l.Count)*(100-p) < 100-1e-6 { // 100 − 99.9 is below 0.1 in binary
		return nil
	}
	return map[float64]*float64{50: l.P50, 75: l.P75, 90: l.P90, 95: l.P95, 99: l.P99, 99.9: l.P999}[p]
}

// NewLatencies describes a set of times with the stages of a list.
func NewLatencies(list stages.List, t *ledger.Times, lossless bool) Latencies {
	l := Latencies{
		Arrival:  NewLatency(&t.Arrival, lossless),
		FromSend: NewLatency(&t.FromSend, lossless),
		HTTP:     NewLatency(&t.HTTP, lossless),
		Stages:   map[string]Latency{},
	}
	for i := range t.Stages {
		l.Stages[list[i].Name] = NewLatency(&t.Stages[i], lossless)
	}
	return l
}

// NewQuantiles describes a series of an interval; nil without a sample.
func NewQuantiles(s *ledger.Series) *Quantiles {
	if s.Count == 0 {
		return nil
	}
	v := atRanks(s, []float64{50, 95, 99})
	for i := range v {
		v[i] = min(v[i], s.Max) // a histogram reports the upper end of its bucket
	}
	return &Quantiles{
		Count: s.Count,
		Mean:  float64(s.Sum) / float64(s.Count) / 1000,
		P50:   new(ms(v[0])), P95: new(ms(v[1])), P99: new(ms(v[2])), Max: ms(s.Max),
	}
}

// atRanks are percentiles of a series, in µs. The rank of a percentile is rounded up, so at least that share of the
// samples is less than or equal to it. HdrHistogram takes the nearest rank: two of 160 samples are larger than its p99.
func atRanks(s *ledger.Series, percentiles []float64) []int64 {
	const noise = 1e-9 // the rounding error of 0.99 × 100 in binary
	ranks := make([]float64, len(percentiles))
	for i, p := range percentiles {
		ranks[i] = 100 * math.Ceil(p/100*float64(s.Count)-noise) / float64(s.Count)
	}
	return s.Histogram.ValueAtPercentilesSlice(ranks)
}

func ms(us int64) float64 { return float64(us) / 1000 }

// Stamped reports whether stages of a run are known by the pipeline's stamps.
func (r *Run) Stamped() bool {
	for name, l := range r.Latency.Stages {
		if name != stages.Schedule && l.Count > 0 && len(r.Stages) != 2 { // two need no stamp
			return true
		}
	}
	return false
}
