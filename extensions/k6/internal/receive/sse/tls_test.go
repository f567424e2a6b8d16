package sse

import (
	"crypto/tls"
	"crypto/x509"
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

// A server that would speak HTTP/2 speaks HTTP/1.1. One whose authority is unknown is refused.
func TestEventsOverTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: " + r.Proto + "\n\n"))
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	of := func(config *tls.Config) *line {
		m := receive.Means{Network: network.Network{Dialer: &net.Dialer{}, TLS: config}}
		l := (&Options{}).line(push.Client{URL: server.URL}, m, time.Millisecond, new(atomic.Bool))
		t.Cleanup(l.Close)
		return l
	}
	l := of(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, NextProtos: []string{"h2", "http/1.1"}})
	require.NoError(t, l.Connect(t.Context()))
	got := ""
	err := l.Read(func(payload []byte, _ socket.Arrival) { got = string(payload) })
	require.ErrorContains(t, err, "ended the stream")
	assert.Equal(t, "HTTP/1.1", got)
	assert.ErrorContains(t, of(&tls.Config{MinVersion: tls.VersionTLS12}).Connect(t.Context()), "TLS_CA")
}
