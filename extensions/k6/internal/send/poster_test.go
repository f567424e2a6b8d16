package send

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib/netext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// cannedServer answers requests with given texts, in order.
type cannedServer struct {
	url         string
	connections atomic.Int64
	asked       atomic.Int64
}

// hangsUp at the end of a text closes the connection.
const hangsUp = "\x00"

func serveCanned(t *testing.T, texts ...string) *cannedServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	s := &cannedServer{url: "http://" + listener.Addr().String()}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.connections.Add(1)
			go s.serve(conn, texts)
		}
	}()
	return s
}

func (s *cannedServer) serve(conn net.Conn, texts []string) {
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		text, ends := strings.CutSuffix(texts[min(int(s.asked.Add(1)), len(texts))-1], hangsUp)
		for i, part := range strings.Split(text, "|") { // each part in its own packet
			if i > 0 {
				time.Sleep(5 * time.Millisecond)
			}
			if _, err := io.WriteString(conn, part); err != nil {
				return
			}
		}
		if ends {
			return
		}
	}
}

func newTestPoster(t *testing.T, url string, o Ingest, timeout time.Duration) *Poster {
	t.Helper()
	o.URL, o.BatchPath = url, "/messages/batch"
	if o.Path == "" {
		o.Path = "/messages"
	}
	p := NewPoster(o, network.Network{Dialer: netext.NewDialer(net.Dialer{}, nil), TLS: &tls.Config{}}, timeout)
	t.Cleanup(func() {
		for _, l := range p.Idle.links {
			l.hangUp()
		}
	})
	return p
}

// ingest starts an HTTP server and returns its URL.
func ingest(t *testing.T, handle http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server.URL
}

var keep = Ingest{KeepAlive: true}

const longTimeout = 20 * time.Second

func TestARequestFollowsTheOptions(t *testing.T) {
	t.Parallel()
	var seen *http.Request
	var body []byte
	url := ingest(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
	})
	p := newTestPoster(t, url+"/v1/", Ingest{
		KeepAlive: true, Token: "hush",
		Headers: map[string]string{"content-type": "text/plain", "X-Tenant": "blue", "Host": "a.example"},
	}, longTimeout)
	p.Fields = []byte("traceparent: 00-1-2-01\r\n")
	for messages, path := range map[int]string{1: "/v1/messages", 2: "/v1/messages/batch"} {
		a := p.Post(time.Now(), []byte(`["hello"]`), messages)
		require.NoError(t, a.Err)
		assert.Equal(t, http.StatusAccepted, a.Status)
		assert.Equal(t, path, seen.URL.Path)
		assert.Equal(t, "POST HTTP/1.1 a.example", seen.Method+" "+seen.Proto+" "+seen.Host)
		assert.Equal(t, `["hello"]`, string(body))
		assert.Equal(t, http.Header{
			"Authorization": {"Bearer hush"}, "Content-Length": {"9"}, "Content-Type": {"text/plain"},
			"User-Agent": {"k6 arrival"}, "Traceparent": {"00-1-2-01"}, "X-Tenant": {"blue"},
		}, seen.Header)
	}
}

// The socket still has an earlier request's deadline. It neither ends a later request early nor
// extends its timeout.
func TestEachRequestHasItsOwnTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second
	silent := make(chan struct{})
	url := ingest(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch string(body) {
		case "slow":
			time.Sleep(timeout * 5 / 8)
		case "silent":
			select {
			case <-silent:
			case <-r.Context().Done():
			}
		}
		w.WriteHeader(http.StatusAccepted)
	})
	t.Cleanup(func() { close(silent) })
	p := newTestPoster(t, url, keep, timeout)
	began := time.Now()
	require.NoError(t, p.Post(time.Now(), nil, 1).Err)
	first := p.Idle.links[0]
	time.Sleep(time.Until(began.Add(timeout / 2)))
	sent := time.Now()
	a := p.Post(sent, []byte("slow"), 1)
	if a.Err == nil {
		assert.Same(t, first, p.Idle.links[0])
	} else { // a busy machine may delay it until its own deadline, which is after the first one's
		assert.Equal(t, "timeout", network.ClassOf(a.Err), a.Err)
		assert.GreaterOrEqual(t, a.Done.Sub(sent), timeout)
	}
	sent = time.Now()
	a = p.Post(sent, []byte("silent"), 1)
	assert.Equal(t, "timeout", network.ClassOf(a.Err), a.Err)
	assert.GreaterOrEqual(t, a.Done.Sub(sent), timeout)
	assert.Less(t, a.Done.Sub(sent), 15*timeout)
	assert.Empty(t, p.Idle.links, "a late answer is not the answer to the next request")
	require.NoError(t, p.Post(time.Now(), nil, 1).Err)
}

// Writing a body larger than the socket buffers has the same deadlines.
func TestALargeBodyIsWrittenCompletely(t *testing.T) {
	t.Parallel()
	const timeout = 4 * time.Second
	var got atomic.Int64
	url := ingest(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 0 {
			time.Sleep(timeout * 3 / 4) // past the first request's deadline
		}
		n, _ := io.Copy(io.Discard, r.Body)
		got.Store(n)
		w.WriteHeader(http.StatusAccepted)
	})
	p := newTestPoster(t, url, keep, timeout)
	began := time.Now()
	require.NoError(t, p.Post(time.Now(), nil, 1).Err)
	time.Sleep(time.Until(began.Add(timeout / 2)))
	const size = 32 << 20
	a := p.Post(time.Now(), make([]byte, size), 1)
	if a.Err != nil { // on a busy machine it may only time out
		assert.Equal(t, "timeout", network.ClassOf(a.Err), a.Err)
		return
	}
	assert.EqualValues(t, size, got.Load())
	assert.False(t, a.Written.IsZero())
	assert.False(t, a.Written.After(a.Done))
}

// Regression: a date and a fraction were ignored (RFC 9110, 10.2.3).
func TestRetryAfterIsADelayOrADate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 7, 0, 0, 0, time.UTC)
	for fields, want := range map[string]time.Duration{
		"Retry-After: 3":     3 * time.Second,
		"Retry-After: 0.25":  250 * time.Millisecond,
		"Retry-After: 0":     0,
		"Retry-After: -3":    0,
		"Retry-After: soon":  0,
		"X: 1":               0,
		"Retry-After: 86400": time.Minute,
		"Retry-After: 1" + strings.Repeat("0", 400):      time.Minute,
		"Retry-After: Wed, 25 Nov 2026 07:00:07 GMT":     7 * time.Second,
		"Retry-After: Wednesday, 25-Nov-26 07:00:07 GMT": 7 * time.Second,
		"Retry-After: Wed Nov 25 07:00:07 2026":          7 * time.Second,
		"Retry-After: Wed, 25 Nov 2026 06:59:00 GMT":     0,
		"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT":     time.Minute,
		// its clock is ahead:
		"Date: Wed, 25 Nov 2026 09:00:00 GMT\r\nRetry-After: Wed, 25 Nov 2026 09:00:05 GMT": 5 * time.Second,
	} {
		server := serveCanned(t, "HTTP/1.1 429 Slow\r\n"+fields+"\r\nContent-Length: 0\r\n\r\n")
		p := newTestPoster(t, server.url, keep, longTimeout)
		require.NoError(t, p.Post(time.Now(), nil, 1).Err, fields)
		assert.Equal(t, want, p.RetryAfter(now, time.Minute), fields)
	}
}
