package send

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib/netext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// onWire makes the kernel stamp what leaves over a connection, and returns a function that takes the latest stamp.
func onWire(t testing.TB, conn net.Conn) func() time.Time {
	t.Helper()
	if counted, ok := conn.(*netext.Conn); ok {
		conn = counted.Conn
	}
	stamp, err := socket.Sent(conn.(*net.TCPConn))
	require.NoError(t, err)
	return stamp
}

// Regression: a request was stamped before it was entered into the ledger and made, and what the generator lost until
// it was written counted as the pipeline's.
func TestARequestIsOnTheWireBetweenItsTwoStamps(t *testing.T) {
	t.Parallel()
	const slack = 50 * time.Microsecond // the clocks are read one after the other
	server := serveCanned(t, "HTTP/1.1 202 A\r\nContent-Length: 2\r\n\r\nok")
	p := newTestPoster(t, server.url, keep, longTimeout)
	var left, written time.Time
	p.Leaves = func(l, w time.Time) { left, written = l, w }
	p.Post(time.Now(), nil, 1)
	stamp := onWire(t, p.Idle.links[0].Conn)
	for range 50 {
		began := time.Now()
		a := p.Post(began, []byte(`{"id":"1"}`), 1)
		require.NoError(t, a.Err)
		wire := stamp()
		require.False(t, wire.IsZero())
		assert.Equal(t, left, a.Left)
		assert.True(t, left.After(began))
		assert.LessOrEqual(t, left.UnixNano(), wire.Add(slack).UnixNano())
		assert.LessOrEqual(t, wire.UnixNano(), written.Add(slack).UnixNano())
	}
}

func TestEachRequestLeavesOnce(t *testing.T) {
	t.Parallel()
	answer := "HTTP/1.1 202 A\r\nContent-Length: 2\r\n\r\nok"
	server := serveCanned(t, answer, hangsUp, answer)
	for name, c := range map[string]struct {
		url     string
		body    int
		written bool
	}{
		"first of a connection": {server.url, 10, true},
		"no answer":             {server.url, 10, true},
		"large":                 {server.url, 2 * packetSmall, false},
		"no connection":         {"http://127.0.0.1:1", 10, false},
	} {
		p := newTestPoster(t, c.url, keep, longTimeout)
		times := 0
		p.Leaves = func(left, written time.Time) {
			times++
			assert.False(t, left.IsZero(), name)
			assert.Equal(t, c.written, !written.IsZero(), name)
		}
		a := p.Post(time.Now(), make([]byte, c.body), 1)
		assert.Equal(t, 1, times, name)
		assert.False(t, a.Left.After(a.Done), name)
	}
}

// Regression: an answer had arrived when it was read, and what the generator lost before that counted as the server's.
func TestAnAnswerCameWhenTheKernelHadIt(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*httptest.Server){
		"http": (*httptest.Server).Start, "https": (*httptest.Server).StartTLS,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answered := make(chan struct{}, 1)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateIdle {
					answered <- struct{}{}
				}
			}
			start(server)
			t.Cleanup(server.Close)
			p := newTestPoster(t, server.URL, keep, longTimeout)
			p.network.TLS = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // a test
			p.Stamps = true
			var reads time.Time
			p.Leaves = func(_, _ time.Time) {
				<-answered
				reads = time.Now()
			}
			const most = 1000 // the kernel begins to stamp some time after it was asked to
			for range most {
				a := p.Post(time.Now(), nil, 1)
				require.NoError(t, a.Err)
				assert.Equal(t, a.Came, a.Arrival())
				if a.Came.Kernel && a.Came.At.Before(reads) {
					assert.True(t, a.Came.At.After(a.Left))
					assert.Zero(t, a.Came.Waited)
					return
				}
			}
			assert.Fail(t, "no answer has the kernel's stamp")
		})
	}
}
