package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// busy is how many requests are under way at a time where a server is to be saturated.
const busy = 50

// ingesting compares the ingest with a route of the same framework that answers 202 and does nothing.
func ingesting(ctx context.Context, b *bench) ([]figure, error) {
	url, redisPID, err := b.startRedisWith(ctx, "yes")
	if err != nil {
		return nil, err
	}
	client, err := b.openRedis(url)
	if err != nil {
		return nil, err
	}
	empty, err := b.startEmpty(ctx)
	if err != nil {
		return nil, err
	}
	ours, err := b.serve(ctx, "the ingest", "INGEST_PORT", []string{
		"REDIS_URL=" + url, "PROCESS_NAME=ingest-1", "LOG_LEVEL=warn", "INGEST_TOKEN=" + token, "INGEST_HOST=127.0.0.1", "BACKLOG_LIMIT=1000000000",
	}, b.node(), "pipeline/ingest/server.ts")
	if err != nil {
		return nil, err
	}
	all, err := b.turns(senderRounds, "request", func() (use, error) {
		return b.posting(ctx, empty, map[string]int{"server": empty.pid}, func() (int64, error) { return counted(ctx, empty.url) })
	}, func() (use, error) {
		if err := client.FlushAll(ctx).Err(); err != nil {
			return use{}, err
		}
		return b.posting(ctx, ours, map[string]int{"server": ours.pid, "redis": redisPID}, func() (int64, error) {
			return client.Get(ctx, depthKey).Int64()
		})
	})
	if err != nil {
		return nil, err
	}
	server := func(u use) float64 { return u.of("server") }
	onRedis := all.median(1, func(u use) float64 { return u.of("redis") })
	return []figure{{
		limit: 0.85, atLeast: true,
		baseline: side{"a route that does nothing", all.median(0, use.rate), "/s"}, ours: side{"the ingest", all.median(1, use.rate), "/s"},
		ratio: all.ratio(func(empty, ours use) float64 { return ours.rate() / empty.rate() }),
		notes: []string{fmt.Sprintf("requests per second that are in Redis, wrk with %d connections; CPU of the server %.1f and %.1f µs a request",
			busy, all.median(0, server), all.median(1, server))},
	}, {
		row: "Redis", limit: 1, baseline: side{"allowed", redisLimit, "µs"}, ours: side{"Redis", onRedis, "µs"}, ratio: onRedis / redisLimit,
		notes: []string{fmt.Sprintf("CPU a message, append-only file included, at concurrency %d", busy)},
	}}, nil
}

const (
	redisLimit    = 3.0  // µs a message
	pipelineLimit = 45.0 // µs a message, all processes
)

// server is one that wrk posts to.
type server struct {
	*process
	url string
}

func (b *bench) node() string { return filepath.Join(b.root, "node_modules/.bin/node") }

// startEmpty starts a Fastify route that answers 202 and does nothing.
func (b *bench) startEmpty(ctx context.Context) (*server, error) {
	return b.serve(ctx, "the empty route", "PORT", nil, b.node(), "extensions/k6/cmd/bench/scripts/empty.mjs")
}

// serve starts a server on a free port, which it is told in an environment variable.
func (b *bench) serve(ctx context.Context, name, variable string, env []string, program string, args ...string) (*server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	p, err := b.start(name, append(env, variable+"="+port), program, args...)
	if err != nil {
		return nil, err
	}
	return &server{p, "http://" + address}, eventually(ctx, name, readyWithin, func() bool { return answers(address) }, p)
}

// posting measures processes while wrk posts as fast as it can.
func (b *bench) posting(ctx context.Context, to *server, pids map[string]int, count func() (int64, error)) (use, error) {
	p, err := b.wrk(to.url, busy)
	if err != nil {
		return use{}, err
	}
	defer p.kill()
	return b.observe(ctx, pids, count, p, to.process)
}

