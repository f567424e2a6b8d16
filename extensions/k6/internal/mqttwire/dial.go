package mqttwire

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"

	"github.com/gorilla/websocket"
)

// DialFunc opens a TCP connection.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Dial opens the stream of MQTT packets. ctx bounds the handshakes too. config may be nil; buffer is the size of a WebSocket's for what it
// reads, 0 by default.
func (a Address) Dial(ctx context.Context, dial DialFunc, config *tls.Config, buffer int) (net.Conn, error) {
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config = config.Clone()
	if a.Web {
		return a.dialWeb(ctx, dial, config, buffer)
	}
	conn, err := dial(ctx, "tcp", a.Host)
	if err != nil || !a.Secure {
		return conn, err
	}
	config.NextProtos = nil // k6 sets HTTP's there
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(a.Host)
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return secured, nil
}

func (a Address) dialWeb(ctx context.Context, dial DialFunc, config *tls.Config, buffer int) (net.Conn, error) {
	config.NextProtos = []string{"http/1.1"}
	upgrade := websocket.Dialer{
		NetDialContext: dial, Proxy: http.ProxyFromEnvironment, TLSClientConfig: config,
		Subprotocols: []string{subprotocol}, ReadBufferSize: buffer,
	}
	web, response, err := upgrade.DialContext(ctx, a.URL.String(), nil)
	if response != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		if response != nil {
			err = fmt.Errorf("%w (HTTP %s)", err, response.Status)
		}
		return nil, err
	}
	return NewWeb(web), nil
}
