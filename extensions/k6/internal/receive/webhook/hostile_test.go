package webhook

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// hook is a listener under test, with its counts.
type hook struct {
	*listener
	t *testing.T

	mu      sync.Mutex
	counted map[string]int
	changed chan struct{}
}

// Count implements run.Notes.
func (h *hook) Count(_, class, _ string) {
	h.mu.Lock()
	h.counted[class]++
	h.mu.Unlock()
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// Distrust implements run.Notes.
func (h *hook) Distrust(format string, args ...any) { h.t.Errorf(format, args...) }

func open(t *testing.T, most limits) *hook {
	t.Helper()
	return openWith(t, Options{}, most)
}

func openWith(t *testing.T, o Options, most limits) *hook {
	t.Helper()
	plan, err := profile.Parse("p", "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]")
	require.NoError(t, err)
	due := pacer.New(plan)
	h := &hook{t: t, counted: map[string]int{}, changed: make(chan struct{}, 1)}
	parts := &run.Parts{
		ID: "run", Name: "run", Profile: plan, Course: schedule.New(due),
		Bodies: body.New(body.Format{ID: "id"}, plan.Flows, due, "run.1.", false),
		Notes:  h,
	}
	parts.Messages = run.NewMessages(parts.Course, parts.Bodies, run.Comparison{})
	parts.Ledger = ledger.New(plan, due)
	parts.Ledger.Pass(stages.Default())
	parts.Ledger.Start(0)
	for n := range 20 {
		parts.Ledger.Sent(due.Slot(n), 1)
	}
	h.listener, err = o.open(t.Context(), parts, receive.NewSink(parts, false, func([]int64) {}), most)
	require.NoError(t, err)
	t.Cleanup(h.Close)
	return h
}

// await waits until a class has been counted.
func (h *hook) await(class string) {
	h.t.Helper()
	for {
		h.mu.Lock()
		found := h.counted[class] > 0
		h.mu.Unlock()
		if found {
			return
		}
		select {
		case <-h.changed:
		case <-time.After(time.Minute):
			h.t.Fatalf("%q is not counted: %v", class, h.counted)
		}
	}
}

func (h *hook) dial() net.Conn {
	h.t.Helper()
	u, err := url.Parse(h.at)
	require.NoError(h.t, err)
	conn, err := net.Dial("tcp", u.Host)
	require.NoError(h.t, err)
	h.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// bytes counts the bytes of bodies that are being read.
func (h *hook) bytes() int64 {
	_, taken := h.room.Held()
	return taken
}

// arrives checks that a message still arrives.
func (h *hook) arrives(n int) {
	h.t.Helper()
	answer, err := http.Post(h.at, "application/json", strings.NewReader(fmt.Sprintf(`{"id":"run.1.%d"}`, n)))
	require.NoError(h.t, err)
	require.NoError(h.t, answer.Body.Close())
	assert.Equal(h.t, http.StatusNoContent, answer.StatusCode)
	assert.Equal(h.t, 1, h.Ledger.Deliveries())
}

// ended checks that the listener has ended a connection.
func (h *hook) ended(conn net.Conn) {
	h.t.Helper()
	require.NoError(h.t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := io.Copy(io.Discard, conn)
	if err != nil {
		assert.NotContains(h.t, err.Error(), "timeout")
	}
}

// Regression: 1,500 idle connections kept the pipeline's calls out, whose messages were lost. Whoever says nothing for
// longest makes room.
func TestIdleConnectionsMakeRoomForACall(t *testing.T) {
	t.Parallel()
	for name, sends := range map[string]string{
		"silent": "", "half a header": "POST / HTTP/1.1\r\nX-", "half a body": "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			most := usual
			most.connections = 100
			most.header, most.call = time.Hour, time.Hour // however long the test takes
			h := open(t, most)
			var idle []net.Conn
			for range 3 * most.connections {
				conn := h.dial()
				_, err := io.WriteString(conn, sends)
				require.NoError(t, err)
				idle = append(idle, conn)
			}
			h.arrives(1)
			h.ended(idle[0])
			h.mu.Lock()
			defer h.mu.Unlock()
			assert.Equal(t, 2*most.connections+1, h.counted["too many connections"], h.counted)
			assert.Len(t, h.counted, 1, "each is counted once: %v", h.counted)
		})
	}
}

func TestSlowCallersAreEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sends, class string }{
		"nothing":           {"", "silent connection"},
		"half a line":       {"POST / HT", "cut off or malformed"},
		"half a header":     {"POST / HTTP/1.1\r\nHost: h\r\nX-", "cut off or malformed"},
		"half a body":       {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n{", "cut off or malformed"},
		"half a chunk":      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{", "cut off or malformed"},
		"no HTTP":           {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "cut off or malformed"},
		"endless header":    {"POST / HTTP/1.1\r\nHost: h\r\nX-A: " + strings.Repeat("a", 1<<20), "cut off or malformed"},
		"two lengths":       {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "cut off or malformed"},
		"more than it says": {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n\r\n{", "cut off or malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			most := usual
			// A busy machine needs most of a second until the listener reads what was sent.
			most.header, most.call, most.idle = 2*time.Second, 3*time.Second, 5*time.Second
			h := open(t, most)
			conn := h.dial()
			_, _ = io.WriteString(conn, c.sends)
			h.ended(conn)
			h.await(c.class)
			h.arrives(2)
		})
	}
}

func TestBodiesThatAreTooLongAreRefused(t *testing.T) {
	t.Parallel()
	most := usual
	most.body = 1 << 20
	h := open(t, most)
	conn := h.dial()
	_, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
	require.NoError(t, err)
	piece := fmt.Appendf(nil, "10000\r\n%s\r\n", bytes.Repeat([]byte("x"), 1<<16))
	go func() {
		for {
			if _, err := conn.Write(piece); err != nil {
				return
			}
		}
	}()
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err == nil { // else reset before it was read
		assert.Equal(t, http.StatusRequestEntityTooLarge, answer.StatusCode)
		require.NoError(t, answer.Body.Close())
	}
	h.await("body too long")
	h.arrives(3)
	assert.Zero(t, h.bytes())
}

// Regression: an id in gzip was not found, and the message was lost without a reason.
func TestACallInAContentCodingIsRefusedByName(t *testing.T) {
	t.Parallel()
	h := open(t, usual)
	call := func(encoding string, n int) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.at,
			strings.NewReader(fmt.Sprintf(`{"id":"run.1.%d"}`, n)))
		require.NoError(t, err)
		r.Header.Set("Content-Encoding", encoding)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	for _, encoding := range []string{"gzip", "br", "gzip, identity"} {
		assert.Equal(t, http.StatusUnsupportedMediaType, call(encoding, 1), encoding)
	}
	h.await("content coding")
	assert.Zero(t, h.Ledger.Deliveries())
	assert.Equal(t, http.StatusNoContent, call("Identity", 1))
	assert.Equal(t, 1, h.Ledger.Deliveries())
}

func TestAllBodiesTogetherAreBounded(t *testing.T) {
	t.Parallel()
	most := usual
	most.bodies = 1 << 20
	h := open(t, most)
	var held []net.Conn
	for range 8 { // each has sent 200 KB of its 300
		conn := h.dial()
		held = append(held, conn)
		_, _ = io.WriteString(conn,
			"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n"+strings.Repeat("x", 200_000))
	}
	h.await("too much at once")
	for _, conn := range held {
		_ = conn.Close()
	}
	for h.bytes() > 0 {
		time.Sleep(time.Millisecond)
	}
	h.arrives(4)
}
