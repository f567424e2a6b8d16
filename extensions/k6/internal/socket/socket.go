// Package socket reads a connection and tells when it was read and how long the bytes had lain in the kernel before: the
// proof that a subscriber kept up with its socket. It goes below TLS and WebSocket, whose buffers would hide both.
package socket

import (
	"net"
	"time"

	"go.k6.io/k6/v2/lib/netext"
)

// Unknown is the wait where the kernel does not tell it: anywhere but on Linux, and for what is not TCP.
const Unknown time.Duration = -1

// bufferSize is one read for a layer above that asks for less, as TLS and WebSocket do.
const bufferSize = 64 << 10

// waiter is a connection that knows the wait of what it read last.
type waiter interface {
	net.Conn
	wait() time.Duration
	// watch begins to look at the socket from time to time while nothing comes. It takes over the read deadline.
	watch()
}

// Conn is a network connection that keeps the time of its reads. Only one goroutine may read at a time.
type Conn struct {
	net.Conn
	waiter waiter // nil: the wait is unknown
	now    func() int64

	buf  []byte // read and not yet asked for; nil when unbuffered
	rest []byte

	at     int64
	waited time.Duration // the longest since Last was called
	told   bool
}

// New wraps a connection from k6's dialer or any other. With buffered, small reads share one from the socket.
func New(conn net.Conn, buffered bool) *Conn {
	c := &Conn{Conn: conn, waited: Unknown}
	if counted, ok := conn.(*netext.Conn); ok {
		if c.waiter = newWaiter(counted.Conn); c.waiter != nil {
			counted.Conn = c.waiter // below k6's count of bytes, which stays as it is
		}
	} else if c.waiter = newWaiter(conn); c.waiter != nil {
		c.Conn = c.waiter
	}
	if buffered {
		c.buf = make([]byte, bufferSize)
	}
	return c
}

// Watch makes every read from the socket note the time, beginning with this moment for what has been read already.
func (c *Conn) Watch(now func() int64) {
	c.now, c.at, c.waited = now, now(), Unknown
	if c.waiter != nil {
		c.waiter.watch()
	}
}

// Last tells of the bytes that have come out since it was last called when they were read from the socket, and how long
// they had waited for it. Bytes from a buffer have the figures of the read that filled it.
func (c *Conn) Last() (at int64, waited time.Duration) {
	c.told = true
	return c.at, c.waited
}

func (c *Conn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.buf == nil || len(p) >= len(c.buf) {
			return c.fill(p)
		}
		n, err := c.fill(c.buf)
		if err != nil {
			return 0, err
		}
		c.rest = c.buf[:n]
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// fill reads from the socket.
func (c *Conn) fill(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.now != nil {
		c.at = c.now()
	}
	waited := Unknown
	if c.waiter != nil {
		waited = c.waiter.wait()
	}
	if c.told || waited > c.waited {
		c.waited, c.told = waited, false
	}
	return n, err
}
