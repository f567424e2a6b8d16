package runfile

import (
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// Sampled is the arrival latency of one message in OneIn, from the trace lists of ingest and relay, and its difference
// from the latency of all messages. It shows how well a pipeline without stamps can be measured.
type Sampled struct {
	OneIn    int      `json:"one_in"`
	Count    int64    `json:"count"`     // deliveries of messages in both lists
	NotFound int      `json:"not_found"` // deliveries of sampled messages that are not in both
	Mean     *float64 `json:"mean"`      // ms, like all below; nil without a sample
	P50      *float64 `json:"p50"`
	P99      *float64 `json:"p99"`
	Max      *float64 `json:"max"`
	// Parts are means that sum to Mean: due → recorded by the ingest → recorded by the relay → arrived.
	Parts struct {
		Ingest  *float64 `json:"ingest"`
		Relay   *float64 `json:"relay"`
		Arrival *float64 `json:"arrival"`
	} `json:"parts"`
	Difference struct { // sampled − all
		Mean *float64 `json:"mean"`
		P50  *float64 `json:"p50"`
		P99  *float64 `json:"p99"`
	} `json:"difference"`
}

// NewSampled describes the arrival latencies of samples. parts are the sums of the three parts, µs.
func NewSampled(oneIn, notFound int, arrival *ledger.Series, parts [3]int64) *Sampled {
	l := NewLatency(arrival, false)
	s := &Sampled{OneIn: oneIn, Count: l.Count, NotFound: notFound, Mean: l.Mean, P50: l.P50, P99: l.P99, Max: l.Max}
	if l.Count > 0 {
		for i, to := range []**float64{&s.Parts.Ingest, &s.Parts.Relay, &s.Parts.Arrival} {
			*to = new(float64(parts[i]) / float64(l.Count) / 1000)
		}
	}
	return s
}

// Against adds the differences from the latency of all deliveries. nil stays nil.
func (s *Sampled) Against(all Latency) *Sampled {
	if s == nil {
		return nil
	}
	described := *s
	if d := &described.Difference; s.Count > 0 && all.Count > 0 {
		d.Mean, d.P50, d.P99 = new(*s.Mean-*all.Mean), new(*s.P50-*all.P50), new(*s.P99-*all.P99)
	}
	return &described
}
