package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/merge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/spans"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// tracedPipeline takes requests before a fake pipeline, and has OpenTelemetry's SDK in it and no stamps: a server that
// queues a message, and a consumer that waits and then posts it on.
type tracedPipeline struct {
	queue  chan queued
	to     string
	tracer trace.Tracer
	mu     sync.Mutex
	flags  map[bool]int // requests with and without the flag
}

type queued struct {
	carrier propagation.MapCarrier
	body    []byte
	path    string
}

const (
	queueTakes  = 30 * time.Millisecond
	workerTakes = 20 * time.Millisecond
)

func startTraced(t *testing.T, endpoint, to string) *tracedPipeline {
	t.Helper()
	exporter, err := otlptracehttp.New(t.Context(), otlptracehttp.WithEndpoint(endpoint), otlptracehttp.WithInsecure())
	require.NoError(t, err)
	provider := sdk.NewTracerProvider(sdk.WithSampler(sdk.ParentBased(sdk.AlwaysSample())),
		sdk.WithBatcher(exporter, sdk.WithBatchTimeout(100*time.Millisecond)))
	p := &tracedPipeline{queue: make(chan queued, 1000), to: to, tracer: provider.Tracer("test"), flags: map[bool]int{}}
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(p.work)
	}
	t.Cleanup(func() {
		close(p.queue)
		workers.Wait()
		_ = provider.Shutdown(context.WithoutCancel(t.Context()))
	})
	return p
}

var propagator = propagation.TraceContext{}

func (p *tracedPipeline) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	p.mu.Lock()
	p.flags[trace.SpanContextFromContext(ctx).IsSampled()]++
	p.mu.Unlock()
	ctx, span := p.tracer.Start(ctx, "POST "+r.URL.Path, trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	body, _ := io.ReadAll(r.Body)
	ctx, put := p.tracer.Start(ctx, "send jobs", trace.WithSpanKind(trace.SpanKindProducer))
	q := queued{propagation.MapCarrier{}, body, r.URL.Path}
	propagator.Inject(ctx, q.carrier)
	time.AfterFunc(queueTakes, func() { p.queue <- q })
	put.End()
	w.WriteHeader(http.StatusAccepted)
}

func (p *tracedPipeline) work() {
	for q := range p.queue {
		ctx, span := p.tracer.Start(propagator.Extract(context.Background(), q.carrier), "process jobs",
			trace.WithSpanKind(trace.SpanKindConsumer))
		time.Sleep(workerTakes)
		_, put := p.tracer.Start(ctx, "publish", trace.WithSpanKind(trace.SpanKindProducer))
		answer, err := http.Post(p.to+q.path, "application/json", bytes.NewReader(q.body))
		if err == nil {
			_ = answer.Body.Close()
		}
		put.End()
		span.End()
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = free.Close() }()
	return free.Addr().String()
}

func TestAPipelineWithoutStampsHasStagesByItsOwnSpans(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	test.Start(t, f)
	endpoint := freeAddress(t)
	p := startTraced(t, endpoint, f.IngestURL())
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	r := newScriptAt(t, f, "phases: [{duration: 1, arrivalRate: 100}]\nflows: [{name: direct}]",
		fmt.Sprintf("ingest: { url: %q }, spans: { listen: %q, oneIn: 4 }", front.URL, endpoint)).run()
	require.Equal(t, 100, r.Account.Arrived)
	s := r.Spans
	require.NotNil(t, s)
	assert.Equal(t, endpoint, s.Listen)
	assert.Equal(t, p.flags[true], s.Sampled)
	assert.Equal(t, 100, p.flags[true]+p.flags[false])
	assert.InDelta(t, 25, s.Sampled, 24)
	assert.EqualValues(t, s.Sampled, s.Count, "%+v", s.Marks)
	assert.Equal(t, 4*s.Sampled, s.Received.Own)
	var names []string
	sum := 0.0
	for _, stage := range s.Stages {
		names = append(names, stage.From+" "+stage.To)
		sum += *stage.Mean
	}
	assert.Equal(t, []string{"due sent", "sent received", "received queued", "queued claimed", "claimed published",
		"published arrived"}, names)
	assert.InDelta(t, *s.Arrival.Mean, sum, 1e-6)
	assert.GreaterOrEqual(t, *s.Stages[3].Mean, 30.0)
	assert.GreaterOrEqual(t, *s.Stages[4].Mean, 20.0)
	for _, stage := range s.Stages[:2] {
		assert.GreaterOrEqual(t, *stage.Mean, 0.0, stage.From)
	}
	assert.NotEmpty(t, s.Slowest)
	assert.Len(t, s.Slowest[0].Spans, 4)
	assert.Contains(t, render.Text(r, "", render.Screen{}), "queued → claimed")
	assert.Contains(t, render.Markdown(r), "queued → claimed")
}

