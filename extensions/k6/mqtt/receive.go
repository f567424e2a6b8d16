package mqtt

import (
	"net"
	"sync"
	"time"
)

const (
	// readSize is the most that one read takes off the socket; the messages it completes share a time.
	readSize = 16 << 10
	// readAhead is how many bytes may wait to be parsed before the socket is left alone.
	readAhead = 1 << 20
)

// timedConn knows when each message left the socket. A goroutine that does nothing else reads the socket and notes the
// time after each read, since whoever parses the packets comes back late: it waits for the acknowledgements that it
// writes, and for its turn. Read hands the bytes on; as they pass it finds the ends of PUBLISH packets, and their
// times wait in arrivals, in the order of the messages.
type timedConn struct {
	net.Conn

	mu      sync.Mutex // guards the fields down to failure
	changed sync.Cond  // there is more to read, or room for more
	ahead   chunk      // read from the socket and not taken by Read
	failure error      // why there won't be more

	taken  chunk // of Read alone: what it took last, and how far it got
	at     int
	frames frames

	arrivals arrivals
}

// chunk is a piece of the stream.
type chunk struct {
	data  []byte
	reads []read
}

// read is one read from the socket.
type read struct {
	end int // offset in the chunk
	at  time.Time
}

func newTimedConn(conn net.Conn) *timedConn {
	c := &timedConn{Conn: conn}
	c.changed.L, c.arrivals.changed.L = &c.mu, &c.arrivals.mu
	go c.fill()
	return c
}

func (c *timedConn) fill() {
	buffer := make([]byte, readSize)
	for {
		n, err := c.Conn.Read(buffer)
		now := time.Now()
		c.mu.Lock()
		if n > 0 {
			c.ahead.data = append(c.ahead.data, buffer[:n]...)
			c.ahead.reads = append(c.ahead.reads, read{len(c.ahead.data), now})
		}
		if c.failure == nil {
			c.failure = err
		}
		c.changed.Broadcast()
		for len(c.ahead.data) > readAhead && c.failure == nil {
			c.changed.Wait()
		}
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Read returns bytes of one read from the socket. After Close it returns what had been read before, then net.ErrClosed.
func (c *timedConn) Read(p []byte) (int, error) {
	if c.at == len(c.taken.data) {
		if err := c.take(); err != nil {
			c.arrivals.end()
			return 0, err
		}
	}
	for c.taken.reads[0].end <= c.at {
		c.taken.reads = c.taken.reads[1:]
	}
	n := copy(p, c.taken.data[c.at:c.taken.reads[0].end])
	c.at += n
	for range c.frames.publishes(p[:n]) {
		c.arrivals.add(c.taken.reads[0].at)
	}
	return n, nil
}

// take waits for bytes and changes chunks with the reading goroutine.
func (c *timedConn) take() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.ahead.data) == 0 {
		if c.failure != nil {
			return c.failure
		}
		c.changed.Wait()
	}
	spare := c.taken.data[:0]
	if cap(spare) > 4*readSize {
		spare = nil // of a burst
	}
	c.taken, c.at = c.ahead, 0
	c.ahead = chunk{data: spare}
	c.changed.Broadcast()
	return nil
}

// Close closes the connection; it may be called more than once, from any goroutine.
func (c *timedConn) Close() error {
	c.mu.Lock()
	if c.failure == nil {
		c.failure = net.ErrClosed
	}
	c.changed.Broadcast()
	c.mu.Unlock()
	return c.Conn.Close()
}

// SetDeadline does nothing: connect_timeout closes the connection instead, as no deadline may end a read for good.
func (c *timedConn) SetDeadline(time.Time) error { return nil }

// frames follows the packets of a stream (MQTT 3.1.1 and 5, 2.1).
type frames struct {
	header int  // bytes of the fixed header seen
	kind   byte // its first byte
	body   int  // bytes missing, once the header is complete
	inBody bool
}

const typePublish = 3

// publishes returns how many PUBLISH packets end within the next bytes of the stream.
func (f *frames) publishes(b []byte) (ended int) {
	for len(b) > 0 {
		switch {
		case f.inBody:
			n := min(f.body, len(b))
			f.body -= n
			b = b[n:]
		case f.header == 0:
			f.kind, f.header = b[0], 1
			b = b[1:]
			continue
		default:
			f.body |= int(b[0]&0x7f) << (7 * (f.header - 1))
			f.inBody = b[0] < 0x80
			f.header++
			b = b[1:]
		}
		if f.inBody && f.body == 0 {
			if f.kind>>4 == typePublish {
				ended++
			}
			*f = frames{}
		}
	}
	return ended
}

// arrivals are the times of messages that were read and have not been handed on.
type arrivals struct {
	mu      sync.Mutex
	times   []time.Time
	ended   bool // there won't be more
	changed sync.Cond
}

func (a *arrivals) add(t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times = append(a.times, t)
}

// handOn calls f with the time of the message that is next. One goroutine only.
func (a *arrivals) handOn(f func(received time.Time)) {
	a.mu.Lock()
	received := a.times[0]
	a.mu.Unlock()
	f(received)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times = a.times[1:]
	a.changed.Broadcast()
}

func (a *arrivals) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	a.changed.Broadcast()
}

// drain blocks until the reader of a closed connection has come to its end and handed on every message; the limit is
// for a reader that stops at a malformed packet.
func (a *arrivals) drain(limit time.Duration) {
	late := false
	stop := time.AfterFunc(limit, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		late = true
		a.changed.Broadcast()
	})
	defer stop.Stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	for !late && (!a.ended || len(a.times) > 0) {
		a.changed.Wait()
	}
}
