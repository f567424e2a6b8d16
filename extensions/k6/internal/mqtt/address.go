package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/arrival-bench/arrival/extensions/k6/internal/address"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// Address is a parsed address of a broker.
type Address struct {
	Host     string // host:port
	Secure   bool   // TLS
	Web      bool   // WebSocket
	Username string // empty without one
	Password string

	URL *url.URL // set for a WebSocket; has no credentials
}

// webPath is the usual path of MQTT over WebSocket (EMQX, HiveMQ; Mosquitto takes any).
const webPath = "/mqtt"

// ParseAddress reads a URL like mqtt://user:password@host:1883. An error says what is wrong, and does not repeat the
// URL, which may hold a password.
func ParseAddress(raw string) (Address, error) {
	read, err := address.Parse(address.MQTT, raw)
	if err != nil {
		return Address{}, err
	}
	a := Address{
		Host: read.Nodes[0].String(), Secure: read.Secure(), Web: read.Web(),
		Username: read.Username, Password: read.Password,
	}
	if a.Web {
		a.URL, err = url.Parse(read.Scheme + "://" + a.Host + read.Target)
		// A request names a path at least.
		if err != nil || a.URL.RequestURI() != read.Target && read.Target != "" && read.Target[0] == '/' {
			return Address{}, errors.New("its path has a character that must be percent-encoded, like %22 for a " +
				"quotation mark")
		}
		if a.URL.Path == "" {
			a.URL.Path = webPath
		}
	}
	return a, nil
}

// Broker is the address for connection i: url and more take turns.
func Broker(url string, more []string, i int) string {
	i %= 1 + len(more)
	if i > 0 {
		return more[i-1]
	}
	return url
}

// DialFunc opens a TCP connection.
type DialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// Dial opens the stream of MQTT packets. ctx bounds the handshakes too. config may be nil. buffer is the size of a
// WebSocket's read buffer; 0: the default.
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

// subprotocol is the WebSocket subprotocol that a client requests [MQTT-6.0.0-3].
const subprotocol = "mqtt"

// Web is the byte stream inside a WebSocket: MQTT packets and messages need not line up [MQTT-6.0.0-2].
type Web struct {
	*websocket.Conn
	writing sync.Mutex
	stream  io.Reader
}

// NewWeb returns the stream inside a WebSocket.
func NewWeb(socket *websocket.Conn) *Web {
	return &Web{Conn: socket, stream: websocket.JoinMessages(socket, "")}
}

func (c *Web) Read(p []byte) (n int, err error) {
	for n == 0 && err == nil { // the stream has empty reads between messages
		n, err = c.stream.Read(p)
	}
	return n, err
}

func (c *Web) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	// [MQTT-6.0.0-1]
	if err := c.WriteMessage(websocket.BinaryMessage, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// SetWriteDeadline sets the deadline of later writes: the WebSocket's own is not safe during a write.
func (c *Web) SetWriteDeadline(t time.Time) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.Conn.SetWriteDeadline(t)
}

func (c *Web) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
