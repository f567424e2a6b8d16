package socket

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Stamped is a connection for a reader that knows nothing of arrivals, like net/http or a WebSocket library: it notes
// the arrival of the bytes that were read last. Unlike a Conn it keeps the deadlines of its reader.
type Stamped struct {
	*Conn
	mu   sync.Mutex
	last Arrival
	told bool // Next has returned it
	one  [1]int
	into []Arrival
}

// readerBuffer is as large as the buffers of net/http and gorilla/websocket, which read past it.
const readerBuffer = 4 << 10

// NewStamped wraps a connection. It looks at the idle socket at this interval; the longer, the less precise is what it
// knows of the time that bytes waited unread.
func NewStamped(conn net.Conn, look time.Duration) *Stamped {
	c := &Stamped{Conn: New(conn, false), last: Arrival{At: time.Now(), Waited: Unknown}}
	c.buf = make([]byte, readerBuffer)
	if c.waiter != nil {
		c.waiter.every(look)
	}
	c.Watch()
	return c
}

// Last is the arrival of the bytes of the last read.
func (c *Stamped) Last() Arrival {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Next is Last for a reader that asks once for each message. If none was read since, the last read held several: then
// it is not known how long this one waited.
func (c *Stamped) Next() Arrival {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.last
	if c.told {
		a.Waited = Unknown
	}
	c.told = true
	return a
}

func (c *Stamped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n == 0 {
		return n, err
	}
	c.one[0] = n
	c.into = c.Arrivals(c.one[:], c.into[:0])
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.told = c.into[0], false
	return n, err
}

// limit is the deadline that a reader has set; watching takes over that of the socket.
type limit struct{ at atomic.Pointer[time.Time] }

func (l *limit) set(t time.Time) {
	if t.IsZero() {
		l.at.Store(nil)
		return
	}
	l.at.Store(&t)
}

// next is the next moment to look at an idle socket; ok is false if the reader's deadline has passed.
func (l *limit) next(look time.Duration) (at time.Time, ok bool) {
	now := time.Now()
	at = now.Add(look)
	end := l.at.Load()
	if end == nil {
		return at, true
	}
	if !now.Before(*end) {
		return at, false
	}
	if end.Before(at) {
		at = *end
	}
	return at, true
}

// LastOf is the arrival of the bytes that were last read from a connection, which may be TLS over a Stamped; now if the
// connection is another one.
func LastOf(conn net.Conn) Arrival {
	if c := StampedOf(conn); c != nil {
		return c.Last()
	}
	return Arrival{At: time.Now(), Waited: Unknown}
}

// StampedOf is the Stamped below a connection; nil: there is none.
func StampedOf(conn net.Conn) *Stamped {
	for conn != nil {
		if c, ok := conn.(*Stamped); ok {
			return c
		}
		below, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		conn = below.NetConn()
	}
	return nil
}
