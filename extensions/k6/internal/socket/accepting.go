package socket

import (
	"net"
	"time"
)

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

// Accept begins with a listener that has accepted no connection yet. look is that of NewStamped.
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
