package mqttwire

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"

	"github.com/gorilla/websocket"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// DialFunc opens a TCP connection.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Dial opens the stream of MQTT packets. ctx bounds the handshakes too. config may be nil; buffer is the size of a WebSocket's for what it
// reads, 0 by default.
func (a Address) Dial(ctx context.Context, dial DialFunc, config *tls.Config, buffer int) (net.Conn, error) {
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if a.Web {
		return a.dialWeb(ctx, dial, config.Clone(), buffer)
	}
	conn, err := dial(ctx, "tcp", a.Host)
	if err != nil || !a.Secure {
		return conn, err
	}
	if conn, err = network.Secure(ctx, conn, config, a.Host); err != nil {
		err = fmt.Errorf("TLS handshake: %w", err)
	}
	return conn, err
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
