package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// relayRounds are those of each quality of service.
	relayRounds = 2
	// subscriberWakes is how many bytes wake the subscriber, some 130 messages: woken for each of them it would take half a core, which relay
	// and Redis need to keep the broker busy.
	subscriberWakes = 32 << 10
)

// way is how a relay works. It begins with a queue that it can't empty while it is measured, if it relays no more than most.
type way struct {
	queue, mode string
	most        int // messages per second
}

var (
	serial    = way{"list", "serial", 40_000}
	pipelined = way{"stream", "pipelined", 140_000}
)

// relay compares the relay with the loop that most people write: take one message, publish it, wait, take the next one. The broker has a
// core of its own: the kernel wakes a subscriber on the core of the broker that sends to it, in its place, while others are idle.
func relay(ctx context.Context, b *bench) ([]figure, error) {
	address, err := b.startMosquitto(ctx)
	if err != nil {
		return nil, err
	}
	broker := b.children[len(b.children)-1].pid
	release, err := reserve(broker)
	if err != nil {
		return nil, err
	}
	b.closers = append(b.closers, release)
	url, redisPID, err := b.startRedisWith(ctx, "no")
	if err != nil {
		return nil, err
	}
	client, err := b.openRedis(url)
	if err != nil {
		return nil, err
	}
	sink, err := b.startSink(ctx, "mqtt://"+address, subscriberWakes)
	if err != nil {
		return nil, err
	}
	measure := func(w way, qos int) func() (use, error) {
		return func() (use, error) {
			if err := b.fill(ctx, client, w); err != nil {
				return use{}, err
			}
			p, err := b.start("the relay", []string{
				"REDIS_URL=" + url, "MQTT_URL=mqtt://" + address, "PROCESS_NAME=relay-1", "LOG_LEVEL=warn",
				"QUEUE=" + w.queue, "RELAY_MODE=" + w.mode, fmt.Sprintf("MQTT_QOS=%d", qos),
			}, filepath.Join(b.root, "node_modules/.bin/node"), "pipeline/relay/main.ts")
			if err != nil {
				return use{}, err
			}
			defer p.kill()
			parts := map[string]int{"relay": p.pid, "broker": broker, "redis": redisPID, "subscriber": os.Getpid()}
			u, err := b.observe(ctx, parts, sink.count, p)
			if err == nil && left(ctx, client, w) == 0 {
				err = fmt.Errorf("the queue ran empty: this machine relays more than %d messages/s; a shorter --duration helps", w.most)
			}
			return u, err
		}
	}
	once, err := b.turns(relayRounds, "message", measure(serial, 0), measure(pipelined, 0))
	if err != nil {
		return nil, err
	}
	safe, err := b.turns(relayRounds, "message", measure(serial, 1), measure(pipelined, 1))
	if err != nil {
		return nil, err
	}
	of := func(u use) float64 { return u.of("relay") }
	share := func(u use) float64 { return 100 * u.share("broker") }
	part := func(name string) float64 { return once.median(1, func(u use) float64 { return 100 * u.share(name) }) }
	// What keeps the broker busy for a second takes so many seconds of the others.
	beside := func(u use) float64 { return (u.of("relay") + u.of("redis")) / u.of("broker") }
	return []figure{{
		row: "QoS 0", limit: 1.0 / 4,
		baseline: side{"one at a time (list, BRPOP)", once.median(0, of), "µs"}, ours: side{"pipelined (stream, hops)", once.median(1, of), "µs"},
		ratio: once.ratio(func(serial, ours use) float64 { return of(ours) / of(serial) }),
		notes: []string{
			fmt.Sprintf("CPU a message of the relay alone, with what it reads, stamps, publishes and acknowledges; %.0f and %.0f messages/s",
				once.median(0, use.rate), once.median(1, use.rate)),
			fmt.Sprintf("Redis takes %.2f and %.2f µs a message, the broker %.2f and %.2f", once.median(0, func(u use) float64 { return u.of("redis") }),
				once.median(1, func(u use) float64 { return u.of("redis") }), once.median(0, func(u use) float64 { return u.of("broker") }),
				once.median(1, func(u use) float64 { return u.of("broker") })),
		},
	}, {
		row: "broker", limit: 0.95, atLeast: true,
		baseline: side{"a core", 100, "%"}, ours: side{"of Mosquitto, QoS 0", once.median(1, share), "%"}, ratio: once.median(1, share) / 100,
		notes: []string{
			fmt.Sprintf("%.0f messages/s, one subscriber; at 95 %% it is the broker that limits the rate, which has one thread and a core of its own; relay, "+
				"Redis and subscriber share the others, and beside a core of the broker relay and Redis would take %.1f",
				once.median(1, use.rate), once.median(1, beside)),
			fmt.Sprintf("meanwhile the relay had %.0f %% of a core, Redis %.0f %% and the subscriber %.0f %%, which is woken by %d KiB, "+
				"not by each message; %s", part("relay"), part("redis"), part("subscriber"), subscriberWakes>>10, once[len(once)-1][1].host),
		},
	}, {
		row: "QoS 1", limit: 3, atLeast: true,
		baseline: side{"one at a time", safe.median(0, use.rate), "/s"}, ours: side{"pipelined", safe.median(1, use.rate), "/s"},
		ratio: safe.ratio(func(serial, ours use) float64 { return ours.rate() / serial.rate() }),
		notes: []string{fmt.Sprintf("messages per second to PUBACK; CPU of the relay %.1f and %.1f µs a message", safe.median(0, of), safe.median(1, of))},
	}}, nil
}

const (
	streamKey = "arrival:messages"
	depthKey  = "arrival:depth"
	listKey   = "arrival:list"
	// inEntry is how many messages an entry of the stream has: those that an ingest writes together when it is busy.
	inEntry = 10
)

// fill makes a new queue with as many messages as can be relayed until the measurement is over.
func (b *bench) fill(ctx context.Context, client *redis.Client, w way) error {
	if err := client.FlushAll(ctx).Err(); err != nil {
		return err
	}
	many := int(float64(w.most) * (b.warmup + b.duration + time.Second).Seconds())
	for n := 0; n < many; {
		pipe := client.Pipeline()
		for range 100 {
			frames := make([]any, inEntry)
			for i := range frames {
				target := fmt.Appendf(nil, "user/%d", n%100)
				frames[i] = fmt.Sprintf("%s\n%d,35\n%s", target, time.Now().UnixMicro(), message(n, target, time.Now()))
				n++
			}
			if w.queue == "list" {
				pipe.LPush(ctx, listKey, frames...)
			} else {
				pipe.XAdd(ctx, &redis.XAddArgs{Stream: streamKey, Values: []any{"frame", packed(frames)}})
				pipe.IncrBy(ctx, depthKey, inEntry)
			}
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}

// packed are frames as an entry has them (pipeline/queue/frame.ts).
func packed(frames []any) string {
	var b strings.Builder
	for i, frame := range frames {
		if i > 0 {
			b.WriteByte(0x1e)
		}
		fmt.Fprint(&b, frame)
	}
	return b.String()
}

// left is how many messages are in the queue.
func left(ctx context.Context, client *redis.Client, w way) int64 {
	if w.queue == "list" {
		return client.LLen(ctx, listKey).Val()
	}
	return client.XLen(ctx, streamKey).Val() * inEntry
}
