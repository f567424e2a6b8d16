package arrival

import (
	"context"
	"math/rand/v2"
	"strconv"
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
	engine *engine
	state  *lib.State
	urls   [2]string       // of a poster
	of     *metrics.TagSet // of the VU at the time the tags were made
	tags   map[requestTags]*metrics.TagSet
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
	if base != s.of {
		s.of, s.tags = base, map[requestTags]*metrics.TagSet{}
	}
	url := send.Kind(slot.Messages)
	key := requestTags{url, slot.Flow, status}
	tags := s.tags[key]
	if tags == nil {
		tags = base.With("method", "POST").With("name", s.urls[url]).
			With("flow", s.engine.options.profile.Flows[slot.Flow].Name).With("status", strconv.Itoa(status))
		s.tags[key] = tags
	}
	failed := 0.0
	if status < 200 || status >= 400 {
		failed = 1
	}
	s.engine.pending.request(ctx, s.state, requestSample{
		s.state.BuiltinMetrics, tags, done, done.Sub(sent), failed, s.engine.pending.http.take(),
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
