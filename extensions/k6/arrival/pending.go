package arrival

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// pendingMost is how many samples are handed to k6 at once, at most.
const pendingMost = 500

// pending holds samples until k6 is handed them: when there are enough, when the run looks at its ledger (20 ms), and at its end.
// To hand over wakes k6's collector. Once for each read from a socket, that took a fifth of the subscriber's CPU.
type pending struct {
	mu        sync.Mutex
	batch     *sampleBatch
	over      bool         // the run is: nobody will look, so what still comes is handed over at once
	discarded atomic.Int64 // samples that k6 did not take

	trend, http thinned // what k6 gets of arrival_latency and of http_req_duration
}

// sampleBatch is what is handed over at once. k6's samples are made when an output asks for them, off the goroutines that
// send and read: that takes 0.22 µs of CPU a sample where pushing each alone takes 0.80.
type sampleBatch struct {
	requests []requestSample

	latency *metrics.Metric
	tags    *metrics.TagSet // of latency
	at      time.Time       // of latency; k6 wants no more than the second
	us      []int64         // arrival latencies

	once    sync.Once // outputs ask for the same ones, each from its own goroutine
	samples []metrics.Sample
}

func (b *sampleBatch) size() int { return len(b.requests) + len(b.us) }

// request adds the samples of a request.
func (p *pending) request(ctx context.Context, state *lib.State, r requestSample) {
	p.mu.Lock()
	b := p.open()
	b.requests = append(b.requests, r)
	b = p.take(p.over)
	p.mu.Unlock()
	p.hand(ctx, state, b)
}

// latencies adds those that k6 is to get of us, which are of one read from a socket.
func (p *pending) latencies(ctx context.Context, state *lib.State, m *metrics.Metric, tags *metrics.TagSet, us []int64) {
	p.mu.Lock()
	b := p.open()
	b.latency, b.tags, b.us = m, tags, p.trend.pick(b.us, us)
	b = p.take(p.over)
	p.mu.Unlock()
	p.hand(ctx, state, b)
}

// flush hands over what there is.
func (p *pending) flush(ctx context.Context, state *lib.State) {
	p.mu.Lock()
	b := p.take(true)
	p.mu.Unlock()
	p.hand(ctx, state, b)
}

// end hands over what there is, and from now on everything at once.
func (p *pending) end(ctx context.Context, state *lib.State) {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.flush(ctx, state)
}

// open returns the batch that is being filled. The lock is held.
func (p *pending) open() *sampleBatch {
	if p.batch == nil {
		p.batch = &sampleBatch{}
	}
	return p.batch
}

// take returns the batch when it is full, or wanted as it is; nil: nothing is to be handed over. The lock is held.
func (p *pending) take(asItIs bool) *sampleBatch {
	b := p.batch
	if b == nil || b.size() == 0 || (b.size() < pendingMost && !asItIs) {
		return nil
	}
	p.batch = &sampleBatch{requests: make([]requestSample, 0, len(b.requests)), us: make([]int64, 0, len(b.us))}
	return b
}

// hand gives samples to k6, or counts them where it does not take any more.
func (p *pending) hand(ctx context.Context, state *lib.State, b *sampleBatch) {
	if b == nil {
		return
	}
	b.at = time.Now()
	if !metrics.PushIfNotDone(ctx, state.Samples, b) {
		p.discarded.Add(int64(b.size()))
	}
}

// GetSamples implements metrics.SampleContainer; latencies are ms.
func (b *sampleBatch) GetSamples() []metrics.Sample {
	b.once.Do(func() {
		b.samples = make([]metrics.Sample, 0, 3*len(b.requests)+len(b.us))
		for of := b.requests; len(of) > 0; {
			of = of[b.alike(of):]
		}
		for _, us := range b.us {
			b.samples = append(b.samples, metrics.Sample{
				TimeSeries: metrics.TimeSeries{Metric: b.latency, Tags: b.tags}, Time: b.at, Value: float64(us) / 1000,
			})
		}
	})
	return b.samples
}

// alike makes the samples of the requests that begin with the first one and have its tags. It returns how many they are. To k6 a
// counter that rises by n is n that rise by one, and takes less of its time; of the others it wants each.
func (b *sampleBatch) alike(of []requestSample) int {
	n := 1
	for n < len(of) && of[n].tags == of[0].tags {
		n++
	}
	last := &of[n-1]
	b.samples = append(b.samples, last.sample(last.builtin.HTTPReqs, float64(n)))
	for i := range of[:n] {
		b.samples = of[i].append(b.samples)
	}
	return n
}
