package fake

import (
	"fmt"
	"time"
)

// Clock is a clock with a chosen error: ahead of this host's, and too fast since a moment.
type Clock struct {
	Ahead time.Duration
	PPM   float64 // µs a second
	Since time.Time
}

// Error is how far the clock is ahead of this host's at t.
func (c Clock) Error(t time.Time) time.Duration {
	if c.PPM == 0 {
		return c.Ahead
	}
	return c.Ahead + time.Duration(float64(t.Sub(c.Since))*c.PPM/1e6)
}

// Micros is the clock's time at t, in µs since 1970.
func (c Clock) Micros(t time.Time) int64 { return t.Add(c.Error(t)).UnixMicro() }

// StageDelays is how long each stage takes, from the socket of the ingest to the socket of the broker. A request is accepted
// at the start of Request; Total is the Delay of the pipeline.
type StageDelays struct{ Request, Ingest, Queue, Relay, Delivery time.Duration }

func (d StageDelays) Total() time.Duration {
	return d.Request + d.Ingest + d.Queue + d.Relay + d.Delivery
}

// Stamps are those of pipeline/common/hops.ts for messages that take these delays, made by a clock.
func (d StageDelays) Stamps(c Clock) func(at time.Time) string {
	return func(at time.Time) string {
		return fmt.Sprintf("%d,%d,%d,%d", c.Micros(at.Add(d.Request)),
			d.Ingest.Microseconds(), d.Queue.Microseconds(), d.Relay.Microseconds())
	}
}
