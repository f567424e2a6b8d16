package spans

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

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

// Regression: an export had its turn while its body came, so 16 senders that began well and then sent a byte now and
// then kept all others waiting.
func TestASlowSenderKeepsNoTurn(t *testing.T) {
	t.Parallel()
	r, k, _ := listen(t)
	var senders []net.Conn
	for i := range 4 * exportsMost {
		slow, err := net.Dial("tcp", r.Address())
		require.NoError(t, err)
		senders = append(senders, slow)
		defer func() { _ = slow.Close() }()
		_, err = fmt.Fprint(slow, "POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"+
			"Content-Length: 1000000\r\n\r\n{", strings.Repeat(" ", 10_000*i))
		require.NoError(t, err)
	}
	for n := range 20 {
		require.Equal(t, 200,
			post(t, r, "application/json", "GZIP", []byte(zipped(t, fmt.Sprintf(inJSON, k.mixing.TraceOf(n))))))
	}
	assert.Equal(t, 20, k.Received().Own)
	for _, slow := range senders { // none was given up for the others' sake
		require.NoError(t, slow.SetReadDeadline(time.Now().Add(time.Millisecond)))
		_, err := slow.Read(make([]byte, 1))
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
	}
}

// preface begins HTTP/2, with empty settings.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// Regression: 300 idle connections kept all exports out, and nothing said so.
func TestIdleConnectionsMakeRoomForExports(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{
		"silent": "", "HTTP/2": preface, "half a header": "POST /v1/tr",
		"half a body": "POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, k, faults := listen(t)
			const more = 44
			for range connectionsMost + more {
				idle, err := net.Dial("tcp", r.Address())
				require.NoError(t, err)
				defer func() { _ = idle.Close() }()
				_, err = fmt.Fprint(idle, begin)
				require.NoError(t, err)
			}
			in := k.mixing.TraceOf(1)
			assert.Equal(t, 200, post(t, r, "application/json", "", fmt.Appendf(nil, inJSON, in)))
			client := otlptracegrpc.NewClient(otlptracegrpc.WithEndpoint(r.Address()), otlptracegrpc.WithInsecure())
			require.NoError(t, client.Start(t.Context()))
			now := uint64(epoch.UnixNano())
			require.NoError(t, client.UploadTraces(t.Context(), export("api", &tracepb.Span{TraceId: in[:],
				SpanId: []byte("12345678"), StartTimeUnixNano: now, EndTimeUnixNano: now})))
			require.NoError(t, client.Stop(t.Context()))
			assert.Equal(t, 2, k.Received().Own)
			assert.GreaterOrEqual(t, int(faults.Load()), more)
			assert.GreaterOrEqual(t, k.Received().Refused, more)
		})
	}
}

// The end of a run waits for nobody: not for exports that are under way, and not for connections that stay open.
func TestCloseWaitsForNoConnection(t *testing.T) {
	t.Parallel()
	r, k, _ := listen(t)
	const head = "POST /v1/traces HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n"
	for _, begin := range []string{"", "POST", head, head + strings.Repeat(" ", 128<<10), preface[:9], preface} {
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
	case <-time.After(5 * time.Second):
		t.Fatal("it waits")
	}
}
