package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

const (
	relayRounds = 2
	// wakeBytes is how many bytes wake the subscriber: about 130 messages. Woken for each message, it would take half
	// a core, which relay and Redis need to keep the broker busy.
	wakeBytes = 32 << 10
)

// relayMode is a relay's configuration. Its queue starts with more messages than it relays at most per second.
type relayMode struct {
	queue, mode string
	most        int // messages per second
}

var (
	serial    = relayMode{"list", "serial", 40_000}
	pipelined = relayMode{"stream", "pipelined", 140_000}
)

// relay compares the relay with the loop that most people write: take one message, publish it, wait, take the next.
// The broker has its own core: the kernel would wake the subscriber on the broker's core, even while others are idle.
func relay(b *bench) []figure {
	broker := b.startMosquitto()
	b.closers = append(b.closers, must.Get(reserve(broker.pid)))
	redis := b.startRedis("no")
	client := b.openRedis(redis.redis())
	sink := b.startSink(broker.mqtt(), wakeBytes)
	measure := func(mode relayMode, qos int) func() use {
		return func() use {
			b.fill(client, mode)
			p := b.node("the relay", "pipeline/relay/main.ts", "REDIS_URL="+redis.redis(), "MQTT_URL="+broker.mqtt(), "PROCESS_NAME=relay-1",
				"LOG_LEVEL=warn", "QUEUE="+mode.queue, "RELAY_MODE="+mode.mode, fmt.Sprint("MQTT_QOS=", qos))
			defer p.kill()
			u := b.observe(map[string]int{"relay": p.pid, "broker": broker.pid, "redis": redis.pid, "subscriber": os.Getpid()}, counting(&sink.taken), p)
			if b.left(client, mode) == 0 {
				must.Fail("the queue ran empty: this machine relays more than %d messages/s; a shorter --duration helps", mode.most)
			}
			return u
		}
	}
	once := b.alternate(relayRounds, "message", measure(serial, 0), measure(pipelined, 0))
	safe := b.alternate(relayRounds, "message", measure(serial, 1), measure(pipelined, 1))

	of := part("relay")
	atMostOnce := figure{
		row: "QoS 0", limit: 1.0 / 4,
		baseline: side{"one at a time (list, BRPOP)", once.median(0, of), "µs"}, ours: side{"pipelined (stream, hops)", once.median(1, of), "µs"},
		ratio: once.ratio(func(serial, ours use) float64 { return of(ours) / of(serial) }),
	}
	atMostOnce.note("CPU a message of the relay alone, with what it reads, stamps, publishes and acknowledges; %.0f and %.0f messages/s",
		once.median(0, use.rate), once.median(1, use.rate))
	atMostOnce.note("Redis takes %.2f and %.2f µs a message, the broker %.2f and %.2f", once.median(0, part("redis")),
		once.median(1, part("redis")), once.median(0, part("broker")), once.median(1, part("broker")))

	share := func(name string) float64 { return once.median(1, percent(name)) }
	core := figure{
		row: "broker", limit: 0.95, atLeast: true,
		baseline: side{"a core", 100, "%"}, ours: side{"of Mosquitto, QoS 0", share("broker"), "%"}, ratio: share("broker") / 100,
	}
	// beside is the CPU time of relay and Redis per CPU second of the broker.
	beside := func(u use) float64 { return (u.of("relay") + u.of("redis")) / u.of("broker") }
	core.note("%.0f messages/s, one subscriber; at 95 %% it is the broker that limits the rate, which has one thread and a core of its own; relay, "+
		"Redis and subscriber share the others, and beside a core of the broker relay and Redis would take %.1f",
		once.median(1, use.rate), once.median(1, beside))
	core.note("meanwhile the relay had %.0f %% of a core, Redis %.0f %% and the subscriber %.0f %%, which is woken by %d KiB, "+
		"not by each message; %s", share("relay"), share("redis"), share("subscriber"), wakeBytes>>10, once[len(once)-1][1].host)

	atLeastOnce := figure{
		row: "QoS 1", limit: 3, atLeast: true,
		baseline: side{"one at a time", safe.median(0, use.rate), "/s"}, ours: side{"pipelined", safe.median(1, use.rate), "/s"},
		ratio: safe.ratio(func(serial, ours use) float64 { return ours.rate() / serial.rate() }),
	}
	atLeastOnce.note("messages per second to PUBACK; CPU of the relay %.1f and %.1f µs a message", safe.median(0, of), safe.median(1, of))
	return []figure{atMostOnce, core, atLeastOnce}
}

const (
	streamKey = "arrival:messages"
	depthKey  = "arrival:depth"
	listKey   = "arrival:list"
	// inEntry is how many messages an entry of the stream has, as a busy ingest writes it.
	inEntry = 10
)

// fill makes a new queue with as many messages as can be relayed until the measurement ends.
func (b *bench) fill(client *redis.Client, mode relayMode) {
	must.Do(client.FlushAll(b.ctx).Err())
	many := int(float64(mode.most) * b.runSeconds())
	for n := 0; n < many; {
		pipe := client.Pipeline()
		for range 100 {
			frames := make([]string, inEntry)
			for i := range frames {
				target := fmt.Sprintf("user/%d", n%100)
				frames[i] = fmt.Sprintf("%s\n%d,35\n%s", target, time.Now().UnixMicro(), message(n, []byte(target), time.Now()))
				n++
			}
			if mode.queue == "list" {
				pipe.LPush(b.ctx, listKey, frames)
				continue
			}
			// \x1e joins the frames of an entry (pipeline/queue/frame.ts).
			pipe.XAdd(b.ctx, &redis.XAddArgs{Stream: streamKey, Values: []any{"frame", strings.Join(frames, "\x1e")}})
			pipe.IncrBy(b.ctx, depthKey, inEntry)
		}
		_, err := pipe.Exec(b.ctx)
		must.Do(err)
	}
}

func (b *bench) left(client *redis.Client, mode relayMode) int64 {
	if mode.queue == "list" {
		return client.LLen(b.ctx, listKey).Val()
	}
	return client.XLen(b.ctx, streamKey).Val() * inEntry
}

// reserve gives a process its own core. The bench and what it starts afterwards run on the others until release.
func reserve(pid int) (release func(), err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	_, all, _ := strings.Cut(string(status), "Cpus_allowed_list:\t") // like 0-3,6
	all, _, _ = strings.Cut(all, "\n")
	at := strings.IndexAny(all, "-,")
	if at < 0 {
		return nil, errors.New("the broker is given a core of its own, and this machine has no second one")
	}
	others := all[at+1:]
	if first, _ := strconv.Atoi(all[:at]); all[at] == '-' {
		others = fmt.Sprintf("%d-%s", first+1, others)
	}
	confine := func(how, cores string, pid int) error {
		out, err := exec.Command("taskset", how, cores, strconv.Itoa(pid)).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("taskset: %w: %s", err, out)
		}
		return err
	}
	release = func() { _ = confine("-acp", all, os.Getpid()) }
	// The bench's threads twice: a new one may start during the first pass.
	if err := cmp.Or(confine("-cp", all[:at], pid), confine("-acp", others, os.Getpid()), confine("-acp", others, os.Getpid())); err != nil {
		release()
		return nil, err
	}
	return release, nil
}
