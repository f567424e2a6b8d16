package receiver

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"

	"github.com/gorilla/websocket"

	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
	"github.com/arrival-bench/arrival/extensions/k6/internal/wsconn"
)

// dial opens the stream of MQTT packets, and the socket below it.
func dial(ctx context.Context, o *Options, a Address) (net.Conn, *socket.Conn, error) {
	config := o.TLS
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config = config.Clone()
	if a.Web {
		return dialWeb(ctx, o, a, config)
	}
	conn, err := o.Dial(ctx, "tcp", a.Host)
	if err != nil {
		return nil, nil, err
	}
	s := socket.New(conn, a.Secure)
	if !a.Secure {
		return s, s, nil
	}
	config.NextProtos = nil // k6 sets HTTP's there
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(a.Host)
	}
	secured := tls.Client(s, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return secured, s, nil
}

func dialWeb(ctx context.Context, o *Options, a Address, config *tls.Config) (net.Conn, *socket.Conn, error) {
	var s *socket.Conn
	config.NextProtos = []string{"http/1.1"}
	upgrade := websocket.Dialer{
		NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := o.Dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			s = socket.New(conn, true)
			return s, nil
		},
		Proxy:           http.ProxyFromEnvironment,
		TLSClientConfig: config,
		Subprotocols:    []string{wsconn.Subprotocol},
		ReadBufferSize:  readSize,
	}
	web, response, err := upgrade.DialContext(ctx, a.url.String(), nil)
	if response != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		if response != nil {
			err = fmt.Errorf("%w (HTTP %s)", err, response.Status)
		}
		return nil, nil, err
	}
	return wsconn.New(web), s, nil
}
