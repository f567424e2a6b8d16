// Package clock converts this process's time to the clock of Redis.
//
// A process's own clock is its wall clock at the start plus its monotonic clock since, so it never jumps. A
// probe reads Redis TIME between two readings of the own clock, which proves an interval for the offset at that
// moment. Two clocks drift at a steady rate, so the offset is a line through all of these intervals. If the
// zero line is possible, as on one host, the offset is zero.
package clock

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Clock is the own clock of this process and its offset to the clock of Redis. Without a Redis it is only the
// own clock.
type Clock struct {
	base time.Time

	mu      sync.Mutex
	window  []Sample // the best probe of each recent round
	current Estimate
	rounds  int
	worst   float64
	step    float64  // the largest since Begin by which Redis' clock was set, µs
	final   *Reading // set by End
}

// New starts the clock. It does no I/O.
func New() *Clock { return &Clock{base: time.Now()} }

// Now is the own clock in µs since 1970.
func (c *Clock) Now() int64 { return c.At(time.Now()) }

// At returns the reading of this host's clock at t, µs.
func (c *Clock) At(t time.Time) int64 { return c.base.UnixMicro() + t.Sub(c.base).Microseconds() }

// Time is the inverse of At.
func (c *Clock) Time(at int64) time.Time {
	return c.base.Add(time.Duration(at-c.base.UnixMicro()) * time.Microsecond)
}

// own is the own clock in µs with a fraction; a float64 resolves a quarter of a µs.
func (c *Clock) own() float64 {
	return float64(c.base.UnixMicro()) + float64(time.Since(c.base).Nanoseconds())/1000
}

// Offset is the offset of the clock of Redis (Redis − own) at a time of the own clock, in µs.
func (c *Clock) Offset(at int64) int64 {
	e := c.estimate()
	return int64(math.Round(e.Used(float64(at))))
}

// Back returns a function from a time of Redis to the offset own − Redis at that time, in µs, by the current
// estimate. Messages that have waited were stamped earlier, when a drifting clock had another offset.
func (c *Clock) Back() func(at int64) int64 {
	e := c.estimate()
	return func(at int64) int64 {
		t := float64(at)
		return -int64(math.Round(e.Used(t - e.Used(t))))
	}
}

// Bound is how far times of Redis may be off on the own clock, in µs. It is 0 where both clocks may be the same.
func (c *Clock) Bound() int64 {
	e, now := c.estimate(), c.own()
	if e.Used(now) == 0 {
		return 0
	}
	return int64(math.Ceil(e.Bound(now)))
}

func (c *Clock) estimate() Estimate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current // before the first probe its offset and drift are zero
}

const (
	period = 100 * time.Millisecond
	// asked is how many probes a round makes: enough that other work delays not all of them.
	asked = 8
	kept  = 64 // rounds
	// fresh is how many of the newest rounds are kept whatever their round trip.
	fresh = 8
)

// Probe takes a round of samples from Redis and replaces the estimate.
func (c *Clock) Probe(ctx context.Context, client *redis.Client) error {
	var best Sample
	for i := range asked {
		t0 := c.own()
		t, err := client.Time(ctx).Result()
		t1 := c.own()
		if err != nil {
			return fmt.Errorf("redis TIME: %w", err)
		}
		if i == 0 || t1-t0 < best.T1-best.T0 {
			best = Sample{t0, float64(t.UnixMicro()), t1}
		}
	}
	c.add(best, c.own())
	return nil
}

// Keep probes until ctx ends.
func (c *Clock) Keep(ctx context.Context, client *redis.Client) {
	rounds := time.NewTicker(period)
	defer rounds.Stop()
	for {
		select {
		case <-rounds.C:
			_ = c.Probe(ctx, client) // a failed probe keeps the estimate; its bound grows
		case <-ctx.Done():
			return
		}
	}
}

func (c *Clock) add(s Sample, at float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rounds > 0 { // the estimate so far was in use until now
		c.worst = math.Max(c.worst, c.current.Bound(at))
	}
	c.window = append(c.window, s)
	if len(c.window) > kept {
		c.window = forget(c.window)
	}
	before := c.current
	c.current = Of(c.window, at)
	if c.current.Kept < len(c.window) { // a clock was set while the estimate was in use
		t, low, high := s.between()
		c.worst = max(c.worst, high-before.Used(t), before.Used(t)-low)
		if moved := (low+high)/2 - before.Used(t); math.Abs(moved) > math.Abs(c.step) {
			c.step = moved
		}
	}
	c.window = c.window[len(c.window)-c.current.Kept:]
	c.rounds++
}

