package socket

import (
	"net"
	"sync"
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

// Asked wraps a connection that was just opened, and whose peer answers one request at a time: a read holds no more
// than one answer.
func Asked(conn net.Conn) *Stamped {
	const look = time.Minute // who asks again reads what there is
	c := NewStamped(conn, look)
	if c.waiter != nil {
		c.waiter.asked()
	}
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

// Accepting makes Stamped connections of those that a listener accepts. Their bytes may have come before that: while
// this process was away, both wait in the kernel, which stamps them.
type Accepting struct {
	look time.Duration
	// The clocks are compared with those of a moment before the connection was made: the earlier of these.
	before, latest time.Time
}

// comparedFor is how long a connection may wait to be accepted for its stamps to be used, and for how long they are not
// used after the wall clock was set.
const comparedFor = 30 * time.Second

// Accept begins with a listener that has accepted no connection yet. look has the meaning of NewStamped's.
func Accept(l net.Listener, look time.Duration) *Accepting {
	stampAccepted(l)
	now := steady()
	return &Accepting{look: look, before: now, latest: now}
}

// Stamped wraps a connection that was just accepted, and whose peer waits for the answer to each message. It is for one
// goroutine.
func (a *Accepting) Stamped(conn net.Conn) *Stamped {
	if time.Since(a.latest) > comparedFor {
		a.before, a.latest = a.latest, steady()
	}
	s := NewStamped(conn, a.look)
	if s.waiter != nil {
		s.waiter.accepted(a.before)
	}
	return s
}

// steady is the current time. Its wall clock and its monotonic clock were read at once, not with a pause between.
func steady() time.Time {
	now := time.Now()
	for range 10 {
		next := time.Now()
		wall, monotonic := next.UnixNano()-now.UnixNano(), next.Sub(now).Nanoseconds()
		if now = next; max(wall-monotonic, monotonic-wall) < time.Microsecond.Nanoseconds() {
			break
		}
	}
	return now
}