// counted asks the empty route how often it was asked.
func counted(ctx context.Context, url string) (int64, error) {
	answer, err := get(ctx, url+"/count")
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	var told struct{ Count int64 }
	err = json.NewDecoder(answer.Body).Decode(&told)
	return told.Count, err
}

// pipeline adds up the CPU of the whole pipeline while it carries as much as it can.
func pipeline(ctx context.Context, b *bench) ([]figure, error) {
	// Batches come faster than they are carried: at the limit most of the ingest's CPU would go into refusing them.
	s, err := b.startStack(ctx, "BACKLOG_LIMIT=1000000000")
	if err != nil {
		return nil, err
	}
	address, err := s.mqttURL()
	if err != nil {
		return nil, err
	}
	sink, err := b.startSink(ctx, address, 1)
	if err != nil {
		return nil, err
	}
	singly, err := b.carrying(ctx, s, sink, "a message", busy, "/messages", body)
	if err != nil {
		return nil, err
	}
	batch := "[" + strings.Repeat(body+",", inBatch-1) + body + "]"
	batches, err := b.carrying(ctx, s, sink, "a batch", busy/inBatch, "/messages/batch", batch)
	if err != nil {
		return nil, err
	}
	empty, err := b.startEmpty(ctx)
	if err != nil {
		return nil, err
	}
	nothing, err := b.posting(ctx, empty, map[string]int{"server": empty.pid}, func() (int64, error) { return counted(ctx, empty.url) })
	if err != nil {
		return nil, err
	}
	parts := func(u use) string {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(s.parts)) {
			parts = append(parts, fmt.Sprintf("%s %.1f", name, u.of(name)))
		}
		return strings.Join(parts, ", ")
	}
	allowed := side{"allowed", pipelineLimit, "µs"}
	return []figure{{
		limit: 1, baseline: allowed, ours: side{"all processes", singly.each(), "µs"}, ratio: singly.each() / pipelineLimit,
		notes: []string{
			fmt.Sprintf("CPU a message at QoS 1, every message measured, at %.0f messages/s, wrk with %d connections; µs: %s; %s",
				singly.rate(), busy, parts(singly), singly.host),
			fmt.Sprintf("a Fastify route that does nothing takes %.1f µs of CPU a request already, most of it Node's HTTP and the kernel's "+
				"sockets, and so does the ingest", nothing.each()),
		},
	}, {
		row:   fmt.Sprintf("batches of %d", inBatch),
		limit: 1, baseline: allowed, ours: side{"all processes", batches.each(), "µs"}, ratio: batches.each() / pipelineLimit,
		notes: []string{fmt.Sprintf("the same with as many messages under way in fewer requests, at %.0f messages/s; µs: %s; %s",
			batches.rate(), parts(batches), batches.host)},
	}}, nil
}

// inBatch is how many messages a batch has.
const inBatch = 10

// carrying measures a pipeline while wrk posts a body to a path as fast as it can.
func (b *bench) carrying(ctx context.Context, s *stack, sink *sink, what string, connections int, path, body string) (use, error) {
	p, err := b.wrkAs(s.Ingest.Token, s.Ingest.URL+path, body, connections)
	if err != nil {
		return use{}, err
	}
	defer p.kill()
	var accepted []int64 // at each look at what has arrived
	u, err := b.observe(ctx, s.parts, func() (int64, error) {
		n, err := s.count(ctx)()
		accepted = append(accepted, n)
		return sink.taken.Load(), err
	}, p)
	if err != nil {
		return u, err
	}
	refused, err := s.metric(ctx, "arrival_ingest_requests_unavailable_total")
	if err != nil {
		return u, err
	}
	if refused > 0 {
		return u, fmt.Errorf("the ingest has refused %d requests, and their CPU would count as that of messages", refused)
	}
	// The last two looks are those that the measurement begins and ends with. The ingest may take more than arrives, or less while a
	// backlog shrinks: each process's CPU is for the messages that it carried, and is brought to one number of them.
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
		what, u.each(), float64(taken)/u.seconds, float64(arrived)/u.seconds, loadAverage())
	return u, nil
}
