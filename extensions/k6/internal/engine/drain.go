package engine

import "time"

const (
	// linger is how long the run waits for duplicates after everything has arrived.
	linger = 250 * time.Millisecond
	// quietLeast is how many consecutive looks must find nothing new before the drain ends. After a process was
	// suspended, its looks and its subscribers' messages are all due at once: elapsed time alone does not show that no
	// messages come.
	quietLeast = 5
)

// drain is the wait for the messages of a load that has been sent.
type drain struct {
	idle, limit time.Duration // it ends after idle without an arrival, and after limit in any case

	began    time.Time // zero: the load is not settled yet
	complete time.Time // when everything had arrived; zero: it has not
	moved    time.Time // when the latest delivery was seen
	seen     int       // deliveries at the last look
	quiet    int       // consecutive looks at which nothing had arrived
}

func newDrain(o *Options) *drain {
	return &drain{idle: o.Idle.duration(), limit: o.Drain.duration(), seen: -1}
}

// over reports whether the drain has ended: everything has arrived, nothing has arrived for the idle time, or the limit
// is reached. It is called at each look, with the number of deliveries so far and of the messages that are missing.
func (d *drain) over(now time.Time, deliveries, open int) bool {
	if d.began.IsZero() {
		d.began, d.moved = now, now
	}
	if d.quiet++; deliveries != d.seen {
		d.seen, d.moved, d.quiet = deliveries, now, 0
	}
	if open == 0 {
		if d.complete.IsZero() {
			d.complete = now
		}
		return now.Sub(d.complete) >= linger && d.quiet >= quietLeast
	}
	return now.Sub(d.moved) >= d.idle && d.quiet >= quietLeast || now.Sub(d.began) >= d.limit
}
