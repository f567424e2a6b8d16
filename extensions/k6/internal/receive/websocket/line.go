package websocket

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/push"

	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

const (
	writePatience = 10 * time.Second
	// farewellPatience is how long a reason may take that a server gave before it ended a connection.
	farewellPatience = time.Second
	// earlyMost bounds the bytes of the messages that come before the answers to what is sent first, with earlyEach for
	// each: what is held of it besides its bytes.
	earlyMost = push.MessageMost
	earlyEach = 100
	// pieceMost is the buffer that a line keeps; a longer message has one of its own.
	pieceMost = 64 << 10
)

// line is a connection, which is restored after a loss.
type line struct {
	options *Options
	client  push.Client
	network network.Network
	look    time.Duration

	early []early // messages that came while it subscribed
	buf   bytes.Buffer
	heard atomic.Int64 // when the server was last heard of, in ns since began

	mu     sync.Mutex
	conn   *websocket.Conn // replaced under the lock; nil before the first
	socket *socket.Stamped
	closed bool
	silent bool // it was ended because the server did not answer a ping
}

type early struct {
	payload []byte
	at      socket.Arrival
}

// Connect opens the connection, and sends what is to be sent first.
func (l *line) Connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, push.ConnectPatience, fmt.Errorf("no answer within "+
		"%s", push.ConnectPatience))
	defer cancel()
	var below *socket.Stamped
	config := l.network.TLS.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.NextProtos = []string{"http/1.1"} // k6's has HTTP/2
	dialer := websocket.Dialer{
		TLSClientConfig: config, ReadBufferSize: 4 << 10, WriteBufferSize: 1 << 10,
		NetDialContext: func(ctx context.Context, protocol, address string) (net.Conn, error) {
			conn, err := l.network.DialContext(ctx, protocol, address)
			if err != nil {
				return nil, err
			}
			below = socket.NewStamped(conn, l.look)
			return below, nil
		},
	}
	if l.options.Protocol != "" {
		dialer.Subprotocols = []string{l.options.Protocol}
	}
	header := http.Header{}
	for name, value := range l.options.Headers {
		header.Set(name, value)
	}
	what := "WebSocket " + words.Mask(l.client.URL)
	conn, answer, err := dialer.DialContext(ctx, l.client.URL, header)
	switch {
	case errors.Is(err, websocket.ErrBadHandshake) && answer != nil &&
		answer.StatusCode != http.StatusSwitchingProtocols:
		return push.Refused(what+" is refused", answer.StatusCode)
	case err != nil:
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return network.Advise(fmt.Errorf("%s can't be reached: %w", what, err))
	case l.options.Protocol != "" && conn.Subprotocol() != l.options.Protocol:
		_ = conn.Close()
		return push.Final(fmt.Errorf("%s does not speak the sub-protocol %q (websocket.protocol)", what,
			l.options.Protocol))
	}
	conn.SetReadLimit(push.MessageMost)
	l.listenTo(conn)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	err = l.subscribe(ctx, conn, below)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return fmt.Errorf("%s: %w", what, err)
	}
	return l.take(ctx, conn, below)
}

// take makes a connection the line's.
func (l *line) take(ctx context.Context, conn *websocket.Conn, below *socket.Stamped) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || ctx.Err() != nil {
		_ = conn.Close()
		return net.ErrClosed
	}
	l.conn, l.socket, l.silent = conn, below, false
	return nil
}

// listenTo notes when the server is heard of. gorilla/websocket answers pings.
func (l *line) listenTo(conn *websocket.Conn) {
	l.hear()
	answer := conn.PingHandler()
	conn.SetPingHandler(func(data string) error {
		l.hear()
		return answer(data)
	})
	conn.SetPongHandler(func(string) error {
		l.hear()
		return nil
	})
}

// began is a time on the monotonic clock: the wall clock may be set.
var began = time.Now()

func (l *line) hear() { l.heard.Store(int64(time.Since(began))) }

