package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// stack is a whole real pipeline, as npm run pipeline starts it.
type stack struct {
	client *redis.Client
	parts  map[string]int // pids of what messages go through

	Ingest struct{ URL, Token string }
	Redis  struct{ URL string }
	MQTT   struct{ URL, Username, Password string }

	Processes map[string]int
}

func (b *bench) startStack(ctx context.Context, stamps bool) (*stack, error) {
	dir, err := os.MkdirTemp(b.dir, "stack-")
	if err != nil {
		return nil, err
	}
	p, err := b.start("the pipeline", []string{
		"STACK_DIR=" + dir, "INGEST_PORT=0", "REDIS_PORT=0", "MQTT_PORT=0", "REDIS_URL=", "MQTT_URL=", "DRAIN_LIMIT_MS=0",
		fmt.Sprintf("STAMPS=%t", stamps),
	}, filepath.Join(b.root, "node_modules/.bin/node"), "pipeline/stack/main.ts")
	if err != nil {
		return nil, err
	}
	s := &stack{}
	err = eventually(ctx, "a pipeline", 3*readyWithin, func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "stack.json"))
		return err == nil && json.Unmarshal(text, s) == nil
	}, p)
	if err != nil {
		return nil, err
	}
	s.parts = maps.Clone(s.Processes)
	s.client, err = b.openRedis(s.Redis.URL)
	return s, err
}

// count is how many messages have ever entered the queue.
func (s *stack) count(ctx context.Context) func() (int64, error) {
	return func() (int64, error) {
		info, err := s.client.XInfoStream(ctx, "arrival:messages").Result()
		if err != nil {
			return 0, err
		}
		if info.EntriesAdded == 0 && info.Length > 0 {
			return 0, errors.New("this Redis does not count what enters a stream: 7.0 or newer is needed")
		}
		return info.EntriesAdded, nil
	}
}

// mqttURL holds the credentials of the subscriber.
func (s *stack) mqttURL() (string, error) {
	u, err := url.Parse(s.MQTT.URL)
	if err != nil {
		return "", err
	}
	u.User = url.UserPassword(s.MQTT.Username, s.MQTT.Password)
	return u.String(), nil
}

// measuring compares the CPU of the real pipeline's processes a message. On a machine that generator and pipeline share,
// messages a second at saturation would tell how much CPU k6 leaves to it; their CPU at the same load tells what they can do.
func measuring(ctx context.Context, b *bench) (figure, error) {
	f := figure{limit: 0.97, atLeast: true}
	with, err := b.startStack(ctx, true)
	if err != nil {
		return f, err
	}
	without, err := b.startStack(ctx, false)
	if err != nil {
		return f, err
	}
	sink, err := b.startSink(ctx, without)
	if err != nil {
		return f, err
	}
	all, err := b.turns(b.rounds, "message", func() (use, error) { return b.plain(ctx, without, sink) },
		func() (use, error) { return b.measured(ctx, with) })
	if err != nil {
		return f, err
	}
	f.baseline = side{"not measured", all.median(0, use.each), "µs"}
	f.ours = side{"every message", all.median(1, use.each), "µs"}
	f.ratio = all.ratio(func(plain, measured use) float64 { return plain.each() / measured.each() })
	f.notes = append(f.notes, fmt.Sprintf("CPU a message of ingest, Redis, relay and Mosquitto at %d requests/s, medians of %d "+
		"rounds, both sides in each; ratio: of the messages that a second of it carries", b.rate, b.rounds))
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(with.parts)) {
		of := func(u use) float64 { return u.of(name) }
		parts = append(parts, fmt.Sprintf("%s %.2f → %.2f", name, all.median(0, of), all.median(1, of)))
	}
	f.notes = append(f.notes, "µs without → with: "+strings.Join(parts, ", "))
	return f, nil
}

// measuringSenders are enough to keep to the schedule while the pipeline takes its time.
const measuringSenders = 64

// load is the profile of both sides.
func (b *bench) load() string {
	seconds := (b.warmup + b.duration + time.Second).Seconds()
	return fmt.Sprintf("phases: [{name: load, duration: %g, arrivalRate: %d}]\nflows: [{name: one}]\n", seconds, b.rate)
}

// measured is the pipeline's use when k6 sends and measures every message.
func (b *bench) measured(ctx context.Context, s *stack) (use, error) {
	address, err := s.mqttURL()
	if err != nil {
		return use{}, err
	}
	p, dir, err := b.arrival(options{
		"profile": b.load(), "senders": measuringSenders, "redis": options{"url": s.Redis.URL},
		"ingest": options{"url": s.Ingest.URL, "token": s.Ingest.Token}, "mqtt": options{"url": address},
	}, true)
	if err != nil {
		return use{}, err
	}
	u, err := b.observe(ctx, s.parts, s.count(ctx), p)
	if err != nil {
		return u, err
	}
	_, err = finish(ctx, p, dir)
	return u, err
}

// plain is its use when the same requests come at the same moments, but nothing is stamped and a sink takes what arrives. The
// requests are the pump's, so that they come as evenly; its subscriber listens where nothing is sent.
func (b *bench) plain(ctx context.Context, s *stack, sink *sink) (use, error) {
	nowhere, err := b.straight(ignore)
	if err != nil {
		return use{}, err
	}
	p, _, err := b.arrival(options{
		"profile": b.load(), "senders": measuringSenders, "canary": false,
		"ingest": options{"url": s.Ingest.URL, "token": s.Ingest.Token}, "mqtt": options{"url": nowhere},
	}, true)
	if err != nil {
		return use{}, err
	}
	before := sink.taken.Load()
	u, err := b.observe(ctx, s.parts, s.count(ctx), p)
	if err != nil {
		return u, err
	}
	p.kill()
	if taken := sink.taken.Load() - before; taken < u.count {
		return u, fmt.Errorf("the sink took %d messages of at least %d", taken, u.count)
	}
	return u, nil
}
