package spans

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
)

func listen(t *testing.T) (*Receiver, *Keeper, *atomic.Int64) {
	t.Helper()
	k := NewKeeper(NewMixing("run"), func(string) (int, bool) { return 0, false })
	faults := &atomic.Int64{}
	fault := func(string, string) { faults.Add(1) }
	r, err := listenFor(t.Context(), "127.0.0.1:0", k, fault, time.Hour) // however long the test takes
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r, k, faults
}

func TestATraceIDNamesItsMessage(t *testing.T) {
	t.Parallel()
	m := NewMixing("r1")
	var seen [16]map[byte]bool
	for n := range 5_000 {
		id := m.TraceOf(n)
		back, ok := m.NumberOf(id[:])
		require.True(t, ok)
		require.Equal(t, n, back)
		for i, b := range id {
			if seen[i] == nil {
				seen[i] = map[byte]bool{}
			}
			seen[i][b] = true
		}
	}
	for i, values := range seen {
		assert.Len(t, values, 256, "byte %d has every value", i)
	}
	other := NewMixing("r2").TraceOf(7)
	_, ok := m.NumberOf(other[:])
	assert.False(t, ok, "of another run")
	_, ok = m.NumberOf([]byte("short"))
	assert.False(t, ok)
}

func TestOneMessageInSoManyIsPickedAndOfEachPlaceInABatch(t *testing.T) {
	t.Parallel()
	places := map[int]int{}
	const requests, batch, oneIn = 100_000, 10, 100
	for i := range requests {
		if n, ok := Picked(i*batch, batch, oneIn); ok {
			places[n-i*batch]++
		} else {
			require.Equal(t, i*batch, n, "its trace belongs to no other request")
		}
	}
	for place := range batch {
		assert.InDelta(t, requests/oneIn, places[place], 200, "place %d", place)
	}
	n, ok := Picked(12, 1, 1)
	assert.True(t, ok && n == 12)
}

// The exporters of OpenTelemetry's Go SDK, over both transports.
func TestSDKsExportOverBothTransports(t *testing.T) {
	t.Parallel()
	r, k, faults := listen(t)
	clients := map[string]func() otlptrace.Client{
		"http": func() otlptrace.Client {
			return otlptracehttp.NewClient(otlptracehttp.WithEndpoint(r.Address()), otlptracehttp.WithInsecure())
		},
		"http, gzip": func() otlptrace.Client {
			return otlptracehttp.NewClient(otlptracehttp.WithEndpoint(r.Address()), otlptracehttp.WithInsecure(),
				otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
		},
		"grpc": func() otlptrace.Client {
			return otlptracegrpc.NewClient(otlptracegrpc.WithEndpoint(r.Address()), otlptracegrpc.WithInsecure())
		},
		"grpc, gzip": func() otlptrace.Client {
			return otlptracegrpc.NewClient(otlptracegrpc.WithEndpoint(r.Address()), otlptracegrpc.WithInsecure(),
				otlptracegrpc.WithCompressor("gzip"))
		},
	}
	want := 0
	for name, client := range clients {
		exporter, err := otlptrace.New(t.Context(), client())
		require.NoError(t, err, name)
		provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter), sdk.WithSampler(sdk.ParentBased(sdk.NeverSample())))
		for n, flags := range []oteltrace.TraceFlags{oteltrace.FlagsSampled, 0, oteltrace.FlagsSampled} {
			parent := oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
				TraceID: oteltrace.TraceID(k.mixing.TraceOf(n)), SpanID: [8]byte{1}, TraceFlags: flags, Remote: true,
			})
			_, span := provider.Tracer("test").Start(oteltrace.ContextWithSpanContext(t.Context(), parent), "POST /messages")
			span.End()
		}
		require.NoError(t, provider.Shutdown(t.Context()), name)
		want += 2
		assert.Equal(t, want, k.Received().Own, "%s: a parent-based sampler records what has the flag", name)
	}
	assert.Zero(t, faults.Load())
	assert.Len(t, k.own, 2)
}

