// Package mqtt is the MQTT connection of all clients of the project: the subscribers of a run (internal/receive/mqtt),
// its publishers (internal/send) and k6/x/mqtt. It opens the stream of packets (TCP, TLS or WebSocket), connects,
// writes and reads packets of MQTT 3.1.1 and 5, and checks those of a broker against the standard.
//
// A Conn starts no goroutine. Its user reads, writes, and asks Alive whether a ping is due.
package mqtt

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/eclipse/paho.golang/packets"
)

// MQTT's protocol levels (3.1.2.2).
const (
	Version311 = 4
	Version5   = 5
)

const (
	// MaxField is the longest string or binary (MQTT 5, 1.5.4).
	MaxField = 65535
	// MaxRemaining is the longest packet after its fixed header (MQTT 5, 2.1.4).
	MaxRemaining = 268_435_455
)

// Dialer opens connections to brokers.
type Dialer struct {
	Dial     DialFunc    // opens a TCP connection
	TLS      *tls.Config // for mqtts and wss; may be nil
	ReadSize int         // the buffer of a read, in bytes
	Most     int         // bytes of the largest packet that the broker may send
}

// Conn is a connection that a broker has accepted. One goroutine at a time may read, and one may write.
type Conn struct {
	net.Conn // the stream of packets
	In       Buffer
	Host     string // the broker and its port
	Version  int
	Accepted Answer // CONNACK
	Alive    Alive  // Answer is for the user to set

	socket net.Conn // below the stream
	// These are ns since began.
	sent  atomic.Int64
	heard atomic.Int64
}

// began is a time on the monotonic clock: the wall clock may be set.
var began = time.Now()

// NewConn returns a connection over a stream of packets, without CONNECT.
func NewConn(stream net.Conn, host string, version, readSize, most int) *Conn {
	return &Conn{
		Conn: stream, In: Buffer{B: make([]byte, readSize), Most: most}, Host: host, Version: version, socket: stream,
	}
}

// Connect dials a broker, sends CONNECT and waits for CONNACK (3.2). The end of the context ends the wait. Without a
// user in hello it takes that of the address. Messages of a session that follow CONNACK stay in the buffer. The error
// is a ConnectError.
func (d *Dialer) Connect(ctx context.Context, a Address, hello Connect) (*Conn, error) {
	hello.UseCredentials(a)
	var socket net.Conn
	stream, err := a.Dial(ctx, func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		conn, err = d.Dial(ctx, network, address)
		socket = conn
		return conn, err
	}, d.TLS, d.ReadSize)
	if err != nil {
		return nil, interrupted(ctx, fmt.Sprintf("MQTT broker %s can't be reached", a.Host), err)
	}
	c := NewConn(stream, a.Host, hello.Version, d.ReadSize, d.Most)
	c.socket = socket
	stop := context.AfterFunc(ctx, c.Cut)
	err = c.handshake(&hello)
	if !stop() {
		err = interrupted(ctx, fmt.Sprintf("MQTT broker %s: CONNECT", a.Host), ctx.Err())
	}
	if err != nil {
		c.Cut()
		_ = c.Close()
		return nil, err
	}
	c.Alive.KeepAlive = c.Accepted.KeepAlive(hello.KeepAlive)
	c.sent.Store(c.heard.Load())
	return c, nil
}

// handshake sends CONNECT and reads CONNACK. If the broker violates MQTT 5, it sends the reason (4.13.1).
func (c *Conn) handshake(hello *Connect) error {
	if _, err := c.Write(hello.Append(nil)); err != nil {
		return c.connectError(err, "")
	}
	for {
		kind, body, size, err := c.In.At(0)
		if err == nil && size == 0 {
			if err := c.Fill(); err != nil {
				return c.connectError(fmt.Errorf("no answer to CONNECT: %w", err), "")
			}
			continue
		}
		hint := ""
		if c.In.B[0]>>4 != packets.CONNACK {
			hint = " (is it a broker, and does it speak MQTT on this port, and not TLS or HTTP?)"
			if err == nil { // [MQTT-3.2.0-1]
				err = ProtocolError("it answered CONNECT with %s", Name(kind))
			}
		}
		if err == nil {
			c.Accepted, err = ReadAnswer(c.Version, kind, body)
			c.In.Drop(0, size)
		}
		if err != nil {
			if disconnect := DisconnectFor(c.Version, err); disconnect != nil {
				_, _ = c.Write(disconnect)
			}
			return c.connectError(err, hint)
		}
		return c.refusal(hello.Username)
	}
}

