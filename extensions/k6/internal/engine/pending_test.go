package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

func TestSamplesReachK6InBatches(t *testing.T) {
	t.Parallel()
	channel := make(chan metrics.SampleContainer, 10)
	state := &lib.State{Samples: channel, BuiltinMetrics: metrics.RegisterBuiltinMetrics(metrics.NewRegistry())}
	latency := &metrics.Metric{}
	p := &pending{trend: thinned{n: 1}}
	next := func() int { // samples in the next batch; -1: no batch
		select {
		case c := <-channel:
			samples := c.GetSamples()
			assert.Equal(t, samples, c.GetSamples(), "the same for each output")
			return len(samples)
		default:
			return -1
		}
	}
	read := func(ctx context.Context, n int) { p.latencies(ctx, state, latency, nil, make([]int64, n)) }

	read(t.Context(), pendingMost-1)
	assert.Equal(t, -1, next())
	p.request(t.Context(), state, requestSample{builtin: state.BuiltinMetrics, timed: true})
	assert.Equal(t, pendingMost-1+3, next(), "a full batch: latencies and three metrics of the request")

	one, other := metrics.NewRegistry().RootTagSet(), metrics.NewRegistry().RootTagSet().With("status", "503")
	for _, tags := range []*metrics.TagSet{one, one, one, other, one} {
		p.request(t.Context(), state, requestSample{builtin: state.BuiltinMetrics, tags: tags})
	}
	p.flush(t.Context(), state)
	rises := []float64{}
	for _, sample := range (<-channel).GetSamples() {
		if sample.Metric == state.BuiltinMetrics.HTTPReqs {
			rises = append(rises, sample.Value)
		}
	}
	assert.Equal(t, []float64{3, 1, 1}, rises, "neighbours with the same tags are counted together")

	read(t.Context(), 1)
	p.flush(t.Context(), state)
	assert.Equal(t, 1, next())
	p.flush(t.Context(), state)
	assert.Equal(t, -1, next(), "an empty batch is not pushed")

	read(t.Context(), 2)
	p.end(t.Context(), state)
	assert.Equal(t, 2, next())
	read(t.Context(), 3)
	assert.Equal(t, 3, next(), "after the end, samples are pushed at once")
	assert.Zero(t, p.discarded.Load())

	stopped, stop := context.WithCancel(t.Context())
	stop()
	read(stopped, 4)
	assert.Equal(t, -1, next())
	assert.EqualValues(t, 4, p.discarded.Load())
}
