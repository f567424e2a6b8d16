// Package callers bounds what the callers of a listener hold: connections, and bytes of calls that are under way. Where
// all is taken, whoever has been idle or slow for longest makes room for the others.
package callers

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// grace is how long a caller may be silent or slow before it makes room for another.
const grace = 250 * time.Millisecond

// Room holds the callers of a listener. It may be used from any goroutine.
type Room struct {
	connections int
	bytes       int64
	report      func(class, example string)

	mu    sync.Mutex
	held  map[*Place]struct{}
	taken int64         // bytes
	left  chan struct{} // closed when a caller leaves, or has spoken for the first time
}

// New makes room for so many connections, and so many bytes of calls that are under way. It calls report for each
// caller that was refused, or closed for another.
func New(connections int, bytes int64, report func(class, example string)) *Room {
	return &Room{connections: connections, bytes: bytes, report: report, held: map[*Place]struct{}{},
		left: make(chan struct{})}
}

// Held are the connections and bytes that are taken.
func (r *Room) Held() (connections int, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.held), r.taken
}

// Place is the place of a connection in a Room.
type Place struct {
	room    *Room
	conn    net.Conn
	spoke   bool      // a call of it was answered
	since   time.Time // it entered, its last call began, or ended
	calls   int       // that have begun, and not ended
	whole   int       // calls that have come whole
	bytes   int64     // what its calls hold
	evicted bool
}

// Enter takes a place for a connection. It waits while the only callers to make room have just come. nil: each caller
// is being answered, or was just now, and the connection is closed.
func (r *Room) Enter(conn net.Conn) *Place {
	for {
		r.mu.Lock()
		if len(r.held) < r.connections {
			p := &Place{room: r, conn: conn, since: time.Now()}
			r.held[p] = struct{}{}
			r.mu.Unlock()
			return p
		}
		other, left := r.quietest(func(*Place) bool { return true }), r.left
		age := grace
		if other != nil {
			age = time.Since(other.since)
		}
		if other == nil || other.spoke && age < grace {
			r.mu.Unlock()
			_ = conn.Close()
			r.report("too many connections", fmt.Sprintf("%d are open, and their callers speak; one more was closed",
				r.connections))
			return nil
		}
		if age >= grace {
			r.evict(other)
			r.mu.Unlock()
			r.report("too many connections", fmt.Sprintf("%d are open; that of %s, which sent no whole call for %s, "+
				"was closed for another", r.connections, other.conn.RemoteAddr(), rounded(age)))
			continue
		}
		r.mu.Unlock()
		select {
		case <-left:
		case <-time.After(grace - age):
		}
	}
}

// Listen accepts the connections for which there is room.
func (r *Room) Listen(l net.Listener) net.Listener { return &listener{l, r} }

type listener struct {
	net.Listener
	room *Room
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if place := l.room.Enter(c); place != nil {
			return &conn{c, place}, nil
		}
	}
}

// conn gives its place back.
type conn struct {
	net.Conn
	place *Place
}

func (c *conn) Close() error {
	c.place.Leave()
	return c.Conn.Close()
}

type key struct{}

// Remember is the ConnContext of a http.Server that serves a listener of Listen.
func Remember(ctx context.Context, c net.Conn) context.Context {
	if ours, ok := c.(*conn); ok {
		return context.WithValue(ctx, key{}, ours.place)
	}
	return ctx
}

// Of returns the place of the connection that a request came over; nil: it came through another listener.
func Of(ctx context.Context) *Place {
	place, _ := ctx.Value(key{}).(*Place)
	return place
}

// changed wakes all who wait for a place; r.mu is held.
func (r *Room) changed() {
	close(r.left)
	r.left = make(chan struct{})
}

// speaks reports whether a call of a connection has begun.
func (p *Place) speaks() bool { return p.spoke || p.calls > 0 }

// quietest is the place that makes room first, of those that are not being answered; nil: there is none. One that has
// never spoken, and does not speak, comes before one that is idle.
func (r *Room) quietest(may func(*Place) bool) (first *Place) {
	for p := range r.held {
		if p.whole > 0 || !may(p) {
			continue
		}
		if first == nil || first.speaks() && !p.speaks() || first.speaks() == p.speaks() && p.since.Before(first.since) {
			first = p
		}
	}
	return first
}

// evict closes the connection of a place. The lock is held.
func (r *Room) evict(p *Place) {
	p.evicted = true
	r.remove(p)
	_ = p.conn.Close()
}

// remove takes a place from the room. The lock is held.
func (r *Room) remove(p *Place) {
	if _, there := r.held[p]; !there {
		return
	}
	delete(r.held, p)
	r.taken -= p.bytes
	p.bytes = 0
	r.changed()
}

// Leave gives the place back: its connection has been closed. It may be called more than once.
func (p *Place) Leave() {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	p.room.remove(p)
}

// Evicted reports whether the place was given to another caller.
func (p *Place) Evicted() bool {
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	return p.evicted
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
