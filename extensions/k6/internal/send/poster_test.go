package send

import (
	"bufio"
	"crypto/tls"
	"fmt"
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
	o.URL, o.Path, o.BatchPath = url, "/messages", "/messages/batch"
	p := NewPoster(o, network.Network{Dialer: netext.NewDialer(net.Dialer{}, nil), TLS: &tls.Config{}}, timeout)
	t.Cleanup(func() {
		if p.link != nil {
			p.hangUp()
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

func TestEachKindOfAnswerIsRead(t *testing.T) {
	t.Parallel()
	ok := "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok"
	long := strings.Repeat("x", 20_000)
	for name, c := range map[string]struct {
		texts       []string
		want        string // status and body of each answer, or the class of its error
		connections int64
	}{
		"same answer each time":    {[]string{ok}, "202 ok, 202 ok, 202 ok", 1},
		"other answer each time":   {[]string{ok, "HTTP/1.1 400 Bad\r\nContent-Length: 3\r\n\r\nbad", ok}, "202 ok, 400 bad, 202 ok", 1},
		"in pieces":                {[]string{"HTTP/1.1 20|2 Accepted\r\nContent-|Length: 2\r\n\r|\no|k"}, "202 ok, 202 ok, 202 ok", 1},
		"header first, body later": {[]string{ok, "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\n|busy", ok}, "202 ok, 503 busy, 202 ok", 1},
		"longer than the buffer":   {[]string{"HTTP/1.1 400 Bad\r\nContent-Length: 20000\r\n\r\n" + long, ok}, "400 " + long + ", 202 ok, 202 ok", 1},
		"shorter answer follows":   {[]string{"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 40\r\n\r\n" + strings.Repeat("x", 40), "HTTP/1.1 202 \r\nContent-Length: 0\r\n\r\n"}, "503 " + strings.Repeat("x", 40) + ", 202 , 202 ", 1},
		"no body":                  {[]string{ok, "HTTP/1.1 204 No Content\r\n\r\n", ok}, "202 ok, 204 , 202 ok", 1},
		"chunked":                  {[]string{"HTTP/1.1 202 A\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", ok}, "202 ok, 202 ok, 202 ok", 1},
		"chunked, with a trailer":  {[]string{"HTTP/1.1 202 A\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\nX-Sum: 1\r\n\r\n"}, "202 ok, 202 ok, 202 ok", 1},
		"body until the end":       {[]string{"HTTP/1.1 202 A\r\n\r\nok" + hangsUp}, "202 ok, 202 ok, 202 ok", 3},
		"close":                    {[]string{"HTTP/1.1 202 A\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok" + hangsUp}, "202 ok, 202 ok, 202 ok", 3},
		"close, capital C":         {[]string{"HTTP/1.1 202 A\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok" + hangsUp}, "202 ok, 202 ok, 202 ok", 3},
		"close, in a list":         {[]string{"HTTP/1.1 202 A\r\nconnection: keep-alive ,\tCLOSE\r\nContent-Length: 2\r\n\r\nok"}, "202 ok, 202 ok, 202 ok", 3},
		"close, in a second line":  {[]string{"HTTP/1.1 202 A\r\nConnection: Keep-Alive\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok"}, "202 ok, 202 ok, 202 ok", 3},
		"close, in pieces":         {[]string{"HTTP/1.1 202 A\r\nConnection: Cl|ose\r\nContent-Length: 2\r\n\r\nok"}, "202 ok, 202 ok, 202 ok", 3},
		"close, then keep-alive":   {[]string{"HTTP/1.1 202 A\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok", ok}, "202 ok, 202 ok, 202 ok", 2},
		"another token than close": {[]string{"HTTP/1.1 202 A\r\nConnection: close-not, keep-alive\r\nContent-Length: 2\r\n\r\nok"}, "202 ok, 202 ok, 202 ok", 1},
		"HTTP/1.0":                 {[]string{"HTTP/1.0 202 A\r\nContent-Length: 2\r\n\r\nok" + hangsUp}, "202 ok, 202 ok, 202 ok", 3},
		"interim answers first":    {[]string{ok, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok, ok}, "202 ok, 202 ok, 202 ok", 1},
		"endless interim answers":  {[]string{strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 20), ok}, "failed, 202 ok, 202 ok", 2},
		"switching protocols":      {[]string{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n", ok}, "101 , 202 ok, 202 ok", 2},
		"unsolicited answer":       {[]string{ok + "HTTP/1.1 500 Late\r\nContent-Length: 0\r\n\r\n", ok}, "202 ok, 202 ok, 202 ok", 2},
		"no answer":                {[]string{hangsUp, ok}, "closed, 202 ok, 202 ok", 2},
		"half a header":            {[]string{"HTTP/1.1 202 Acc" + hangsUp, ok}, "closed, 202 ok, 202 ok", 2},
		"half a body":              {[]string{"HTTP/1.1 202 A\r\nContent-Length: 9\r\n\r\nok" + hangsUp, ok}, "closed, 202 ok, 202 ok", 2},
		"unfinished chunks":        {[]string{"HTTP/1.1 202 A\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n" + hangsUp, ok}, "closed, 202 ok, 202 ok", 2},
		"not HTTP":                 {[]string{"SSH-2.0-OpenSSH_9.2\r\n\r\n", ok}, "failed, 202 ok, 202 ok", 2},
		"header too long":          {[]string{"HTTP/1.1 202 A\r\nX: " + strings.Repeat("x", headerMost) + "\r\n\r\n", ok}, "failed, 202 ok, 202 ok", 2},
		"body too long":            {[]string{fmt.Sprintf("HTTP/1.1 202 A\r\nContent-Length: %d\r\n\r\n", bodyMost+1), ok}, "failed, 202 ok, 202 ok", 2},
		"line feeds only":          {[]string{"HTTP/1.1 202 A\nContent-Length: 4\n\n\r\n\r\n", ok}, "202 \r\n\r\n, 202 ok, 202 ok", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serveCanned(t, c.texts...)
			p := newTestPoster(t, server.url, keep, longTimeout)
			var got []string
			for range 3 {
				a := p.Post(time.Now(), []byte(`{"id":"1"}`), 1)
				if a.Err != nil {
					got = append(got, network.ClassOf(a.Err))
				} else {
					got = append(got, fmt.Sprintf("%d %s", a.Status, a.Body()))
				}
			}
			assert.Equal(t, c.want, strings.Join(got, ", "))
			assert.Equal(t, c.connections, server.connections.Load())
		})
	}
}

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
		KeepAlive: true, Token: "hush", Headers: map[string]string{"content-type": "text/plain", "X-Tenant": "blue", "Content-Length": "9", "Host": "a.example"},
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
	first := p.link
	time.Sleep(time.Until(began.Add(timeout / 2)))
	sent := time.Now()
	a := p.Post(sent, []byte("slow"), 1)
	if a.Err == nil {
		assert.Same(t, first, p.link)
	} else { // a busy machine may delay it until its own deadline, which is after the first one's
		assert.Equal(t, "timeout", network.ClassOf(a.Err), a.Err)
		assert.GreaterOrEqual(t, a.Done.Sub(sent), timeout)
	}
	sent = time.Now()
	a = p.Post(sent, []byte("silent"), 1)
	assert.Equal(t, "timeout", network.ClassOf(a.Err), a.Err)
	assert.GreaterOrEqual(t, a.Done.Sub(sent), timeout)
	assert.Less(t, a.Done.Sub(sent), 15*timeout)
	assert.Nil(t, p.link, "a late answer is not the answer to the next request")
	require.NoError(t, p.Post(time.Now(), nil, 1).Err)
}

// A server that closes an idle connection does not see a request that is written at that moment.
func TestAClosedConnectionIsNotReused(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	server.Config.IdleTimeout = 20 * time.Millisecond
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	p := newTestPoster(t, server.URL, keep, longTimeout)
	for range 3 {
		a := p.Post(time.Now(), nil, 1)
		require.NoError(t, a.Err)
		require.Equal(t, http.StatusAccepted, a.Status)
		<-closed
		time.Sleep(time.Until(p.used.Add(idleUnchecked + time.Millisecond))) // before that the poster does not check
	}
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
}
