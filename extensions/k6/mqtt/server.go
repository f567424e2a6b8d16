package mqtt

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"strings"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
)

// server is one broker address of connect().
type server struct {
	mqttwire.Address
	label string // as the script wrote it, without the credentials; the url tag
}

// parseServer reads a broker's address. Without a scheme it is mqtt://. Errors don't repeat the address, which may hold
// a password.
func parseServer(address string) (*server, error) {
	prefix := ""
	if !strings.Contains(address, "://") {
		prefix = "mqtt://"
	}
	parsed, err := mqttwire.ParseAddress(prefix + address)
	if err != nil {
		return nil, err
	}
	u, _ := url.Parse(prefix + address)
	if u.User = nil; parsed.Web {
		parsed.URL.Path = u.Path // grafana/xk6-mqtt asks for no path by default
	}
	return &server{parsed, strings.TrimPrefix(u.String(), prefix)}, nil
}

// open makes the network connection through the VU's dialer, with k6's TLS options. The context bounds it, handshakes
// included.
func (s *server) open(ctx context.Context, dialer lib.DialContexter, config *tls.Config) (net.Conn, error) {
	return s.Dial(ctx, func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, dialer, address) }, config, 0)
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
