package mqtt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// connectCall is client.connect(url, options) and client.connect(options).
func (c *client) connectCall(call sobek.FunctionCall) sobek.Value {
	a := c.args("client.connect")
	c.needVU(a)
	options := readConnectOptions(a, call.Argument(0), call.Argument(1))
	if c.connected() {
		c.fail("connect", errors.New("already connected: call end() first, or reconnect()"))
		return sobek.Undefined()
	}
	c.disconnect(true)
	c.connect, c.session = options, newSession()
	c.open("connect", a)
	return sobek.Undefined()
}

// reconnectCall is client.reconnect().
func (c *client) reconnectCall(sobek.FunctionCall) sobek.Value {
	a := c.args("client.reconnect")
	c.needVU(a)
	if c.connect == nil {
		c.fail("reconnect", errors.New("reconnect() repeats the last connect(): call connect(url) first"))
		return sobek.Undefined()
	}
	hadLink := c.link != nil
	c.disconnect(hadLink && c.link.closing) // endAsync() is in progress: its end event comes first
	if !c.open("reconnect", a) && hadLink {
		c.settled(c.emitEnd())
	}
	return sobek.Undefined()
}

// needVU throws in the init context, where k6 allows no network.
func (c *client) needVU(a args) {
	if c.vu.State() == nil {
		c.rethrow(errors.New(a.call + " needs a running VU: call it in the default function, setup() or teardown(), " +
			"not in the init context (new Client() is fine there)"))
	}
}

// disconnect ends the current connection, if there is one, before the next. Its messages are still delivered,
// before the end event when there is one (unless the message handler is running).
func (c *client) disconnect(withEnd bool) {
	l := c.link
	if l == nil {
		return
	}
	l.closing = true
	l.shut()
	c.settled(c.finishAfter(l, withEnd && !c.handlingMessage, withEnd))
}

// open connects to the first server that takes the connection and reports whether one did.
func (c *client) open(method string, a args) bool {
	ctx := c.vu.Context()
	c.connectTags, c.url = c.connect.tags, c.connect.servers[0].label
	clear(c.tagCache)

	hello := mqtt.Connect{
		Version: c.options.version, ClientID: c.options.clientID, Will: c.options.will,
		KeepAlive: c.connect.keepalive, Clean: c.connect.cleanSession,
	}
	if !hello.Clean { // as in MQTT 3.1.1 (MQTT 5, 3.1.2.11.2)
		hello.Properties = []byte{packets.PropSessionExpiryInterval, 0xff, 0xff, 0xff, 0xff}
	}
	hello.Username, hello.Password = c.credentials(a)

	err := checkIdentity(&hello)
	c.loop.hold() // the link holds the loop too, as it may be lost at once
	var l *link
	if err == nil {
		l, err = c.openFirst(ctx, hello)
	}
	if ctx.Err() == nil {
		c.push(time.Now(), method, "", nil, measure{c.in.calls, 1})
	}
	if err != nil {
		c.loop.release()
		if ctx.Err() != nil {
			c.rethrow(err)
		}
		c.fail(method, err)
		return false
	}
	c.link, c.ended = l, false
	if method == eventReconnect {
		c.loop.post(func() error { return c.emit(eventReconnect) })
	}
	c.loop.post(func() error { return c.emit(eventConnect) })
	l.wire.start(l) // what it reads comes after the connect event
	l.stopWatching = context.AfterFunc(ctx, func() {
		if l.abort(context.Cause(ctx)) {
			c.loop.post(func() error { return c.finish(l, true) })
		}
	})
	return true
}

// checkIdentity refuses what the protocol forbids.
func checkIdentity(hello *mqtt.Connect) error {
	if !hello.Clean && hello.ClientID == "" { // [MQTT-3.1.3-8]
		return errors.New("clean_session: false needs a client_id in new Client({…}): " +
			"the broker finds the session by it")
	}
	if hello.Version == mqtt311 && hello.Username == "" && hello.Password != "" { // [MQTT-3.1.2-22]
		return errors.New("a password needs a username in MQTT 3.1.1: set both")
	}
	return cmp.Or(checkLength("client_id", len(hello.ClientID)), checkLength("username", len(hello.Username)),
		checkLength("password", len(hello.Password)))
}

func (c *client) openFirst(ctx context.Context, hello mqtt.Connect) (*link, error) {
	var failures []error
	for _, s := range c.connect.servers {
		c.url = s.label
		l, err := c.openLink(ctx, s, hello)
		if err == nil {
			return l, nil
		}
		if failures = append(failures, err); ctx.Err() != nil {
			break
		}
	}
	if len(failures) == 1 {
		return nil, failures[0]
	}
	texts := strings.ReplaceAll(errors.Join(failures...).Error(), "\n", "; ")
	return nil, fmt.Errorf("none of %d servers took the connection: %s", len(failures), texts)
}

// openLink connects to one server and blocks until the broker's CONNACK, an error, connect_timeout or the context's
// end.
func (c *client) openLink(ctx context.Context, s *server, hello mqtt.Connect) (*link, error) {
	state, timeout := c.vu.State(), c.connect.timeout
	l := &link{
		ctx: ctx, client: c, limit: c.connect.requestTimeout, logger: state.Logger, over: make(chan struct{}),
	}
	hello.UseCredentials(s.Address)
	if err := checkIdentity(&hello); err != nil {
		return nil, fmt.Errorf("%s: %w", s.label, err)
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dial := func(ctx context.Context, _, address string) (net.Conn, error) {
		return dial(ctx, state.Dialer, address)
	}
	conn, err := dialer(dial, state.TLSConfig).Connect(limited, s.Address, hello)
	if err != nil {
		return nil, connectError(s, err, hello.Version, timeout)
	}
	l.wire = newWire(conn, c.session, hello.Clean)
	return l, nil
}

// server is one broker address of connect().
type server struct {
	mqtt.Address
	label string // the script's text of it without credentials and query; the url tag
}

// parseServer reads a broker's address. Without a scheme it is mqtt://. Errors don't repeat the address, which may hold
// a password.
func parseServer(address string) (*server, error) {
	prefix := ""
	if !strings.Contains(address, "://") {
		prefix = "mqtt://"
	}
	parsed, err := mqtt.ParseAddress(prefix + address)
	if err != nil {
		return nil, err
	}
	parts := shown.FindStringSubmatch(address)
	if parsed.Web && !strings.Contains(parts[2], "/") {
		parsed.URL.Path = "" // grafana/xk6-mqtt asks for no path by default
	}
	return &server{parsed, parts[1] + parts[2]}, nil
}

// shown are the parts of an address that may be shown: no credentials, and no query, which may be a signature.
var shown = regexp.MustCompile(`^(\w+://)?(?:[^/?#]*@)?([^?#]*)`)

// dial opens a TCP connection through the VU's dialer, with TCP_NODELAY. It removes k6's byte counting: data_sent and
// data_received count payload bytes with each call, and counting the connection's bytes too would count everything
// twice.
func dial(ctx context.Context, dialer lib.DialContexter, address string) (net.Conn, error) {
	conn, err := network.Network{Dialer: dialer}.DialContext(ctx, "tcp", address)
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
