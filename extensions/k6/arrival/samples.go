package arrival

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// trendMost is about how many samples k6's own Trends get of a run. A Trend keeps each of them, 16 bytes and more, and
// sorts them whenever a threshold is checked; past this it gets one in n, evenly. The ledger measures all.
const trendMost = 400_000

// oneIn is n, for a number of samples that is expected.
func oneIn(expected int) int { return 1 + expected/trendMost }

// hand gives samples to k6, or counts them where it does not take any more.
func (e *engine) hand(ctx context.Context, state *lib.State, c metrics.SampleContainer, n int) {
	if !metrics.PushIfNotDone(ctx, state.Samples, c) {
		e.discarded.Add(int64(n))
	}
}

// thinned takes one in n of what it sees.
type thinned struct {
	n    int
	open bool // how many will come is not known: n grows with what has been seen
	seen atomic.Int64
}

func (t *thinned) take() bool {
	if t.n == 1 && !t.open {
		return true
	}
	return t.seen.Add(1)%int64(t.oneIn()) == 0
}

func (t *thinned) oneIn() int {
	if t.open {
		return oneIn(int(t.seen.Load()))
	}
	return t.n
}

// trendBatch is the arrival latencies of one read from a socket. k6's samples are made when an output asks for them, off the
// reader's goroutine: that takes 0.22 µs of CPU a sample where pushing each alone takes 0.80.
type trendBatch struct {
	metric *metrics.Metric
	tags   *metrics.TagSet
	at     time.Time
	us     []int64
}

// newTrendBatch takes the samples that k6 is to get out of us; nil when there is none.
func newTrendBatch(m *metrics.Metric, tags *metrics.TagSet, us []int64, thin *thinned) *trendBatch {
	if thin.n == 1 && !thin.open {
		us = append([]int64(nil), us...)
	} else {
		all := us
		us = nil
		for _, v := range all {
			if thin.take() {
				us = append(us, v)
			}
		}
	}
	if len(us) == 0 {
		return nil
	}
	return &trendBatch{m, tags, time.Now(), us}
}

// GetSamples implements metrics.SampleContainer; values are ms.
func (b *trendBatch) GetSamples() []metrics.Sample {
	samples := make([]metrics.Sample, len(b.us))
	for i, us := range b.us {
		samples[i] = metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: b.metric, Tags: b.tags}, Time: b.at, Value: float64(us) / 1000,
		}
	}
	return samples
}

// requestSamples emits k6's own metrics of one sender's requests, so that thresholds and dashboards that people have keep
// working.
type requestSamples struct {
	engine *engine
	state  *lib.State
	of     *metrics.TagSet // of the VU, when the tags were made
	tags   map[requestTags]*metrics.TagSet
}

type requestTags struct {
	url          string
	flow, status int
}

func newRequestSamples(e *engine, state *lib.State) *requestSamples {
	return &requestSamples{engine: e, state: state}
}

// requestSample is one request. k6's samples are made when an output asks for them.
type requestSample struct {
	builtin  *metrics.BuiltinMetrics
	tags     *metrics.TagSet
	done     time.Time
	duration time.Duration
	failed   float64
	timed    bool // k6's Trend gets its duration
}

func (s *requestSamples) push(ctx context.Context, slot pacer.Slot, url string, status int, sent, done time.Time) {
	base := s.state.Tags.GetCurrentValues().Tags
	if base != s.of {
		s.of, s.tags = base, map[requestTags]*metrics.TagSet{}
	}
	key := requestTags{url, slot.Flow, status}
	tags := s.tags[key]
	if tags == nil {
		tags = base.With("method", "POST").With("name", url).
			With("flow", s.engine.options.profile.Flows[slot.Flow].Name).With("status", strconv.Itoa(status))
		s.tags[key] = tags
	}
	failed := 0.0
	if status < 200 || status >= 400 {
		failed = 1
	}
	s.engine.hand(ctx, s.state, &requestSample{
		s.state.BuiltinMetrics, tags, done, done.Sub(sent), failed, s.engine.httpTrend.take(),
	}, 1)
}

// GetSamples implements metrics.SampleContainer.
func (s *requestSample) GetSamples() []metrics.Sample {
	samples := make([]metrics.Sample, 2, 3)
	samples[0] = s.sample(s.builtin.HTTPReqs, 1)
	samples[1] = s.sample(s.builtin.HTTPReqFailed, s.failed)
	if s.timed {
		samples = append(samples, s.sample(s.builtin.HTTPReqDuration, metrics.D(s.duration)))
	}
	return samples
}

func (s *requestSample) sample(m *metrics.Metric, v float64) metrics.Sample {
	return metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m, Tags: s.tags}, Time: s.done, Value: v}
}
