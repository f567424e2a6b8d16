package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// busy is how many requests in flight saturate a server.
const busy = 50

// ingesting compares the ingest with a route of the same framework that answers 202 and does nothing.
func ingesting(b *bench) []figure {
	redis := b.startRedis("yes")
	client := b.openRedis(redis.redis())
	empty := b.startEmpty()
	ours := b.serve("the ingest", func(port string) *process {
		return b.node("the ingest", "pipeline/ingest/server.ts", "INGEST_PORT="+port, "REDIS_URL="+redis.redis(), "PROCESS_NAME=ingest-1",
			"LOG_LEVEL=warn", "INGEST_TOKEN="+token, "INGEST_HOST=127.0.0.1", "BACKLOG_LIMIT=1000000000")
	})
	all := b.alternate(senderRounds, "request", func() use { return b.emptyRoute(empty) }, func() use {
		must.Do(client.FlushAll(b.ctx).Err())
		return b.posting(ours, map[string]int{"server": ours.pid, "redis": redis.pid}, func() (int64, error) {
			return client.Get(b.ctx, depthKey).Int64()
		})
	})
	f := figure{
		limit: 0.85, atLeast: true,
		baseline: side{"a route that does nothing", all.median(0, use.rate), "/s"}, ours: side{"the ingest", all.median(1, use.rate), "/s"},
		ratio: all.ratio(func(empty, ours use) float64 { return ours.rate() / empty.rate() }),
	}
	f.note("requests per second that are in Redis, wrk with %d connections; CPU of the server %.1f and %.1f µs a request",
		busy, all.median(0, part("server")), all.median(1, part("server")))
	onRedis := atMost(redisLimit, "Redis", all.median(1, part("redis")), "µs")
	onRedis.row = "Redis"
	onRedis.note("CPU a message, append-only file included, at concurrency %d", busy)
	return []figure{f, onRedis}
}

const (
	redisLimit    = 3.0  // µs a message
	pipelineLimit = 45.0 // µs a message, all processes
)

// startEmpty starts a Fastify route that answers 202 and does nothing.
func (b *bench) startEmpty() *server {
	return b.serve("the empty route", func(port string) *process {
		return b.node("the empty route", "extensions/k6/cmd/bench/scripts/empty.mjs", "PORT="+port)
	})
}

// emptyRoute measures that route. It counts its requests itself.
func (b *bench) emptyRoute(empty *server) use {
	return b.posting(empty, map[string]int{"server": empty.pid}, func() (int64, error) { return b.fetchCount(empty.http()) })
}

// posting measures processes while wrk posts as fast as it can.
func (b *bench) posting(to *server, pids map[string]int, count counter) use {
	p := b.wrk(token, to.http()+"/messages", body, busy)
	defer p.kill()
	return b.observe(pids, count, p, to.process)
}

// pipeline sums the CPU of the whole pipeline at saturation.
func pipeline(b *bench) []figure {
	// No backlog limit: batches come faster than the relay takes them, and the ingest would spend its CPU on refusals.
	s := b.startStack("BACKLOG_LIMIT=1000000000")
	sink := b.startSink(s.mqttURL(), 1)
	figureOf := func(u use) figure { return atMost(pipelineLimit, "all processes", u.perItem(), "µs") }
	of := func(u use) string {
		return parts(s.Processes, func(name string) string { return fmt.Sprintf("%.1f", u.of(name)) })
	}
	singly := b.saturate(s, sink, "a message", busy, "/messages", body)
	batches := b.saturate(s, sink, "a batch", busy/inBatch, "/messages/batch", "["+strings.Repeat(body+",", inBatch-1)+body+"]")
	nothing := b.emptyRoute(b.startEmpty())
	one, many := figureOf(singly), figureOf(batches)
	one.note("CPU a message at QoS 1, every message measured, at %.0f messages/s, wrk with %d connections; µs: %s; %s",
		singly.rate(), busy, of(singly), singly.host)
	one.note("a Fastify route that does nothing takes %.1f µs of CPU a request already, most of it Node's HTTP and the kernel's "+
		"sockets, and so does the ingest", nothing.perItem())
	many.row = fmt.Sprintf("batches of %d", inBatch)
	many.note("the same with as many messages under way in fewer requests, at %.0f messages/s; µs: %s; %s",
		batches.rate(), of(batches), batches.host)
	return []figure{one, many}
}

const inBatch = 10

// saturate measures a pipeline while wrk posts a body to a path as fast as it can.
func (b *bench) saturate(s *stack, sink *sink, what string, connections int, path, body string) use {
	p := b.wrk(s.Ingest.Token, s.Ingest.URL+path, body, connections)
	defer p.kill()
	var accepted []int64 // at each count of the arrived messages
	u := b.observe(s.Processes, func() (int64, error) {
		n, err := s.count()
		accepted = append(accepted, n)
		return sink.taken.Load(), err
	}, p)
	if refused := must.Get(s.metric("arrival_ingest_requests_unavailable_total")); refused > 0 {
		must.Fail("the ingest has refused %d requests, and their CPU would count as that of messages", refused)
	}
	// The last two counts begin and end the measurement. While the backlog grows or shrinks, the ingest takes more or
	// fewer messages than arrive. So each process's CPU is scaled from the messages that it handled to one number.
	taken, arrived := accepted[len(accepted)-1]-accepted[len(accepted)-2], u.count
	u.count = min(taken, arrived)
	for name, cpu := range u.cpu {
		carried := arrived
		if strings.HasPrefix(name, "ingest") {
			carried = taken
		}
		u.cpu[name] = time.Duration(float64(cpu) * float64(u.count) / float64(carried))
	}
	b.say("%s a request: %.1f µs CPU a message, %.0f/s accepted and %.0f/s arrived, load average %s",
		what, u.perItem(), float64(taken)/u.seconds, float64(arrived)/u.seconds, loadAverage())
	return u
}
