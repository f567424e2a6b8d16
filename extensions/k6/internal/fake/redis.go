package fake

import (
	"fmt"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Streams of the real pipeline.
const (
	Messages    = "arrival:messages"
	DeadLetters = "arrival:dead-letters"
)

// Redis is a Redis with its own clock.
type Redis struct {
	Clock  Clock
	Return time.Duration // how long an answer to TIME is under way: the clock was read that long before
	server *miniredis.Miniredis
}

func (r *Redis) URL() string { return "redis://" + r.server.Addr() }

func (r *Redis) start() error {
	r.server = miniredis.NewMiniRedis()
	if err := r.server.Start(); err != nil {
		return fmt.Errorf("the fake Redis can't listen: %w", err)
	}
	// miniredis' own TIME is this host's.
	r.server.Server().SetPreHook(func(c *server.Peer, command string, _ ...string) bool {
		if !strings.EqualFold(command, "TIME") {
			return false
		}
		us := r.Clock.Micros(time.Now())
		time.Sleep(r.Return)
		c.WriteStrings([]string{fmt.Sprint(us / 1e6), fmt.Sprint(us % 1e6)})
		return true
	})
	return nil
}

// Stop makes it answer with errors, as a Redis that shuts down.
func (r *Redis) Stop() { r.server.SetError("LOADING it is away") }

func (r *Redis) close() { r.server.Close() }

// add appends a message to a stream as pipeline/queue/stream.ts does, in a frame without stamps.
func (r *Redis) add(stream, body, target string) error {
	_, err := r.server.XAdd(stream, "*", []string{"frame", target + "\n\n" + body})
	if err != nil {
		return fmt.Errorf("the fake Redis can't keep a message: %w", err)
	}
	return nil
}

// Clock is a clock with a configured error: Ahead of this host's clock, and faster by PPM since Since.
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

// StageDelays are the lengths of the stages, from the socket of the ingest to the socket of the broker. A request is
// accepted at the start of Request; Total is the Delay of the pipeline.
type StageDelays struct{ Request, Ingest, Queue, Relay, Delivery time.Duration }

func (d StageDelays) Total() time.Duration {
	return d.Request + d.Ingest + d.Queue + d.Relay + d.Delivery
}

// Stamps makes stamps like pipeline/shared/hops.ts, for messages with these delays, by a clock.
func (d StageDelays) Stamps(c Clock) func(at time.Time) string {
	return func(at time.Time) string {
		return fmt.Sprintf("%d,%d,%d,%d", c.Micros(at.Add(d.Request)),
			d.Ingest.Microseconds(), d.Queue.Microseconds(), d.Relay.Microseconds())
	}
}