// forget drops the sample with the longest round trip, except the newest ones. Old samples with short round
// trips stay, and give the drift a long base.
func forget(window []Sample) []Sample {
	worst := 0
	for i, s := range window[:len(window)-fresh] {
		if s.T1-s.T0 > window[worst].T1-window[worst].T0 {
			worst = i
		}
	}
	return append(window[:worst], window[worst+1:]...)
}

// Begin resets the widest bound, so that it covers only the run.
func (c *Clock) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.worst, c.step = 0, 0
}

// Reading is the clock's part of the report.
type Reading struct {
	Offset float64 // applied, µs
	Bound  float64 // the widest since Begin, µs
	Drift  float64 // parts per million; 0 where none is proven
	Rounds int     // rounds of probes; 0: there is no other clock
	Step   float64 // the largest by which Redis' clock was set since Begin, or its rate changed, µs; 0: it was not
}

// End makes the reading final: what is judged is what is reported.
func (c *Clock) End() {
	r := c.Read()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.final = &r
}

// Read returns the state of the clock: as it is now, and after End as it was then.
func (c *Clock) Read() Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.final != nil {
		return *c.final
	}
	if c.rounds == 0 {
		return Reading{}
	}
	now := c.own() // the estimate is in use until now, however long ago Redis was heard of
	return Reading{
		Offset: c.current.Used(now), Bound: math.Max(c.worst, c.current.Bound(now)),
		Drift: c.current.drift() * 1e6, Rounds: c.rounds, Step: c.step,
	}
}

// Sample is one probe: sent at T0 and answered at T1 of the own clock; Redis returned Server. All in µs since
// 1970.
type Sample struct{ T0, Server, T1 float64 }

// between returns the moment of the probe and the interval of the offset: Redis read its clock between T0 and
// T1. TIME truncates to µs, half of one on average.
func (s Sample) between() (at, low, high float64) {
	const truncation = 0.5
	at = (s.T0 + s.T1) / 2
	half := (s.T1-s.T0)/2 + truncation
	return at, s.Server - at - half, s.Server - at + half
}

// steepest is the largest drift that is assumed before samples prove better: Ethernet allows clocks ±100 ppm.
const steepest = 100e-6

// Estimate is what samples prove about the offset (reference − own clock, µs) at time At and about the drift
// (µs per µs).
type Estimate struct {
	At               float64
	Low, High        float64 // bounds of the offset at At
	Slowest, Fastest float64 // bounds of the drift
	Kept             int     // how many of the newest samples one steady drift explains; older ones are dropped
}

// Of returns the estimate at a moment after the samples, which are oldest first. It panics without a sample.
// pipeline/shared/clock.ts is the same; both are tested against reports/contract/clock.vectors.json.
func Of(samples []Sample, at float64) Estimate {
	e := Estimate{At: at, Slowest: -steepest, Fastest: steepest}
	for e.Kept < len(samples) {
		from := len(samples) - e.Kept - 1
		t, low, high := samples[from].between()
		slowest, fastest := e.Slowest, e.Fastest
		for _, s := range samples[from+1:] {
			later, floor, ceiling := s.between()
			slowest = math.Max(slowest, (floor-high)/(later-t))
			fastest = math.Min(fastest, (ceiling-low)/(later-t))
		}
		if slowest > fastest { // a clock was set, or its rate changed: older samples no longer apply
			break
		}
		e.Slowest, e.Fastest = slowest, fastest
		e.Kept++
	}
	e.Low, e.High = math.Inf(-1), math.Inf(1)
	for _, s := range samples[len(samples)-e.Kept:] {
		t, low, high := s.between()
		e.Low = math.Max(e.Low, low+e.Slowest*(at-t))
		e.High = math.Min(e.High, high+e.Fastest*(at-t))
	}
	return e
}

// drift is the drift to apply: zero unless it is proven.
func (e Estimate) drift() float64 {
	if e.Slowest <= 0 && e.Fastest >= 0 {
		return 0
	}
	return (e.Slowest + e.Fastest) / 2
}

// Used is the offset to apply at t: zero where zero is possible and no drift is proven.
func (e Estimate) Used(t float64) float64 {
	drift := e.drift()
	if drift == 0 && e.Low <= 0 && e.High >= 0 {
		return 0
	}
	return (e.Low+e.High)/2 + drift*(t-e.At)
}

// Bound is the largest possible error of the offset applied at t.
func (e Estimate) Bound(t float64) float64 {
	used := e.Used(t)
	return math.Max(e.High+e.Fastest*(t-e.At)-used, used-e.Low-e.Slowest*(t-e.At))
}
