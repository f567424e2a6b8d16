package arrival

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// over is a run's options: a pump of one connection, to an ingest of the test's own.
func over(url, more string) string { return at(url, "") + ", inFlight: 1" + more }

func TestThePumpReadsEachKindOfAnswer(t *testing.T) {
	t.Parallel()
	ok := "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nok"
	for name, c := range map[string]struct {
		text   string // of each second answer; before it comes ok, after which the loop has the connection
		status string // and the body, that are told as an error; empty: all were accepted
		closes bool   // the connection, each time
	}{
		"whole":                  {ok, "", false},
		"another":                {"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", "HTTP 503: busy", false},
		"in pieces":              {"HTTP/1.1 20|2 Accepted\r\nContent-|Length: 2\r\n\r|\no|k", "", false},
		"its header alone first": {"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\n|busy", "HTTP 503: busy", false},
		"longer than the buffer": {"HTTP/1.1 400 Bad\r\nContent-Length: 20000\r\n\r\nlong" + strings.Repeat(" ", 19_996), "HTTP 400: long …", false},
		"after an interim one":   {"HTTP/1.1 100 Continue\r\n\r\n|" + ok, "", false},
		"chunked":                {"HTTP/1.1 503 A\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbusy\r\n|0\r\n\r\n", "HTTP 503: busy", false},
		"then it closes":         {"HTTP/1.1 202 A\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok" + hangsUp, "", true},
		"closes, capital C":      {"HTTP/1.1 202 A\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok", "", true},
		"until the end":          {"HTTP/1.1 503 A\r\n\r\nbu|sy" + hangsUp, "HTTP 503: busy", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := speak(t, slices.Repeat([]string{ok, c.text}, 10)...)
			r := newScript(t, &fake.Pipeline{}, twenty, over(s.url, "")).pumpedBy(1)
			assert.Equal(t, 20, int(s.asked.Load()))
			if c.status == "" {
				assert.Empty(t, r.Errors)
				assert.Equal(t, 20, r.Account.Lost, "accepted")
			} else {
				require.Len(t, r.Errors, 1)
				assert.Equal(t, c.status, r.Errors[0].Class+": "+r.Errors[0].Example)
				assert.Equal(t, 10, r.Errors[0].Count)
				assert.Equal(t, 10, r.Account.Rejected)
			}
			if c.closes {
				assert.Equal(t, 10, int(s.connections.Load()))
			} else {
				assert.Equal(t, 1, int(s.connections.Load()))
			}
		})
	}
}

func TestThePumpWaitsNoLongerThanItsTimeout(t *testing.T) {
	t.Parallel()
	silent := make(chan struct{})
	var asked atomic.Int64
	url, _ := ingest(t, false, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) > 10 { // the loop knows a connection by then
			<-silent
		}
		w.WriteHeader(http.StatusAccepted)
	})
	t.Cleanup(func() { close(silent) }) // before the server waits for its handlers
	r := newScript(t, &fake.Pipeline{}, twenty, over(url, ", timeout: '3s'")).pumpedBy(10)
	require.Len(t, r.Errors, 1)
	assert.Equal(t, "timeout", r.Errors[0].Class)
	assert.Equal(t, "no answer within 3s", r.Errors[0].Example)
	assert.Equal(t, 10, r.Account.Unknown)
	assert.Equal(t, 10, r.Account.Lost, "accepted")
}

// More than the socket takes at once: the rest is written by a goroutine.
func TestThePumpSendsLargeRequests(t *testing.T) {
	t.Parallel()
	var bytes atomic.Int64
	url, _ := ingest(t, false, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		bytes.Add(n)
		w.WriteHeader(http.StatusAccepted)
	})
	const profile = "phases: [{duration: 1, arrivalRate: 5}]\nflows: [{name: large, messages: 10, payloadBytes: 800000}]"
	r := newScript(t, &fake.Pipeline{}, profile, over(url, ", timeout: '1m'")).pumped()
	assert.Equal(t, 50, r.Account.Lost, "accepted: %v", r.Errors)
	assert.Greater(t, bytes.Load(), int64(50*800_000))
}

func TestAPumpEndsWithItsVU(t *testing.T) {
	t.Parallel()
	url, _ := ingest(t, false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 3600, arrivalRate: 50}]\nflows: [{name: direct}]", over(url, ""))
	e := s.module.root.engine
	e.epoch = time.Now()
	e.start()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.pump(ctx, s.state)
	}()
	require.Eventually(t, func() bool { return e.next.Load() > 2 }, time.Minute, time.Millisecond)
	stop()
	<-ended
	e.pump(t.Context(), s.state) // of a VU that comes late: there is nothing left to do
}
