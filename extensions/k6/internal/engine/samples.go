package engine

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
)

// trendMost is about how many samples k6's own Trends get of a run. A Trend keeps each sample, 16 bytes or
// more, and sorts them at every threshold check. Longer runs pass on one sample in n; the ledger measures all.
const trendMost = 400_000

// closedRate is the assumed number of samples a second in the closed model, which is not known beforehand. n
// must be constant over the run so that all phases have equal weight.
const closedRate = 10_000

// thinned draws one value in n at random. Every nth value would always be of the same flow, since flows follow
// a cycle.
type thinned struct{ n int }

// thin returns a thinned for an expected number of samples.
func thin(expected int) thinned { return thinned{1 + expected/trendMost} }

// expected returns the expected numbers of deliveries and requests of a run.
func expected(p *profile.Profile, due *pacer.Pacer) (deliveries, requests int) {
	if due.Told() { // a virtual user may send several
		for _, phase := range p.Phases {
			requests += int((phase.Rate + phase.RampTo) / 2 * phase.Duration.Seconds())
		}
		return requests * p.Flows[0].Deliveries, requests
	}
	if due.Closed() {
		for _, phase := range p.Phases {
			most := int(phase.Duration.Seconds() * closedRate)
			if phase.Requests > 0 {
				most = min(most, phase.Requests)
			}
			deliveries += most
		}
		return deliveries, deliveries
	}
	requests = due.Requests()
	for i, n := range due.FlowMessages(0, requests) {
		deliveries += n * p.Flows[i].Deliveries
	}
	return deliveries, requests
}

func (t thinned) take() bool { return t.n == 1 || rand.IntN(t.n) == 0 }

// pick appends k6's share of us to to.
func (t thinned) pick(to, us []int64) []int64 {
	if t.n == 1 {
		return append(to, us...)
	}
	for _, v := range us {
		if t.take() {
			to = append(to, v)
		}
	}
	return to
}

// requestSamples emits k6's own request metrics for one sender, so that existing thresholds and dashboards
// work.
type requestSamples struct {
	sending *sending
	state   *lib.State
	urls    [2]string       // a poster's
	base    *metrics.TagSet // the VU's tags when the others were made
	tags    map[requestTags]*metrics.TagSet
}

type requestTags struct{ url, flow, status int }

type requestSample struct {
	builtin  *metrics.BuiltinMetrics
	tags     *metrics.TagSet
	done     time.Time
	duration time.Duration
	failed   float64
	timed    bool // k6's Trend gets its duration
}

func (s *requestSamples) push(ctx context.Context, slot pacer.Slot, status int, sent, done time.Time) {
	base := s.state.Tags.GetCurrentValues().Tags
	if base != s.base {
		s.base, s.tags = base, map[requestTags]*metrics.TagSet{}
	}
	url := send.Kind(slot.Messages)
	key := requestTags{url, slot.Flow, status}
	tags := s.tags[key]
	if tags == nil {
		tags = base.With("flow", s.sending.options.profile.Flows[slot.Flow].Name)
		for _, system := range []struct {
			tag   metrics.SystemTag
			value string
		}{{metrics.TagMethod, "POST"}, {metrics.TagName, s.urls[url]}, {metrics.TagStatus, strconv.Itoa(status)}} {
			if wanted := s.state.Options.SystemTags; wanted == nil || wanted.Has(system.tag) {
				tags = tags.With(system.tag.String(), system.value)
			}
		}
		s.tags[key] = tags
	}
	failed := 0.0
	if status < 200 || status >= 400 {
		failed = 1
	}
	s.sending.samples.request(ctx, s.state, requestSample{
		s.state.BuiltinMetrics, tags, done, done.Sub(sent), failed, s.sending.samples.http.take(),
	})
}

// append adds the samples that are emitted once per request.
func (s *requestSample) append(to []metrics.Sample) []metrics.Sample {
	to = append(to, s.sample(s.builtin.HTTPReqFailed, s.failed))
	if s.timed {
		to = append(to, s.sample(s.builtin.HTTPReqDuration, metrics.D(s.duration)))
	}
	return to
}

func (s *requestSample) sample(m *metrics.Metric, v float64) metrics.Sample {
	return metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m, Tags: s.tags}, Time: s.done, Value: v}
}

// pendingMost is the largest batch of samples.
const pendingMost = 500

// pending collects samples in batches. It hands a batch to k6 when it is full, when the run checks its ledger
// (20 ms), and at the end. Each handover wakes k6's collector: one for each read from a socket took a fifth of
// the subscriber's CPU.
type pending struct {
	mu        sync.Mutex
	batch     *sampleBatch
	over      bool         // the run has ended: later samples are handed over at once
	discarded atomic.Int64 // samples that k6 did not take

	trend, http thinned // the share of arrival_latency and http_req_duration that k6 gets
}

// sampleBatch is a batch of samples. It makes k6's samples when an output reads them, outside of the sending
// and reading goroutines: 0.22 µs of CPU a sample, where pushing each alone takes 0.80.
type sampleBatch struct {
	requests []requestSample

	latency *metrics.Metric
	tags    *metrics.TagSet // those of latency
	at      time.Time       // when latency was measured; k6 needs only the second
	us      []int64         // arrival latencies

	once    sync.Once // several outputs read it concurrently
	samples []metrics.Sample
}

func (b *sampleBatch) size() int { return len(b.requests) + len(b.us) }

func (p *pending) request(ctx context.Context, state *lib.State, r requestSample) {
	p.mu.Lock()
	b := p.open()
	b.requests = append(b.requests, r)
	b = p.take(p.over)
	p.mu.Unlock()
	p.hand(ctx, state, b)
}

// latencies adds k6's share of the latencies us of one read from a socket.
func (p *pending) latencies(
	ctx context.Context, state *lib.State, m *metrics.Metric, tags *metrics.TagSet, us []int64,
) {
	p.mu.Lock()
	b := p.open()
	b.latency, b.tags, b.us = m, tags, p.trend.pick(b.us, us)
	b = p.take(p.over)
	p.mu.Unlock()
	p.hand(ctx, state, b)
}

// hand gives the latencies of arrivals, µs, to k6.
func (v *vu) hand(ctx context.Context, us []int64) {
	v.pending.latencies(ctx, v.state, v.metrics.latency, v.tags, us)
}

func (p *pending) flush(ctx context.Context, state *lib.State) {
	p.mu.Lock()
	b := p.take(true)
	p.mu.Unlock()
	p.hand(ctx, state, b)
}

// end hands over the current batch; later samples are handed over at once.
func (p *pending) end(ctx context.Context, state *lib.State) {
	p.mu.Lock()
	p.over = true
	p.mu.Unlock()
	p.flush(ctx, state)
}

// open returns the current batch. The lock is held.
func (p *pending) open() *sampleBatch {
	if p.batch == nil {
		p.batch = &sampleBatch{}
	}
	return p.batch
}

// take returns the batch if it is full, or in any case if asItIs; nil: nothing to hand over. The lock is held.
func (p *pending) take(asItIs bool) *sampleBatch {
	b := p.batch
	if b == nil || b.size() == 0 || (b.size() < pendingMost && !asItIs) {
		return nil
	}
	p.batch = &sampleBatch{requests: make([]requestSample, 0, len(b.requests)), us: make([]int64, 0, len(b.us))}
	return b
}

// hand gives a batch to k6, or counts its samples as discarded once k6 takes none.
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

// alike makes the samples of the leading requests with equal tags, and returns their number. To k6 a counter
// that rises by n equals n that rise by one, at less cost; other metrics need each sample.
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