// A pipeline that sends no span: the run is as it would be without, and says what is missing.
func TestARunWithoutASpanSaysSo(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]",
		"spans: { listen: '127.0.0.1:0', oneIn: 1 }")
	s.engine.spans.first = time.Second
	r := s.run()
	assert.Equal(t, 20, r.Account.Arrived)
	assert.Equal(t, 20, r.Spans.Sampled)
	assert.Zero(t, r.Spans.Traced)
	require.Len(t, r.Errors, 1)
	assert.Equal(t, "none came", r.Errors[0].Class)
	assert.Contains(t, r.Errors[0].Example, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:")
	assert.Contains(t, render.Text(r, "", render.Screen{}), "20 without a span")
}

func TestOptionsOfSpans(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		"spans: { listen: 'host' }":                                                              "spans.listen (SPANS)",
		"spans: { listen: ':4318', oneIn: -1 }":                                                  "spans.oneIn (SPANS_ONE_IN)",
		"spans: { listen: ':4318', marks: [{}] }":                                                "spans.marks",
		"spans: { listen: ':4318', marks: [{ mark: 'a', span: { name: /a/ } }] }":                "spans.marks",
		"spans: { listen: ':4318', every: 1 }":                                                   "every",
		"spans: { listen: ':4318' }, traces: 1":                                                  "exclude each other",
		"spans: { listen: ':4318' }, publishers: {}":                                             "publishers",
		"spans: { listen: ':4318' }, ingest: { url: 'http://h', headers: { TraceParent: 'x' } }": "traceparent",
	} {
		_, err := made(t, "{ profile: 'phases: [{duration: 1, arrivalRate: 1}]\\nflows: [{name: a}]', "+
			"ingest: {url: 'http://h'}, mqtt: {url: 'mqtt://h'}, "+options+" }")
		assert.ErrorContains(t, err, want, options)
	}
}

// Regression: a collector that exports every 25 s was given up after 6 s, and the pipeline was asked for a traceparent.
func TestTheEndWaitsAsLongAsThePipelineTakesBetweenExports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		every, ran time.Duration
		dies       bool // with the load
		waits      time.Duration
	}{
		"an SDK":                 {every: 5 * time.Second, ran: 12 * time.Second, waits: 3 * time.Second},
		"an SDK that dies":       {every: 5 * time.Second, ran: 12 * time.Second, dies: true, waits: 6250 * time.Millisecond},
		"a collector, short run": {every: 25 * time.Second, ran: 10 * time.Second, waits: 15 * time.Second},
		"a collector, long run":  {every: 25 * time.Second, ran: 55 * time.Second, waits: 20 * time.Second},
		"a collector that dies":  {every: 25 * time.Second, ran: 55 * time.Second, dies: true, waits: 31250 * time.Millisecond},
		"no exporter":            {every: time.Hour, ran: 10 * time.Second, waits: spansFirst},
		"one in two minutes":     {every: 2 * time.Minute, ran: 130 * time.Second, dies: true, waits: spansMost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &spanSource{mixing: spans.NewMixing("run"), first: spansFirst}
				s.Keeper = spans.NewKeeper(s.mixing, func(string) (int, bool) { return 0, false })
				began := time.Now()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go func() {
					for n := 0; ; n++ {
						select {
						case <-time.After(c.every):
						case <-ctx.Done():
							return
						}
						if time.Since(began) < c.ran || !c.dies {
							s.Take(oneSpan(s.mixing.TraceOf(n)))
						}
					}
				}()
				time.Sleep(c.ran)
				before := s.Received().Own
				s.await(t.Context(), func() bool { return s.Received().Own > before })
				assert.InDelta(t, c.waits.Seconds(), (time.Since(began) - c.ran).Seconds(), 2*spansLook.Seconds())
			})
		})
	}
}

