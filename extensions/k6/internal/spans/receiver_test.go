package spans

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
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
	r, err := Listen(t.Context(), "127.0.0.1:0", k, func(string, string) { faults.Add(1) })
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
			require.Equal(t, i*batch, n, "its trace is no other request's")
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
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.Address()+"/v1/traces", bytes.NewReader(body))
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

func TestHostileExportsAreRefusedWithACount(t *testing.T) {
	t.Parallel()
	r, k, faults := listen(t)
	bomb := &bytes.Buffer{}
	zip := gzip.NewWriter(bomb)
	_, _ = zip.Write(make([]byte, bodyMost+1))
	_ = zip.Close()
	empty := bytes.Repeat([]byte{0x12, 0}, objectsMost+1) // spans without content
	scope := append(appendLength([]byte{0x12}, len(empty)), empty...)
	resource := append(appendLength([]byte{0x0a}, len(scope)), scope...)
	cases := []struct {
		kind, encoding string
		body           []byte
		status         int
	}{
		{"text/plain", "", nil, 415},
		{"application/json", "br", []byte("{}"), 415},
		{"application/json", "deflate", []byte("{}"), 415},
		{"", "", []byte("{}"), 415},
		{"application/json", "", nil, 400},
		{"application/json", "", []byte("null"), 400},
		{"application/json", "", []byte(`{"resourceSpans":{}}`), 400},
		{"application/json", "", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":-1}]}]}]}`), 400},
		{"application/json", "", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":1.5}]}]}]}`), 400},
		{"application/json", "", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":7}]}]}]}`), 400},
		{"application/json", "", []byte("{"), 400},
		{"application/json", "", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0g"}]}]}]}`), 400},
		{"application/json", "", []byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"abc"}]}]}]}`), 400},
		{"application/json", "", []byte(strings.Repeat(`{"resourceSpans":[`, 20_000)), 400},
		{"application/json", "", bytes.Repeat([]byte("{"), objectsMost+1), 400},
		{"application/x-protobuf", "", []byte("no protobuf"), 400},
		{"application/x-protobuf", "gzip", []byte("no gzip"), 400},
		{"application/x-protobuf", "gzip", bomb.Bytes(), 413},
		{"application/x-protobuf", "", make([]byte, bodyMost+1), 413},
		{"application/x-protobuf", "", resource, 400},
	}
	for i, c := range cases {
		assert.Equal(t, c.status, post(t, r, c.kind, c.encoding, c.body), "case %d: %s %s", i, c.kind, c.encoding)
	}
	other, err := http.Post("http://"+r.Address()+"/v1/metrics", "application/json", strings.NewReader("{}"))
	require.NoError(t, err)
	_ = other.Body.Close()
	assert.Equal(t, 404, other.StatusCode)
	assert.Equal(t, len(cases)+1, k.Received().Refused)
	assert.EqualValues(t, len(cases)+1, faults.Load())

	large := otlptracegrpc.NewClient(otlptracegrpc.WithEndpoint(r.Address()), otlptracegrpc.WithInsecure(),
		otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{}), otlptracegrpc.WithTimeout(time.Minute))
	require.NoError(t, large.Start(t.Context()))
	defer func() { _ = large.Stop(context.WithoutCancel(t.Context())) }()
	spans := make([]*tracepb.Span, objectsMost+1)
	for i := range spans {
		spans[i] = &tracepb.Span{}
	}
	require.Error(t, large.UploadTraces(t.Context(),
		[]*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans}}}}))
	assert.Equal(t, len(cases)+2, k.Received().Refused)
}

// Regression: an export had its turn while its body came, so four slow senders kept all others waiting for 30 s.
func TestASlowSenderKeepsNoTurn(t *testing.T) {
	t.Parallel()
	r, k, _ := listen(t)
	var senders []net.Conn
	for range 2 * exportsMost {
		slow, err := net.Dial("tcp", r.Address())
		require.NoError(t, err)
		senders = append(senders, slow)
		defer func() { _ = slow.Close() }()
		_, err = fmt.Fprint(slow, "POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"+
			"Content-Length: 1000\r\n\r\n{")
		require.NoError(t, err)
	}
	for n := range 20 {
		require.Equal(t, 200, post(t, r, "application/json", "GZIP", []byte(zipped(t, fmt.Sprintf(inJSON, k.mixing.TraceOf(n))))))
	}
	assert.Equal(t, 20, k.Received().Own)
	for _, slow := range senders { // none was given up for the others' sake
		require.NoError(t, slow.SetReadDeadline(time.Now().Add(time.Millisecond)))
		_, err := slow.Read(make([]byte, 1))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	}
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

// The end of a run waits for nobody: not for exports that are under way, and not for connections that stay open.
func TestCloseWaitsForNoConnection(t *testing.T) {
	t.Parallel()
	r, k, _ := listen(t)
	const head = "POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	for _, begin := range []string{"", "POST", head, head + strings.Repeat(" ", 2*aheadMost), preface[:9], preface} {
		for range exportsMost {
			open, err := net.Dial("tcp", r.Address())
			require.NoError(t, err)
			defer func() { _ = open.Close() }()
			_, err = fmt.Fprint(open, begin)
			require.NoError(t, err)
		}
	}
	require.Equal(t, 200, post(t, r, "application/json", "", fmt.Appendf(nil, inJSON, k.mixing.TraceOf(1))))
	closed := make(chan struct{})
	go func() { defer close(closed); r.Close() }()
	select {
	case <-closed:
	case <-time.After(turnMost):
		t.Fatal("it waits")
	}
}

// Regression: times of 0, and in ms or µs in place of ns, were those of a clock that is decades behind.
func TestTimesThatAreNoneAreMalformed(t *testing.T) {
	t.Parallel()
	ns := uint64(epoch.UnixNano())
	for _, times := range [][2]uint64{{0, 0}, {0, ns}, {ns / 1e9, ns / 1e9}, {ns / 1e6, ns/1e6 + 1}, {ns / 1e3, ns/1e3 + 1},
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
