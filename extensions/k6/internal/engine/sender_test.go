package engine

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const twenty = "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]"

// ingest starts an HTTP server that delivers nothing, and counts its connections.
func ingest(t *testing.T, secure bool, handle http.HandlerFunc) (url string, connections *atomic.Int64) {
	t.Helper()
	connections = &atomic.Int64{}
	server := httptest.NewUnstartedServer(handle)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server.URL, connections
}

// at returns JavaScript options for another ingest.
func at(url, more string) string {
	return "idle: '100ms', ingest: { url: '" + url + "', " + more + " }"
}

func TestEachSenderKeepsOneConnection(t *testing.T) {
	t.Parallel()
	accept := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }
	url, connections := ingest(t, false, accept)
	newScript(t, &fake.Pipeline{}, twenty, at(url, "")+", maxSenders: 16").run() // more are made on a busy machine
	assert.LessOrEqual(t, connections.Load(), int64(16), "at most one per sender")

	url, connections = ingest(t, false, accept)
	r := newScript(t, &fake.Pipeline{}, twenty, at(url, "keepAlive: false")).run()
	assert.Equal(t, int64(20), connections.Load(), "one connection per request")
	assert.Equal(t, 20, r.Account.Lost)
}

func TestHeadersAndTokenAreSent(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	url, _ := ingest(t, false, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Header.Get("X-Tenant")+" "+r.Header.Get("Authorization")+" "+r.URL.Path, true)
		w.WriteHeader(http.StatusAccepted)
	})
	newScript(t, &fake.Pipeline{}, twenty, at(url, "token: 'hush', headers: { 'X-Tenant': 'blue' }")).run()
	_, ok := seen.Load("blue Bearer hush /messages")
	assert.True(t, ok)
}

func TestTLSCertificatesAreVerified(t *testing.T) {
	t.Parallel()
	url, _ := ingest(t, true, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	s := newScript(t, &fake.Pipeline{}, twenty, at(url, "")+", timeout: '1m'") // a handshake is slow on a busy machine
	r := s.run()
	assert.Equal(t, 20, r.Account.Rejected, "the run does not trust its certificate")
	require.Len(t, r.Errors, 1)
	assert.Equal(t, "TLS", r.Errors[0].Class)
	assert.Contains(t, r.Errors[0].Example, "certificate signed by unknown authority (ca, TLS_CA: ")

	s = newScript(t, &fake.Pipeline{}, twenty, at(url, ""))
	s.state.TLSConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // what k6's insecureSkipTLSVerify does
	assert.Equal(t, 20, s.run().Account.Lost, "accepted")

	same := httptest.NewTLSServer(nil) // all of Go's test servers share one certificate
	defer same.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: same.Certificate().Raw})
	s = newScript(t, &fake.Pipeline{}, twenty, at(url, "")+fmt.Sprintf(", ca: %q", ca))
	assert.Equal(t, 20, s.run().Account.Lost, "accepted: the run trusts the CA")
}

// Regression: the handshake had no timeout, so an ingest that accepted a connection and stayed
// silent blocked the run forever.
func TestATLSHandshakeTimesOut(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	r := newScript(t, &fake.Pipeline{}, twenty, at("https://"+listener.Addr().String(), "")+", timeout: '200ms'").run()
	assert.Equal(t, 20, r.Account.Rejected, "nothing was sent")
	assert.Equal(t, "no connection: timeout", r.Errors[0].Class)
}

func TestOnlySomeStatusesAreRetried(t *testing.T) {
	t.Parallel()
	for status, retried := range map[int]bool{202: false, 301: false, 400: false, 429: true, 500: true, 503: true,
		0: true} {
		assert.Equal(t, retried, mayHelp(status), status)
	}
}

// ahead starts an ingest in front of f. first handles a request that is not a repeat, and reports
// whether it is done. All others are passed to f and accepted.
func ahead(t *testing.T, f *fake.Pipeline,
	first func(nth int64, w http.ResponseWriter, pass func()) (done bool)) (url string) {
	t.Helper()
	require.NoError(t, f.Start())
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	var seen sync.Map
	var count atomic.Int64
	url, _ = ingest(t, false, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		pass := func() {
			answer, err := http.Post(f.IngestURL()+r.URL.Path, "application/json", strings.NewReader(string(body)))
			if err == nil {
				_ = answer.Body.Close()
			}
		}
		if _, seenBefore := seen.LoadOrStore(string(body), true); !seenBefore && first(count.Add(1), w, pass) {
			return
		}
		pass()
		w.WriteHeader(http.StatusAccepted)
	})
	return url
}

