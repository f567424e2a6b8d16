package websocket

import (
	"crypto/tls"
	"crypto/x509"
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

// The stamps of the kernel are those below TLS. A server whose authority is unknown is refused.
func TestWebSocketOverTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		_, _, _ = conn.ReadMessage()
		_ = conn.WriteMessage(websocket.BinaryMessage, []byte("hello"))
		_ = conn.Close()
	}))
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	url := strings.Replace(server.URL, "https", "wss", 1)
	of := func(config *tls.Config) *line {
		l := &line{
			options: &Options{}, client: push.Client{URL: url, First: []string{"go on"}}, look: time.Millisecond,
			network: network.Network{Dialer: &net.Dialer{}, TLS: config},
		}
		t.Cleanup(l.Close)
		return l
	}
	l := of(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, NextProtos: []string{"h2", "http/1.1"}})
	require.NoError(t, l.Connect(t.Context()))
	began, got := time.Now(), ""
	assert.Error(t, l.Read(func(payload []byte, at socket.Arrival) {
		got = string(payload)
		assert.WithinRange(t, at.At, began.Add(-time.Minute), time.Now())
	}))
	assert.Equal(t, "hello", got)
	assert.ErrorContains(t, of(&tls.Config{MinVersion: tls.VersionTLS12}).Connect(t.Context()), "TLS_CA")
}
