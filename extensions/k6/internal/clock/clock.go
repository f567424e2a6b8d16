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

// Sample is one probe: asked at T0 of the own clock, Redis said Server, heard at T1. All in µs since 1970.
type Sample struct{ T0, Server, T1 float64 }

// Estimate is what samples tell of the offset: reference = own clock + Offset, give or take Bound. Both in µs.
type Estimate struct{ Offset, Bound float64 }

// truncation is half of what TIME cuts off, since it tells whole µs.
const truncation = 0.5

// Of returns the estimate of the sample with the shortest round trip, the first of them. It panics without a sample.
// pipeline/clock.ts does the same; both are tested against pipeline/clock.vectors.json.
func Of(samples []Sample) Estimate {
	best := samples[0]
	for _, s := range samples[1:] {
		if s.T1-s.T0 < best.T1-best.T0 {
			best = s
		}
	}
	return Estimate{
		Offset: best.Server - (best.T0+best.T1)/2,
		Bound:  (best.T1-best.T0)/2 + truncation,
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
	window  []Sample
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

// own is the own clock with its fraction of a µs; a float64 holds a quarter of one.
func (c *Clock) own() float64 {
	return float64(c.base.UnixMicro()) + float64(time.Since(c.base).Nanoseconds())/1000
}

// Offset is what the clock of Redis is ahead of the own clock, in µs.
func (c *Clock) Offset() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return int64(math.Round(c.current.Used()))
}

// An estimate is made of the probes of the last rounds, which are a second apart: enough that one of them meets no other
// work, and few enough to follow a drift.
const (
	probesPerRound = 8
	rounds         = 5
)

// Warm fills the window at once, for the start of a run.
func (c *Clock) Warm(ctx context.Context, client *redis.Client) error {
	for range rounds {
		if err := c.Probe(ctx, client); err != nil {
			return err
		}
	}
	return nil
}

// Probe takes a round of samples from Redis and replaces the estimate.
func (c *Clock) Probe(ctx context.Context, client *redis.Client) error {
	samples := make([]Sample, 0, probesPerRound)
	for range probesPerRound {
		t0 := c.own()
		t, err := client.Time(ctx).Result()
		t1 := c.own()
		if err != nil {
			return fmt.Errorf("redis TIME: %w", err)
		}
		samples = append(samples, Sample{t0, float64(t.UnixMicro()), t1})
	}
	c.add(samples, c.Now())
	return nil
}

func (c *Clock) add(round []Sample, at int64) {
	c.mu.Lock()
	c.window = append(c.window, round...)
	c.window = c.window[max(0, len(c.window)-rounds*probesPerRound):]
	e := Of(c.window)
	c.mu.Unlock()
	c.settle(e, at)
}

func (c *Clock) settle(e Estimate, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.probes == 0 {
		c.first, c.firstAt = e, at
	}
	c.probes++
	c.current, c.at = e, at
	if c.probes >= rounds { // before, the window is not full
		c.worst = math.Max(c.worst, e.Bound)
	}
}

// Reading is what the report says of the clock.
type Reading struct {
	Estimate
	Worst  float64 // the widest bound of the run, µs
	Drift  float64 // change of the offset in parts per million; 0 where it is inside the bounds
	Probes int     // rounds of probes; 0: the own clock stands alone
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
