package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/websocket"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/wsconn"
)

// server is one broker address of connect().
type server struct {
	label    string   // as the script wrote it, without the credentials; the url tag
	url      *url.URL // with scheme and port, without the credentials
	secure   bool     // TLS
	web      bool     // WebSocket
	username string   // from the address, empty when absent
	password string
}

// schemes maps a URL's scheme to its default port and transport.
var schemes = map[string]struct {
	port        string
	secure, web bool
}{
	"mqtt":  {port: "1883"},
	"tcp":   {port: "1883"},
	"mqtts": {port: "8883", secure: true},
	"ssl":   {port: "8883", secure: true},
	"tls":   {port: "8883", secure: true},
	"ws":    {port: "80", web: true},
	"wss":   {port: "443", secure: true, web: true},
}

// parseServer reads a broker's address. Without a scheme it is mqtt://. Errors don't repeat the address, which may hold
// a password.
func parseServer(address string) (*server, error) {
	prefix := ""
	if !strings.Contains(address, "://") {
		prefix = "mqtt://"
	}
	u, err := url.Parse(prefix + address)
	if err != nil {
		if reason := (*url.Error)(nil); errors.As(err, &reason) {
			err = reason.Err
		}
		return nil, fmt.Errorf("the address is not a URL (%w): write it like mqtt://user:password@host:1883", err)
	}
	scheme, ok := schemes[u.Scheme]
	if !ok {
		return nil, fmt.Errorf("the scheme %q is unknown: use mqtt, tcp, mqtts, ssl, tls, ws or wss", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, errors.New("the address has no host: write it like mqtt://host:1883")
	}
	s := &server{url: u, secure: scheme.secure, web: scheme.web}
	if u.User != nil {
		s.username = u.User.Username()
		s.password, _ = u.User.Password()
		u.User = nil
	}
	s.label = strings.TrimPrefix(u.String(), prefix)
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), scheme.port)
	}
	return s, nil
}

// open makes the network connection through the VU's dialer, with k6's TLS options. The context bounds it, handshakes
// included.
func (s *server) open(ctx context.Context, dialer lib.DialContexter, config *tls.Config) (net.Conn, error) {
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config = config.Clone()
	if s.web {
		return s.openWeb(ctx, dialer, config)
	}
	conn, err := dial(ctx, dialer, s.url.Host)
	if err != nil {
		return nil, err
	}
	if s.secure {
		config.NextProtos = nil // k6 sets HTTP's there
		if config.ServerName == "" {
			config.ServerName = s.url.Hostname()
		}
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("TLS handshake: %w", err)
		}
		conn = secured
	}
	return conn, nil
}

func (s *server) openWeb(ctx context.Context, dialer lib.DialContexter, config *tls.Config) (net.Conn, error) {
	config.NextProtos = []string{"http/1.1"}
	upgrade := websocket.Dialer{
		NetDialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return dial(ctx, dialer, address)
		},
		Proxy:           http.ProxyFromEnvironment,
		TLSClientConfig: config,
		Subprotocols:    []string{wsconn.Subprotocol},
	}
	socket, response, err := upgrade.DialContext(ctx, s.url.String(), nil)
	if response != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		if response != nil {
			err = fmt.Errorf("%w (HTTP %s)", err, response.Status)
		}
		return nil, err
	}
	return wsconn.New(socket), nil
}

// dial opens a TCP connection with TCP_NODELAY. It takes off k6's byte counting: data_sent and data_received are
// payload bytes here, and counted with the call, so counting the wire as well would add everything twice.
func dial(ctx context.Context, dialer lib.DialContexter, address string) (net.Conn, error) {
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if counted, ok := conn.(*netext.Conn); ok {
		conn = counted.Conn
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetNoDelay(true)
	}
	return conn, nil
}