// refusal is the error of a CONNACK that refuses the connection.
func (c *Conn) refusal(username string) error {
	if c.Accepted.Old && c.Version == Version5 && !c.Accepted.Refused() {
		c.Accepted.Code = packets.ConnackUnsupportedProtocolVersion // the form of 3.1.1 accepts a client of 3.1.1
	}
	if !c.Accepted.Refused() {
		return nil
	}
	what := "the connection"
	switch c.Accepted.Code {
	case packets.ConnackBadUsernameOrPassword, packets.ConnackNotAuthorized:
		what = fmt.Sprintf("user %q", username)
	}
	err := c.Accepted.Err()
	return &ConnectError{fmt.Sprintf("MQTT broker %s refused %s: %s", c.Host, what, err), err, nil}
}

// ConnectError says why there is no connection to a broker. Its text names the broker.
type ConnectError struct {
	text string
	// Err does not name the broker. It is a ReasonError, a Violation, or an error of the network or of the context.
	Err   error
	cause error // why the context ended; nil: it has not
}

func (e *ConnectError) Error() string { return e.text }

// Unwrap is for errors.Is and errors.As.
func (e *ConnectError) Unwrap() []error {
	if e.cause != nil {
		return []error{e.Err, e.cause}
	}
	return []error{e.Err}
}

func (c *Conn) connectError(err error, hint string) error {
	return &ConnectError{fmt.Sprintf("MQTT broker %s: %s%s", c.Host, err, hint), err, nil}
}

// interrupted is the error of what failed. If the context has ended, its cause is the one to name.
func interrupted(ctx context.Context, what string, err error) error {
	cause := context.Cause(ctx)
	if cause == nil {
		return &ConnectError{fmt.Sprintf("%s: %s", what, err), err, nil}
	}
	return &ConnectError{fmt.Sprintf("%s: %s", what, cause), err, cause}
}

// Within limits a request to a broker, with a cause that says so.
func Within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
}

// Fill reads more of the stream into the buffer.
func (c *Conn) Fill() error {
	err := c.In.Fill(c.Conn)
	if err == nil {
		c.heard.Store(int64(time.Since(began)))
	}
	return err
}

// Write writes whole packets.
func (c *Conn) Write(b []byte) (int, error) {
	c.sent.Store(int64(time.Since(began)))
	return c.Conn.Write(b)
}

// Sent returns when the last write began. Any goroutine may call it.
func (c *Conn) Sent() time.Time { return began.Add(time.Duration(c.sent.Load())) }

// Heard returns when the last read brought bytes. Any goroutine may call it.
func (c *Conn) Heard() time.Time { return began.Add(time.Duration(c.heard.Load())) }

// Cut closes the connection below TLS and WebSocket, which would say good-bye first. It ends a blocked write too.
func (c *Conn) Cut() { _ = c.socket.Close() }

// Buffer holds bytes of a stream that were read and not yet parsed.
type Buffer struct {
	B    []byte // its length is the size of a read; it grows for a larger packet
	Held int    // bytes at the start of B
	Most int    // size of the largest packet
}

// Fill reads once, and returns an error if that brought nothing.
func (s *Buffer) Fill(from io.Reader) error {
	if s.Held == len(s.B) {
		s.B = append(s.B, make([]byte, len(s.B))...)
	}
	n, err := from.Read(s.B[s.Held:])
	s.Held += n
	if n > 0 {
		return nil // the next read returns the error
	}
	return err
}

// At finds the packet at an offset; size is 0 while not all of it is there.
func (s *Buffer) At(offset int) (kind byte, body []byte, size int, err error) {
	return Frame(s.B[offset:s.Held], s.Most)
}

// Drop removes size bytes at an offset.
func (s *Buffer) Drop(offset, size int) {
	s.Held = offset + copy(s.B[offset:], s.B[offset+size:s.Held])
}

// Alive is the keep-alive of a connection (MQTT 5, 3.1.2.10). Its owner knows when it last sent and heard something,
// sends the pings and ends the connection.
type Alive struct {
	KeepAlive time.Duration // 0: the broker wants no pings
	Answer    time.Duration // how long the broker may take to answer one

	asked time.Time // when the unanswered PINGREQ was due; zero: none
}

// Look reports whether a PINGREQ is due, or whether the broker has left one unanswered [MQTT-3.12.4-1], and when to
// look again. A ping is due when nothing was sent for half of the keep-alive. It is also due when nothing was heard for
// all of it: writes to a frozen broker still succeed, into the kernel's buffers. Any byte is an answer.
func (a *Alive) Look(now, sent, heard time.Time) (ping, silent bool, again time.Duration) {
	if a.KeepAlive == 0 {
		return false, false, 0
	}
	if !heard.Before(a.asked) {
		a.asked = time.Time{}
	}
	if !a.asked.IsZero() {
		left := a.Answer - now.Sub(a.asked)
		return false, left <= 0, left
	}
	left := min(sent.Add(a.KeepAlive/2).Sub(now), heard.Add(a.KeepAlive).Sub(now))
	if left > 0 {
		return false, false, left
	}
	a.asked = now
	return true, false, a.Answer
}
