// Package socket reads a connection and says when its bytes arrived: when the kernel had them, where it stamps them, and
// otherwise when they were read. It goes below TLS and WebSocket, whose buffers would hide both.
package socket

import (
	"net"
	"time"

	"go.k6.io/k6/v2/lib/netext"
)

// Unknown is the wait where the kernel stamps nothing: anywhere but on Linux, and for what is not TCP.
const Unknown time.Duration = -1

// bufferSize is one read for a layer above that asks for less, as TLS and WebSocket do.
const bufferSize = 64 << 10

// Arrival is when a message arrived whose last byte a read has brought.
type Arrival struct {
	// At is never later than the read. By the kernel's stamp it is never earlier than when the last byte came, and later
	// than that only where the kernel has merged the segment with those that came after it, or by 50 µs where they came near to it.
	At     time.Time
	Kernel bool // At is the kernel's stamp; false: the read
	// Waited is how much of the time until At the message may have lain unread: 0 where the stamp is its own. From a buffer
	// that is the longest that anything in it may have.
	Waited time.Duration
}

// waiter is a connection that knows when the bytes came that it read last.
type waiter interface {
	net.Conn
	// watch begins to note the time of reads, and to look at the socket from time to time while nothing comes. It takes
	// over the read deadline. With held, each read is followed by arrivals.
	watch(held bool)
	arrivals(ends []int, into []Arrival) []Arrival
}

// Conn is a network connection that keeps the time of its reads. Only one goroutine may read at a time.
type Conn struct {
	net.Conn
	waiter waiter // nil: only the time of the read is known

	buf  []byte // read and not yet asked for; nil when unbuffered
	rest []byte

	watching bool
	at       time.Time
}

// New wraps a connection from k6's dialer or any other. With buffered, small reads share one from the socket.
func New(conn net.Conn, buffered bool) *Conn {
	c := &Conn{Conn: conn}
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

// Watch makes every read from the socket note the time. What has been read already has this moment's.
func (c *Conn) Watch() {
	c.watching, c.at = true, time.Now()
	if c.waiter != nil {
		c.waiter.watch(c.buf == nil)
	}
}

// Arrivals says when the messages arrived that end at these offsets of what the last Read returned, in ascending order. It
// is called once after a Read. Bytes from a buffer, as all are below TLS and WebSocket, have the stamp of the last
// segment of the read that filled it: what is handed on came no later.
func (c *Conn) Arrivals(ends []int, into []Arrival) []Arrival {
	if c.waiter != nil {
		return c.waiter.arrivals(ends, into)
	}
	for range ends {
		into = append(into, Arrival{At: c.at, Waited: Unknown})
	}
	return into
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
	if c.watching {
		c.at = time.Now()
	}
	return n, err
}