// last is when the server was last heard of.
func (l *line) last() time.Time { return began.Add(time.Duration(l.heard.Load())) }

// subscribe sends what is to be sent first, and waits for the answers if the server gives some. Other messages that
// come before these are kept.
func (l *line) subscribe(ctx context.Context, conn *websocket.Conn, below *socket.Stamped) error {
	for _, text := range l.client.First {
		_ = conn.SetWriteDeadline(time.Now().Add(writePatience))
		if err := conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			return fmt.Errorf("websocket.send: %w", farewell(conn, err))
		}
	}
	if l.options.Await == "" {
		return nil
	}
	var others receive.Others
	held := 0
	for _, one := range l.early { // messages of an earlier attempt
		held += len(one.payload) + earlyEach
	}
	for missing := len(l.client.First); missing > 0; {
		_, payload, err := conn.ReadMessage()
		if err == nil && bytes.Contains(payload, []byte(l.options.Await)) {
			missing--
			continue
		}
		if err == nil {
			others.Add(payload)
			l.early = append(l.early, early{payload, below.Last()})
			if held += len(payload) + earlyEach; held <= earlyMost {
				continue
			}
			err = fmt.Errorf("more than %d bytes of messages came before", earlyMost)
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("the server did not answer %q (websocket.await, WEBSOCKET_AWAIT) to what was sent first: %s; %s",
			l.options.Await, words.Printable(err.Error()), &others)
	}
	return nil
}

// farewell is the reason that the server gave before nothing could be written any more; err if it gave none.
func farewell(conn *websocket.Conn, err error) error {
	_ = conn.SetReadDeadline(time.Now().Add(farewellPatience))
	for {
		_, _, end := conn.ReadMessage()
		var closing *websocket.CloseError
		switch {
		case errors.As(end, &closing):
			return fmt.Errorf("the server ended the connection: %s", words.Printable(closing.Error()))
		case end != nil:
			return err
		}
	}
}

// Retry implements receive.Session and receive.Line.
func (l *line) Retry(ctx context.Context, patience time.Duration) error {
	return push.Retry(ctx, 20*time.Millisecond, patience, l.Connect)
}

// Listen implements receive.Session.
func (l *line) Listen(taker *receive.Taker) error {
	return l.Read(func(payload []byte, at socket.Arrival) {
		taker.Take(payload, push.Stamps(payload, l.options.Hops), at)
		taker.Flush()
	})
}

// Read implements receive.Line.
func (l *line) Read(take func(payload []byte, at socket.Arrival)) error {
	for _, one := range l.early {
		take(one.payload, one.at)
	}
	l.early = nil
	conn, below := l.conn, l.socket
	for {
		_, message, err := conn.NextReader()
		if err == nil {
			l.buf.Reset()
			_, err = l.buf.ReadFrom(message)
		}
		if err != nil {
			return l.reason(err)
		}
		l.hear()
		take(l.buf.Bytes(), below.Last())
		if l.buf.Cap() > pieceMost {
			l.buf = bytes.Buffer{}
		}
	}
}

// reason is why a connection ended.
func (l *line) reason(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.conn.Close()
	var closing *websocket.CloseError
	switch {
	case l.closed:
		return net.ErrClosed
	case l.silent:
		return errSilent
	case errors.Is(err, websocket.ErrReadLimit):
		return fmt.Errorf("WebSocket: a message has more than %d bytes", push.MessageMost)
	case errors.As(err, &closing):
		return fmt.Errorf("WebSocket: the server ended the connection: %s", words.Printable(closing.Error()))
	}
	return fmt.Errorf("WebSocket: the connection ended: %w", err)
}

// Close implements receive.Session and receive.Line.
func (l *line) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed = true; l.conn == nil {
		return
	}
	goodbye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = l.conn.WriteControl(websocket.CloseMessage, goodbye, time.Now().Add(100*time.Millisecond))
	_ = l.conn.Close()
}
