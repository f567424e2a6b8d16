package fake

import (
	"fmt"
	"time"
)

// Clock is a clock that is wrong as told: ahead of this host's, and running too fast since a moment.
type Clock struct {
	Ahead time.Duration
	PPM   float64 // µs a second
	Since time.Time
}

// Error is what the clock is ahead of this host's at t.
func (c Clock) Error(t time.Time) time.Duration {
	if c.PPM == 0 {
		return c.Ahead
	}
	return c.Ahead + time.Duration(float64(t.Sub(c.Since))*c.PPM/1e6)
}

// Micros is the time that the clock shows at t, in µs since 1970.
func (c Clock) Micros(t time.Time) int64 { return t.Add(c.Error(t)).UnixMicro() }

// Way is how long each stage between the socket of the ingest and the socket of the broker takes. The acceptance of a
// request is its first moment, and its length is the Delay of the pipeline.
type Way struct{ Request, Ingest, Queue, Relay, Delivery time.Duration }

// Length is how long the whole way takes.
func (w Way) Length() time.Duration { return w.Request + w.Ingest + w.Queue + w.Relay + w.Delivery }

// Stamps are those of pipeline/common/hops.ts for messages that go this way, made by a clock.
func (w Way) Stamps(c Clock) func(at time.Time) string {
	return func(at time.Time) string {
		return fmt.Sprintf("%d,%d,%d,%d", c.Micros(at.Add(w.Request)),
			w.Ingest.Microseconds(), w.Queue.Microseconds(), w.Relay.Microseconds())
	}
}