func TestAFailedAttemptIsRetriedWithTheSameIDs(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	url := ahead(t, f, func(nth int64, w http.ResponseWriter, _ func()) bool {
		if nth%4 != 1 { // every fourth request
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	r := newScriptAt(t, f, twenty, "ingest: { url: '"+url+"', retries: 3 }").run()
	assert.Equal(t, 20, r.Account.Arrived)
	assert.Zero(t, r.Account.Rejected)
	assert.Equal(t, 5, r.Account.Requests.Retried)
	assert.Equal(t, 20, r.Account.Requests.Sent)
	assert.Equal(t, int64(20), r.Latency.Arrival.Count)
	assert.Equal(t, int64(25), r.Latency.HTTP.Count, "one sample per attempt")
	assert.Equal(t, 5, r.Errors[0].Count)
	assert.GreaterOrEqual(t, *r.Latency.Arrival.Max, 50.0, "the wait between attempts counts")
}

// The client times out and retries although the ingest accepted the first attempt (fault 23). Its
// timeout is long, so that the second attempt succeeds on a busy machine too.
func TestARetriedMessageThatArrivesTwiceIsOneSample(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	slow := make(chan struct{})
	url := ahead(t, f, func(nth int64, _ http.ResponseWriter, pass func()) bool {
		if nth%10 != 1 {
			return false
		}
		pass()
		<-slow
		return true
	})
	t.Cleanup(func() { close(slow) })
	const timeout = 10_000.0
	r := newScriptAt(t, f, twenty, "ingest: { url: '"+url+"', retries: 1 }, timeout: '10s'").run()
	assert.Equal(t, runfile.Account{
		Scheduled: 20, Arrived: 20, Duplicates: 2, Reordered: r.Account.Reordered, Balanced: true,
		Requests:   runfile.Requests{Scheduled: 20, Sent: 20, Retried: 2, Failed: r.Account.Requests.Failed},
		Deliveries: runfile.Deliveries{Due: 20, Arrived: 20},
	}, r.Account)
	assert.Equal(t, int64(20), r.Latency.Arrival.Count)
	assert.Less(t, *r.Latency.Arrival.P50, timeout, "the first arrival is the sample")
	assert.Less(t, *r.Latency.Arrival.Max, timeout, "also for retried messages")
}

func TestAFailedAttemptHasAnErrorClass(t *testing.T) {
	t.Parallel()
	hijack := func(close func(*net.TCPConn)) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				close(conn.(*net.TCPConn))
			}
		}
	}
	reset, _ := ingest(t, false, hijack(func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() }))
	closed, _ := ingest(t, false, hijack(func(c *net.TCPConn) { _ = c.Close() }))
	for url, want := range map[string]struct {
		class    string
		rejected int
	}{
		reset:                    {"reset", 0},
		closed:                   {"closed", 0},
		"http://127.0.0.1:1":     {"no connection: refused", 20},
		"http://host.invalid:80": {"no connection: name not resolved", 20},
		"https://" + closed[7:]:  {"TLS", 20},
	} {
		for how, run := range map[string]func(*script) *runfile.Run{"send": (*script).run, "pump": (*script).pumped} {
			t.Run(want.class+", "+how, func(t *testing.T) {
				t.Parallel()
				r := run(newScript(t, &fake.Pipeline{}, twenty, at(url, "")))
				require.Len(t, r.Errors, 1)
				assert.Equal(t, want.class, r.Errors[0].Class, r.Errors[0].Example)
				assert.Equal(t, 20, r.Errors[0].Count)
				assert.Equal(t, want.rejected, r.Account.Rejected, "a request that was not sent is rejected")
				assert.Equal(t, 20-want.rejected, r.Account.Unknown)
			})
		}
	}
}

func TestK6sTrendsAreBounded(t *testing.T) {
	t.Parallel()
	assert.Equal(t, thinned{1}, thin(0))
	assert.Equal(t, thinned{1}, thin(trendMost-1))
	assert.Equal(t, thinned{13}, thin(5_000_000))
	assert.Len(t, thinned{1}.pick(nil, make([]int64, 1000)), 1000, "all")

	// Regression: flows come in a cycle, so every nth sample came from the same flow.
	taken := map[int64]int{}
	for range 10_000 {
		for _, flow := range (thinned{10}).pick(nil, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
			taken[flow]++
		}
	}
	for flow := range int64(10) {
		assert.InDelta(t, 1000, taken[flow+1], 200, "6.6 standard deviations")
	}
}

// Regression: the time to connect was reported only as part of the request's latency.
func TestConnectTimesAreReported(t *testing.T) {
	t.Parallel()
	for keepAlive, want := range map[bool]int64{false: 20, true: 1} {
		s := newScript(t, &fake.Pipeline{}, twenty,
			fmt.Sprintf("maxSenders: 1, ingest: { url: 'PIPELINE', keepAlive: %t }", keepAlive))
		s.runWith(1, func(ctx context.Context, e *Engine) {
			for vu := NewSender(e, s.state); vu.Send(ctx); {
			}
		})
		got := s.engine.Connections()
		assert.Equal(t, want, got.Count)
		assert.Greater(t, *got.Min, 0.0)
		assert.LessOrEqual(t, *got.Min, *got.Mean)
	}
}