const inJSON = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"api"}}]},"scopeSpans":[{"spans":[
{"traceId":"%x","spanId":"00F067AA0BA902B7","parentSpanId":"","name":"POST","kind":2,"startTimeUnixNano":"1700000000000000000",
"endTimeUnixNano":"1700000000001000000","flags":257,"unknownField":1}]}]}]}`

func post(t *testing.T, r *Receiver, kind, encoding string, body []byte) int {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.Address()+"/v1/traces",
		bytes.NewReader(body))
	require.NoError(t, err)
	q.Header.Set("Content-Type", kind)
	if encoding != "" {
		q.Header.Set("Content-Encoding", encoding)
	}
	answer, err := http.DefaultClient.Do(q)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode
}

func TestJSONHasHexadecimalIDs(t *testing.T) {
	t.Parallel()
	r, k, _ := listen(t)
	own := k.mixing.TraceOf(41)
	assert.Equal(t, 200, post(t, r, "application/json; charset=utf-8", "", fmt.Appendf(nil, inJSON, own)))
	require.Len(t, k.own[own], 1)
	s := k.own[own][0]
	assert.Equal(t, spanID{0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7}, s.id)
	assert.Equal(t, "api", k.names.list[s.service])
	assert.EqualValues(t, 1_000_000, s.end-s.start)
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// Regression: times of 0, and in ms or µs in place of ns, were those of a clock that is decades behind.
func TestTimesThatAreNoneAreMalformed(t *testing.T) {
	t.Parallel()
	ns := uint64(epoch.UnixNano())
	for _, times := range [][2]uint64{{0, 0}, {0, ns}, {ns / 1e9, ns / 1e9}, {ns / 1e6, ns/1e6 + 1},
		{ns / 1e3, ns/1e3 + 1},
		{ns, ns - 1}, {ns, 1<<62 + 1}, {ns, 1<<64 - 1}} {
		k := keeper()
		in := k.mixing.TraceOf(1)
		k.Take(export("away", &tracepb.Span{TraceId: in[:], SpanId: []byte("12345678"), Kind: server,
			StartTimeUnixNano: times[0], EndTimeUnixNano: times[1]}))
		assert.Equal(t, 1, k.Received().Malformed, times)
		assert.Empty(t, k.own, times)
	}
}

// Regression: malformed spans were counted, and their exporter was told that all is well.
func TestMalformedSpansAreAPartialSuccess(t *testing.T) {
	t.Parallel()
	r, k, _ := listen(t)
	in, now := k.mixing.TraceOf(1), uint64(epoch.UnixNano())
	whole := &tracepb.Span{TraceId: in[:], SpanId: []byte("12345678"), StartTimeUnixNano: now, EndTimeUnixNano: now + 1}
	early := proto.CloneOf(whole)
	early.StartTimeUnixNano, early.EndTimeUnixNano = now/1e6, now/1e6+1
	short := proto.CloneOf(whole)
	short.TraceId = short.TraceId[:8]
	request := &collector.ExportTraceServiceRequest{ResourceSpans: export("api", whole, early, short)}
	data, err := proto.Marshal(request)
	require.NoError(t, err)
	answer, err := http.Post("http://"+r.Address()+"/v1/traces", "application/x-protobuf", bytes.NewReader(data))
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	assert.Equal(t, 200, answer.StatusCode)
	data, err = io.ReadAll(answer.Body)
	require.NoError(t, err)
	overHTTP := &collector.ExportTraceServiceResponse{}
	require.NoError(t, proto.Unmarshal(data, overHTTP))

	conn, err := grpc.NewClient(r.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	overGRPC, err := collector.NewTraceServiceClient(conn).Export(t.Context(), request)
	require.NoError(t, err)

	for _, got := range []*collector.ExportTraceServiceResponse{overHTTP, overGRPC} {
		assert.EqualValues(t, 2, got.GetPartialSuccess().GetRejectedSpans())
		assert.Contains(t, got.GetPartialSuccess().GetErrorMessage(), "ns since 1970")
	}
	assert.Equal(t, 2, k.Received().Own)
}

func appendLength(b []byte, n int) []byte {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

func TestWhatIsOverTheLimitsIsDroppedAndCounted(t *testing.T) {
	t.Parallel()
	_, k, _ := listen(t)
	own := k.mixing.TraceOf(1)
	links := make([]*tracepb.Span_Link, 2*linksMost)
	for i := range links {
		to := k.mixing.TraceOf(i)
		links[i] = &tracepb.Span_Link{TraceId: to[:]}
	}
	now := uint64(epoch.UnixNano())
	s := &tracepb.Span{TraceId: own[:], SpanId: make([]byte, 8), Links: links, StartTimeUnixNano: now,
		EndTimeUnixNano: now}
	all := make([]*tracepb.Span, 6_000)
	for i := range all {
		all[i] = s
	}
	dropped, malformed := k.Take([]*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: all}}}})
	got := k.Received()
	assert.Positive(t, dropped)
	assert.Equal(t, dropped, got.Dropped)
	assert.Zero(t, malformed)
	assert.Equal(t, 6_000, got.Own+got.Dropped)
	assert.LessOrEqual(t, k.kept, spansMost+linksMost)

	_, k, _ = listen(t)
	for i := range othersMost + 500 {
		k.Take(export("api", &tracepb.Span{TraceId: fmt.Appendf(nil, "%016d", i), SpanId: make([]byte, 8),
			Name: fmt.Sprint(i), StartTimeUnixNano: now, EndTimeUnixNano: now}))
	}
	assert.Equal(t, othersMost+500, k.Received().Others)
	assert.LessOrEqual(t, len(k.others), othersMost)
	assert.LessOrEqual(t, len(k.names.list), namesMost)
	k.Take(export("api", &tracepb.Span{TraceId: []byte("short")}, nil))
	assert.Equal(t, 2, k.Received().Malformed)
}

func export(service string, spans ...*tracepb.Span) []*tracepb.ResourceSpans {
	q := &collector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: resourceOf(service), ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}},
	}}}
	return proto.CloneOf(q).GetResourceSpans()
}
