package engine

import (
	"math/rand/v2"

	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// countSamples takes samples in place of k6's outputs until x.samples is closed. Then it closes the returned
// channel.
func (x *External) countSamples() (counted chan struct{}) {
	counted = make(chan struct{})
	x.samples = make(chan metrics.SampleContainer, pendingMost)
	go func() {
		defer close(counted)
		for container := range x.samples {
			for _, sample := range container.GetSamples() {
				sample.Metric.Sink.Add(sample)
				if sample.Metric == x.metrics.latency {
					x.recent.add(sample.Value)
				}
			}
		}
	}()
	return counted
}

func (x *External) second(row runfile.Interval) {
	if x == nil {
		return
	}
	recent := mark{&x.recent, make(chan []float64, 1)}
	x.samples <- recent
	x.caller.Second(row, <-recent.taken)
}

// mark takes the sample of a second when the samples before it have been counted.
type mark struct {
	of    *reservoir
	taken chan []float64
}

func (m mark) GetSamples() []metrics.Sample {
	m.taken <- m.of.take()
	return nil
}

// reservoirMost is how many latencies of a second a caller gets.
const reservoirMost = 1000

// reservoir keeps a uniform random sample of the values it sees (Vitter's algorithm R).
type reservoir struct {
	seen int
	kept []float64
}

func (r *reservoir) add(v float64) {
	if r.seen++; len(r.kept) < reservoirMost {
		r.kept = append(r.kept, v)
	} else if i := rand.IntN(r.seen); i < reservoirMost {
		r.kept[i] = v
	}
}

func (r *reservoir) take() []float64 {
	kept := r.kept
	r.seen, r.kept = 0, nil
	return append([]float64{}, kept...)
}
