package truth

import (
	"math"
	"slices"
	"time"
)

// Record is what the server did.
type Record struct {
	// Due is worked out from the schedule: see Truth.Due.
	Due Quantiles `json:"due"`
	// Served is from the first bytes of a request until the last byte of its answer, by the kernel's stamps of both.
	Served   Quantiles `json:"served"`
	Requests Requests  `json:"requests"`
	Gaps     Gaps      `json:"gaps"`
}

// Requests counts what became of the requests. Those that are none of answered, reset and lost were waiting for their
// answer at the end, or the load generator had closed their connection.
type Requests struct {
	Begun              int `json:"begun"`
	Answered           int `json:"answered"`
	Reset              int `json:"reset"`
	Lost               int `json:"lost"`
	RefusedConnections int `json:"refused_connections"`
	Connections        int `json:"connections"` // that carried a request
	// Unstamped counts the answers whose time is not by two stamps of the kernel, but by this process's own clock.
	Unstamped int `json:"unstamped"`
}

// Gaps is how even the load came in.
type Gaps struct {
	MedianMs float64 `json:"median_ms"`
	P99Ms    float64 `json:"p99_ms"`
	MaxMs    float64 `json:"max_ms"`
	// LateP99Ms is how far requests were behind an even schedule that began with the first one; below 0: ahead of it.
	LateP99Ms float64 `json:"late_p99_ms"`
}

// Quantiles is a distribution of latencies. Its values are samples, by the nearest rank rounded up.
type Quantiles struct {
	Count  int          `json:"count"`
	P50Ms  float64      `json:"p50_ms"`
	P90Ms  float64      `json:"p90_ms"`
	P99Ms  float64      `json:"p99_ms"`
	P999Ms float64      `json:"p999_ms"`
	MaxMs  float64      `json:"max_ms"`
	Curve  [][2]float64 `json:"curve"` // quantile and ms, ascending
}

// QuantilesOf describes latencies in ascending order.
func QuantilesOf(sorted []time.Duration) Quantiles {
	q := Quantiles{
		Count: len(sorted), P50Ms: at(sorted, 0.5), P90Ms: at(sorted, 0.9), P99Ms: at(sorted, 0.99),
		P999Ms: at(sorted, 0.999), MaxMs: at(sorted, 1), Curve: [][2]float64{},
	}
	if len(sorted) == 0 {
		return q
	}
	// As many points for the last tenth of the samples as for the tenth of it that is above those, and so on.
	const tenth, most = 20, 119
	for i := range most {
		share := 1 - math.Pow(10, -float64(i)/tenth)
		if (1-share)*float64(len(sorted)) < 1 {
			break
		}
		q.Curve = append(q.Curve, [2]float64{math.Round(share*1e7) / 1e7, at(sorted, share)})
	}
	q.Curve = append(q.Curve, [2]float64{1, q.MaxMs})
	return q
}

// at is the value at a share of the samples, ms; 0 without samples.
func at(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	const slack = 1e-9 // 0.99 × 100 is above 99 in binary
	rank := max(1, int(math.Ceil(share*float64(len(sorted))-slack)))
	return math.Round(float64(sorted[rank-1])/float64(time.Microsecond)) / 1e3
}

// evenness compares the times of requests, in ascending order, with the schedule of a load.
func evenness(begun []time.Duration, l Load) Gaps {
	gaps, late := make([]time.Duration, 0, len(begun)), make([]time.Duration, 0, len(begun))
	for i, b := range begun {
		late = append(late, b-begun[0]-l.due(i))
		if i > 0 {
			gaps = append(gaps, b-begun[i-1])
		}
	}
	slices.Sort(gaps)
	slices.Sort(late)
	return Gaps{MedianMs: at(gaps, 0.5), P99Ms: at(gaps, 0.99), MaxMs: at(gaps, 1), LateP99Ms: at(late, 0.99)}
}
