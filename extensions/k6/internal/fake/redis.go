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
