package callers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Errors of reading a call.
var (
	ErrTooLong = errors.New("its body is too long")
	ErrTooMany = errors.New("the bodies of all open calls are too long")
)

// Call is a call that is under way. Only one goroutine may use it.
type Call struct {
	place *Place
	whole bool
	bytes int64
}

// Begin notes that a call has begun. It ends with End.
func (p *Place) Begin() *Call {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	if p.calls++; p.calls == 1 && p.spoke { // one that has never spoken gains no time by beginning again
		p.since = time.Now()
	}
	return &Call{place: p}
}

// Read reads the body of a call, of so many bytes at most. The call has come whole then, and no longer makes room.
func (c *Call) Read(from io.Reader, most int) ([]byte, error) {
	var b bytes.Buffer
	for piece := int64(4 << 10); ; piece = int64(b.Len()) { // doubles
		if !c.take(piece) {
			if c.place.Evicted() { // before the first byte: the room has counted it
				return nil, net.ErrClosed
			}
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooMany, c.place.room.bytes)
		}
		n, err := io.CopyN(&b, from, piece)
		switch {
		case b.Len() > most:
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLong, most)
		case errors.Is(err, io.EOF):
			c.complete()
			return b.Bytes(), nil
		case err != nil:
			return nil, err
		case n == 0:
			return nil, io.ErrNoProgress
		}
	}
}

// complete notes that the call has come whole.
func (c *Call) complete() {
	c.place.room.mu.Lock()
	defer c.place.room.mu.Unlock()
	c.whole = true
	c.place.whole++
}

// take takes so many bytes. It reports false if there is no room, and no slower caller to make it.
func (c *Call) take(n int64) bool {
	r, p := c.place.room, c.place
	var slow []string
	r.mu.Lock()
	for r.taken+n > r.bytes {
		other := r.quietest(func(other *Place) bool {
			return other != p && other.bytes > 0 && time.Since(other.since) >= grace
		})
		if other == nil {
			break
		}
		slow = append(slow, fmt.Sprintf("%s had sent %d bytes of a call within %s, and was closed for another",
			other.conn.RemoteAddr(), other.bytes, rounded(time.Since(other.since))))
		r.evict(other)
	}
	there := r.taken+n <= r.bytes && !p.evicted
	if there {
		r.taken += n
		p.bytes += n
		c.bytes += n
	}
	r.mu.Unlock()
	for _, example := range slow {
		r.report("too much at once", example)
	}
	return there
}

// End ends a call, which is answered or has broken off.
func (c *Call) End() {
	p := c.place
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.calls--
	if c.whole {
		p.whole--
		if !p.spoke { // who waits for its place looks for another one
			p.room.changed()
		}
		p.spoke, p.since = true, time.Now()
	}
	if _, there := p.room.held[p]; there { // else they were given back with the place
		p.room.taken -= c.bytes
		p.bytes -= c.bytes
	}
}
