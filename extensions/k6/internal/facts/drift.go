package facts

import (
	"sync"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Quarters collects the arrival latencies of the quarters that a Drift compares, second by second, in two histograms
// of 190 KB. It is safe for concurrent use. A nil one belongs to a run without drift: it takes and knows nothing.
type Quarters struct {
	early, late runfile.Span
	afterwards  bool // what arrives after the last quarter belongs to it

	mu       sync.Mutex
	from, to *hdrhistogram.Histogram
}

// NewQuarters prepares the quarters of the planned measured time of an open load; nil: there is none, or the load does
// not stay at one rate, with which the latency changes.
func NewQuarters(phases []runfile.Phase) *Quarters {
	all, last, ok := plannedSpan(phases)
	if !ok || all.ToS <= all.FromS || !steadyRate(measuredPhases(phases)) {
		return nil
	}
	return &Quarters{
		early: quarterOf(all, 2), late: quarterOf(all, 4), afterwards: last,
		from: ledger.NewHistogram(), to: ledger.NewHistogram(),
	}
}

// Add adds the latencies (µs) of the deliveries that arrived in a second of the run; nil: none did. A second belongs to
// the quarter that has its middle.
func (q *Quarters) Add(second int, arrivals *hdrhistogram.Histogram) {
	if q == nil || arrivals == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch middle := float64(second) + 0.5; {
	case middle >= q.early.FromS && middle < q.early.ToS:
		q.from.Merge(arrivals)
	case middle >= q.late.FromS && (middle < q.late.ToS || q.afterwards):
		q.to.Merge(arrivals)
	}
}

// NewDrift is the drift of the seconds that were added; nil: the run has none.
func NewDrift(q *Quarters) *runfile.Drift {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	d := &runfile.Drift{From: q.early, To: q.late, FromSamples: q.from.TotalCount(), ToSamples: q.to.TotalCount()}
	d.FromMS, d.ToMS = p99MS(q.from), p99MS(q.to)
	if d.FromMS == nil || d.ToMS == nil {
		return d
	}
	d.GrewMS = new(*d.ToMS - *d.FromMS)
	if *d.FromMS > 0 {
		d.GrewShare = new(*d.GrewMS / *d.FromMS)
	}
	return d
}

// DriftOf is the drift of an open run, from its histogram log; nil: the run has none.
func DriftOf(r *runfile.Run, log *runfile.Log) (*runfile.Drift, error) {
	if r.Run.Model == runfile.Closed {
		return nil, nil
	}
	q := NewQuarters(r.Run.Profile.Phases)
	for i := range r.Timeline {
		second := r.Timeline[i].T
		found, err := log.At(second)
		if err != nil {
			return nil, err
		}
		q.Add(second, found["arrival"])
	}
	return NewDrift(q), nil
}

// p99MS is the p99 of a histogram of µs, in ms; nil: it has fewer than a hundred samples.
func p99MS(h *hdrhistogram.Histogram) *float64 {
	if h.TotalCount() < runfile.Hundred {
		return nil
	}
	return new(float64(valueAt(h, 0.99)) / 1000)
}
