package sse

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/push"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// silent is a connection to a server that answers when released is closed. Until then it has no header.
func silent(t *testing.T, answer http.HandlerFunc) (l *line, release func()) {
	t.Helper()
	released := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-released:
			answer(w, r)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	l = (&Options{}).line(push.Client{URL: server.URL}, receive.Means{Network: network.Network{Dialer: &net.Dialer{}}},
		time.Millisecond, new(atomic.Bool))
	l.most = 50 * time.Millisecond
	t.Cleanup(l.Close)
	return l, func() { close(released) }
}

// WSGI, and Node without flushHeaders, send the header with the first event. The run waited for it before it sent any
// message.
func TestAHeaderThatComesWithTheFirstEvent(t *testing.T) {
	t.Parallel()
	l, release := silent(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: first\n\n")
	})
	require.NoError(t, l.Connect(t.Context()))
	assert.True(t, l.slow.Load())
	release()
	var got string
	var stamp socket.Arrival
	err := l.Read(func(payload []byte, at socket.Arrival) { got, stamp = string(payload), at })
	require.ErrorContains(t, err, "ended the stream")
	assert.Equal(t, "first", got)
	assert.False(t, stamp.At.IsZero())
	require.NoError(t, l.Retry(t.Context(), time.Minute))
}

func TestALateHeaderThatIsNoStream(t *testing.T) {
	t.Parallel()
	l, release := silent(t, http.NotFound)
	require.NoError(t, l.Connect(t.Context()))
	release()
	err := l.Read(func([]byte, socket.Arrival) {})
	require.ErrorContains(t, err, "HTTP 404")
	assert.True(t, push.IsFinal(err))
}

func TestAConnectionWithoutAHeaderIsClosed(t *testing.T) {
	t.Parallel()
	l, _ := silent(t, http.NotFound)
	require.NoError(t, l.Connect(t.Context()))
	go l.Close()
	assert.ErrorIs(t, l.Read(func([]byte, socket.Arrival) {}), net.ErrClosed)
	assert.ErrorIs(t, l.Connect(t.Context()), net.ErrClosed)
}
