package fake

import (
	"fmt"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Streams of the pipeline that this one stands for.
const (
	Messages    = "arrival:messages"
	DeadLetters = "arrival:dead-letters"
)

// Redis is a Redis with a clock of its own.
type Redis struct {
	Clock  Clock
	server *miniredis.Miniredis
}

func (r *Redis) URL() string { return "redis://" + r.server.Addr() }

func (r *Redis) start() error {
	r.server = miniredis.NewMiniRedis()
	if err := r.server.Start(); err != nil {
		return fmt.Errorf("the fake Redis can't listen: %w", err)
	}
	// miniredis has a TIME of its own, which is this host's.
	r.server.Server().SetPreHook(func(c *server.Peer, command string, _ ...string) bool {
		if !strings.EqualFold(command, "TIME") {
			return false
		}
		us := r.Clock.Micros(time.Now())
		c.WriteStrings([]string{fmt.Sprint(us / 1e6), fmt.Sprint(us % 1e6)})
		return true
	})
	return nil
}

// Stop makes it answer only errors, as a Redis that is shutting down.
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