// oneSpan is an export of a span.
func oneSpan(trace [16]byte) []*tracepb.ResourceSpans {
	const at = 1_700_000_000_000_000_000
	return []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{{
		TraceId: trace[:], SpanId: []byte("12345678"), StartTimeUnixNano: at, EndTimeUnixNano: at + 1,
	}}}}}}
}

// Several instances: the pipeline exports to the first, and merging makes the stages of the messages of all.
func TestSpansOfSeveralInstancesAreMerged(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Redis: &fake.Redis{}}
	test.Start(t, f)
	endpoint := freeAddress(t)
	p := startTraced(t, endpoint, f.IngestURL())
	front := httptest.NewServer(p)
	t.Cleanup(front.Close)
	var work sync.WaitGroup
	scripts := make([]*script, 3)
	for i, one := range unequalSegments {
		scripts[i] = newSegment(t, f, one, unequalSequence,
			"phases: [{duration: 1, arrivalRate: 200}]\nflows: [{name: direct}]",
			fmt.Sprintf("ingest: { url: %q }, runId: 'abcd1234', spans: { listen: %q, oneIn: 2 }", front.URL, endpoint))
		e := scripts[i].engine
		for range 8 {
			work.Go(func() {
				for vu := NewSender(e, scripts[i].state); vu.Send(t.Context()); {
				}
			})
		}
		work.Go(func() { assert.NoError(t, e.collect(t.Context(), scripts[i].state, scripts[i].metrics)) })
	}
	work.Wait()
	var dirs []string
	sampled := 0
	for i, s := range scripts {
		s.dir = filepath.Join(s.dir, fmt.Sprintf("generator-%d", i+1))
		part := s.written()
		sampled += part.Spans.Sampled
		if i == 0 {
			assert.Equal(t, endpoint, part.Spans.Listen)
			assert.Positive(t, part.Spans.Count)
		} else {
			assert.Empty(t, part.Spans.Listen)
			assert.Zero(t, part.Spans.Count)
		}
		dirs = append(dirs, s.dir)
	}
	out := filepath.Join(t.TempDir(), "whole")
	_, r, err := merge.Directories(dirs, out)
	require.NoError(t, err)
	s := r.Spans
	require.NotNil(t, s)
	assert.Equal(t, p.flags[true], s.Sampled)
	assert.Equal(t, sampled, s.Sampled)
	assert.EqualValues(t, sampled, s.Count, "%+v", s.Marks)
	assert.Equal(t, 4*sampled, s.Received.Own)
	assert.Len(t, s.Stages, 6)
	assert.GreaterOrEqual(t, *s.Stages[3].Mean, 30.0)
	assert.NotNil(t, s.Difference.Mean)
	again, err := spans.ReadTraced(out)
	require.NoError(t, err)
	assert.Len(t, again.Generators, 3)
	assert.FileExists(t, filepath.Join(out, spans.SpansName))

	require.NoError(t, os.Remove(filepath.Join(dirs[1], spans.TracedName)))
	_, r, err = merge.Directories(dirs, filepath.Join(t.TempDir(), "whole"))
	require.NoError(t, err)
	assert.Less(t, r.Spans.Sampled, sampled)
	last := r.Errors[len(r.Errors)-1]
	assert.Equal(t, "not merged", last.Class)
	assert.Contains(t, last.Example, "generator 2: there is no ")
}

// Regression: a pipeline whose exports were all refused, or whose spans had times in ms, was asked for a traceparent.
func TestWhyNoSpanCame(t *testing.T) {
	t.Parallel()
	for why, got := range map[string]runfile.SpansReceived{
		"all 3 requests were refused":                  {Refused: 3},
		"7 spans came to a:1, all without ids or with": {Spans: 7, Malformed: 7},
		"7 spans came to a:1 and none of a message":    {Spans: 7, Malformed: 6, Others: 1},
		"0 spans came to a:1 and none of a message":    {},
	} {
		assert.Contains(t, noneCame(got, "a:1", time.Minute), why)
	}
}
