// Package socket reads a connection and reports when its bytes arrived: by the kernel's stamps if it has them,
// otherwise by the time of the read. It works below TLS and WebSocket, whose buffers would hide both.
package socket

import (
	"net"
	"time"

	"go.k6.io/k6/v2/lib/netext"
)

// Unknown is the wait where nothing says since when the bytes were there, as without stamps of the kernel: outside
// Linux, and without TCP.
const Unknown time.Duration = -1

// bufferSize is one read for a layer above that reads in small pieces, as TLS and WebSocket do.
const bufferSize = 64 << 10

// Arrival is the arrival of a message whose last byte came with a read.
type Arrival struct {
	// At is never later than the read. By the kernel's stamp it is never earlier than the last byte. It is
	// later than the last byte only if the kernel merged the segment with following ones, or by up to 50 µs if
	// they came close together.
	At     time.Time
	Kernel bool // At is the kernel's stamp; false: the read
	// Waited is how long before At the message may have been unread: 0 if it has its own stamp, Unknown if that
	// is not known. From a buffer it is the longest wait of anything in it.
	Waited time.Duration
}

// waiter is a connection that knows the arrival of the bytes that it read last.
type waiter interface {
	net.Conn
	// watch starts recording the time of reads, and checks the idle socket periodically. With held, each read is
	// followed by arrivals.
	watch(held bool)
	// every sets the interval of these checks. Call it before watch.
	every(look time.Duration)
	// accepted says that the peer opened the connection, after a moment, and may have sent since then; and that it
	// waits for the answer to each message. Call it before the first read.
	accepted(since time.Time)
	// asked says that the peer sends nothing but the answer to each message. Call it before the first read.
	asked()
	arrivals(ends []int, into []Arrival) []Arrival
}

// Conn is a network connection that records the time of its reads. Only one goroutine may read at a time.
type Conn struct {
	net.Conn
	waiter waiter // nil: only the time of the read is known

	buf  []byte // read and not yet asked for; nil when unbuffered
	rest []byte

	watching bool
	at       time.Time
}

// New wraps a connection. With buffered, small reads share one read from the socket.
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

// Watch starts recording the time of every read. Bytes read before have the current time.
func (c *Conn) Watch() {
	c.watching, c.at = true, time.Now()
	if c.waiter != nil {
		c.waiter.watch(c.buf == nil)
	}
}

// Arrivals returns the arrivals of the messages that end at these ascending offsets of the last Read. Call it
// once after a Read. Buffered bytes, as below TLS and WebSocket, have the stamp of the last segment of the read
// that filled the buffer: none of them came later.
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
