// Package clock puts this process on the clock of Redis.
//
// A process's own clock is its wall clock at the start plus its monotonic clock since, so it never jumps. A probe
// brackets Redis TIME with that clock; the probe with the shortest round trip of a window tells the offset, give or take
// half of that round trip (the bound). On one host there is one clock: where zero lies inside the bound, the offset is zero.
package clock

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Sample is one probe: Redis said reference between before and after of the own clock. All in µs since 1970.
type Sample struct{ Before, Reference, After int64 }

// Estimate is what samples tell of the offset: reference = own clock + Offset, give or take Bound. Both in µs.
type Estimate struct{ Offset, Bound float64 }

// truncation is what a stamp may lose to being a whole number of µs.
const truncation = 1

// Of returns the estimate of the sample with the shortest round trip. It panics without a sample.
func Of(samples []Sample) Estimate {
	best := samples[0]
	for _, s := range samples[1:] {
		if s.After-s.Before < best.After-best.Before {
			best = s
		}
	}
	return Estimate{
		Offset: float64(best.Reference) - float64(best.Before+best.After)/2,
		Bound:  float64(best.After-best.Before)/2 + truncation,
	}
}

// Used is the offset to apply: zero where zero is inside the bound.
func (e Estimate) Used() float64 {
	if math.Abs(e.Offset) <= e.Bound {
		return 0
	}
	return e.Offset
}

// Clock is the own clock of this process and its relation to the clock of Redis. Without a Redis it stands alone.
type Clock struct {
	base time.Time

	mu      sync.Mutex
	first   Estimate
	firstAt int64
	current Estimate
	at      int64
	worst   float64
	probes  int
}

// New starts the clock. It does no I/O.
func New() *Clock { return &Clock{base: time.Now()} }

// Now is the own clock in µs since 1970.
func (c *Clock) Now() int64 { return c.At(time.Now()) }

// At is the own clock at t.
func (c *Clock) At(t time.Time) int64 { return c.base.UnixMicro() + t.Sub(c.base).Microseconds() }

// Offset is what the clock of Redis is ahead of the own clock, in µs.
func (c *Clock) Offset() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(math.Round(c.current.Used()))
}

// window is the number of probes that an estimate is made of: enough that one of them meets no other work.
const window = 16

// Probe takes a window of samples from Redis and replaces the estimate.
func (c *Clock) Probe(ctx context.Context, client *redis.Client) error {
	samples := make([]Sample, 0, window)
	for range window {
		before := c.Now()
		t, err := client.Time(ctx).Result()
		after := c.Now()
		if err != nil {
			return fmt.Errorf("redis TIME: %w", err)
		}
		samples = append(samples, Sample{before, t.UnixMicro(), after})
	}
	c.settle(Of(samples), c.Now())
	return nil
}

func (c *Clock) settle(e Estimate, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.probes == 0 {
		c.first, c.firstAt = e, at
	}
	c.probes++
	c.current, c.at = e, at
	c.worst = math.Max(c.worst, e.Bound)
}

// Reading is what the report says of the clock.
type Reading struct {
	Estimate
	Worst  float64 // the widest bound of the run, µs
	Drift  float64 // change of the offset in parts per million; 0 where it is inside the bounds
	Probes int     // windows probed; 0: the own clock stands alone
}

// Read returns the state of the clock.
func (c *Clock) Read() Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Reading{Estimate: c.current, Worst: c.worst, Probes: c.probes}
	moved := c.current.Offset - c.first.Offset
	if span := float64(c.at - c.firstAt); span > 0 && math.Abs(moved) > c.current.Bound+c.first.Bound {
		r.Drift = moved / span * 1e6
	}
	return r
}
