package websocket

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/push"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// serve returns a line to a server that accepts a WebSocket and then writes what it likes.
func serve(t *testing.T, write func(conn net.Conn), o Options) *line {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		write(conn.NetConn())
		_, _ = io.Copy(io.Discard, conn.NetConn())
	}))
	t.Cleanup(server.Close)
	l := &line{
		options: &o, client: push.Client{URL: strings.Replace(server.URL, "http", "ws", 1), First: o.Send},
		look:    time.Millisecond,
		network: network.Network{Dialer: &net.Dialer{}, TLS: &tls.Config{MinVersion: tls.VersionTLS12}},
	}
	t.Cleanup(l.Close)
	return l
}

// A hostile message ends its connection with a cause, and nothing is kept of it.
func TestHostileFramesEndTheConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		write func(conn net.Conn)
		want  string
	}{
		"a frame of 1 GB": {func(conn net.Conn) { _, _ = conn.Write([]byte{0x82, 0x7f, 0, 0, 0, 0, 0x40, 0, 0, 0}) },
			"more than 16777216 bytes"},
		"a negative length": {func(conn net.Conn) {
			_, _ = conn.Write([]byte{0x82, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
		}, "bytes"},
		"fragments without end": {func(conn net.Conn) {
			piece := append([]byte{0x01, 0x7e, 0xff, 0xff}, make([]byte, 0xffff)...)
			for {
				if _, err := conn.Write(piece); err != nil {
					return
				}
				piece[0] = 0 // the next ones continue the first
			}
		}, "more than 16777216 bytes"},
		"a masked frame":   {func(conn net.Conn) { _, _ = conn.Write([]byte{0x81, 0x81, 1, 2, 3, 4, 5}) }, "WebSocket"},
		"an unknown frame": {func(conn net.Conn) { _, _ = conn.Write([]byte{0x83, 0x01, 0x61}) }, "WebSocket"},
		"a half frame":     {func(conn net.Conn) { _, _ = conn.Write([]byte{0x81, 0x05, 0x61}); _ = conn.Close() }, "WebSocket"},
		"a close":          {func(conn net.Conn) { _, _ = conn.Write([]byte{0x88, 0x02, 0x03, 0xe9}) }, "1001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := serve(t, c.write, Options{})
			require.NoError(t, l.Connect(t.Context()))
			err := l.Read(func([]byte, socket.Arrival) { t.Error("no message") })
			require.ErrorContains(t, err, c.want)
			assert.NotErrorIs(t, err, net.ErrClosed)
		})
	}
}

// Messages that come before the answer to a subscription are handed on.
func TestMessagesBeforeTheAnswerAreKept(t *testing.T) {
	t.Parallel()
	l := serve(t, func(conn net.Conn) {
		_, _ = conn.Write(
			[]byte{0x81, 0x01, 'a', 0x82, 0x01, 'b', 0x89, 0x00, 0x81, 0x02, 'o', 'k', 0x81, 0x01, 'c', 0x88, 0x00})
	}, Options{Send: []string{"subscribe"}, Await: "ok"})
	require.NoError(t, l.Connect(t.Context()))
	var got []string
	assert.Error(t, l.Read(func(payload []byte, _ socket.Arrival) { got = append(got, string(payload)) }))
	assert.Equal(t, []string{"a", "b", "c"}, got)
}

// Regression: those above 1,000 were dropped, and counted as lost.
func TestManyMessagesBeforeTheAnswerAreKept(t *testing.T) {
	t.Parallel()
	l := serve(t, func(conn net.Conn) {
		frames := bytes.Repeat([]byte{0x81, 0x01, 'a'}, 5000)
		_, _ = conn.Write(append(frames, 0x81, 0x02, 'o', 'k', 0x88, 0x00))
	}, Options{Send: []string{"subscribe"}, Await: "ok"})
	require.NoError(t, l.Connect(t.Context()))
	got := 0
	assert.Error(t, l.Read(func([]byte, socket.Arrival) { got++ }))
	assert.Equal(t, 5000, got)
}

// Regression: "no answer", though one came. What came shows what to await.
func TestAnAnswerThatIsNotAwaitedIsShown(t *testing.T) {
	t.Parallel()
	kilobyte := append([]byte{0x81, 0x7e, 0x04, 0x00}, bytes.Repeat([]byte{'a'}, 1<<10)...)
	for name, c := range map[string]struct {
		frames []byte
		want   []string
	}{
		"another one": {append([]byte{0x81, 0x0b}, `{"ok":true}`+"\x88\x00"...), []string{`another message came: {"ok":true}`}},
		"two":         {[]byte("\x81\x02hi\x81\x06denied\x88\x00"), []string{"2 other messages", "hi", "denied"}},
		"none":        {[]byte{0x88, 0x02, 0x0f, 0xa1}, []string{"4001", "no other message came"}},
		"a flood":     {bytes.Repeat(kilobyte, 16<<10), []string{"more than 16777216 bytes", "other messages came"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := serve(t, func(conn net.Conn) { _, _ = conn.Write(c.frames) },
				Options{Send: []string{"subscribe"}, Await: "ready"})
			err := l.Connect(t.Context())
			for _, want := range append(c.want, `"ready"`, "WEBSOCKET_AWAIT") {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

// The time for the answer is over: what came is shown as well.
func TestAnAnswerThatDoesNotComeInTimeIsNamed(t *testing.T) {
	t.Parallel()
	l := serve(t, func(conn net.Conn) { _, _ = conn.Write([]byte("\x81\x02hi")) },
		Options{Send: []string{"subscribe"}, Await: "ready"})
	late := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, late)
	defer cancel()
	err := l.Connect(ctx)
	require.ErrorContains(t, err, "too late; another message came: hi")
}

func TestAClosedLineIsClosed(t *testing.T) {
	t.Parallel()
	l := serve(t, func(net.Conn) {}, Options{})
	require.NoError(t, l.Connect(t.Context()))
	go l.Close()
	assert.ErrorIs(t, l.Read(func([]byte, socket.Arrival) {}), net.ErrClosed)
}
