package main

import (
	"fmt"
	"maps"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// measuring compares the CPU of the real pipeline's processes a message. On a machine that generator and pipeline share,
// messages a second at saturation would tell how much CPU k6 leaves to it; their CPU at the same load tells what they can do.
// Neither side's k6 is in real time: it would come in between at each message, which is no cost of measuring where it has its own host.
func measuring(b *bench) []figure {
	with, without := b.startStack(), b.startStack("STAMPS=false")
	sink := b.startSink(without.mqttURL(), 1)
	all := b.turns(b.rounds, "message", func() use { return b.plain(without, sink) }, func() use {
		u := b.measured(with)
		delete(u.cpu, "k6")
		return u
	})
	f := all.costs(0.97, "not measured", "every message")
	f.atLeast = true
	carried := func(plain, measured use) float64 { return plain.each() / measured.each() }
	ratio, low, high, sure := all.estimate(carried)
	f.ratio = ratio
	f.note("the ratio is between %.3f and %.3f (%.1f %%, Hodges-Lehmann over %d rounds); %s", low, high, sure,
		b.rounds, decided(low, high, f.limit))
	f.note("CPU a message of ingest, Redis, relay and Mosquitto at %d requests/s, medians of %d "+
		"rounds, both sides in each; ratio: of the messages that a CPU second carries, which is the throughput of a pipeline that has its "+
		"host for itself: at saturation here, what k6 leaves of the cores would be measured", b.rate, b.rounds)
	f.note("µs without → with: %s", parts(with.Processes, func(name string) string {
		return fmt.Sprintf("%.2f → %.2f", all.median(0, part(name)), all.median(1, part(name)))
	}))
	return []figure{f}
}

// decided says what an interval makes of a limit.
func decided(low, high, limit float64) string {
	switch {
	case low >= limit:
		return "the limit holds"
	case high < limit:
		return "the limit is missed"
	}
	return "more rounds, or a quieter machine, would decide it (--rounds)"
}

// measuringSenders are enough to keep to the schedule while the pipeline takes its time.
const measuringSenders = 64

// load is the profile of both sides.
func (b *bench) load() string { return phase(b.exact(), float64(b.rate), "") }

// measured is the pipeline's use, and k6's, when k6 sends and measures every message.
func (b *bench) measured(s *stack) use {
	p := b.arrival(options{
		"profile": b.load(), "senders": measuringSenders, "redis": options{"url": s.Redis.URL},
		"ingest": options{"url": s.Ingest.URL, "token": s.Ingest.Token}, "mqtt": options{"url": s.mqttURL()},
	}, true)
	pids := maps.Clone(s.Processes)
	pids["k6"] = p.pid
	u := b.observe(pids, s.count, p)
	b.finish(p)
	return u
}

// plain is its use when the same requests come at the same moments, but nothing is stamped and a sink takes what arrives. The
// requests are the pump's, so that they come as evenly.
func (b *bench) plain(s *stack, sink *sink) use {
	before := sink.taken.Load()
	u, _ := b.alone(s.Ingest.URL, s.Ingest.Token, s.Processes, s.count)
	if taken := sink.taken.Load() - before; taken < u.count {
		must.Fail("the sink took %d messages of at least %d", taken, u.count)
	}
	return u
}

// alone is the use of a pipeline, and that of k6, when k6 sends the load to url and listens where nothing is sent.
func (b *bench) alone(url, token string, pids map[string]int, count counter) (pipeline, k6 use) {
	p := b.arrival(sending(b.load(), measuringSenders, url, token, b.nowhere()), true)
	defer p.kill()
	all := map[string]int{"k6": p.pid}
	maps.Copy(all, pids)
	pipeline = b.observe(all, count, p)
	k6 = use{cpu: map[string]time.Duration{"k6": pipeline.cpu["k6"]}, count: pipeline.count, seconds: pipeline.seconds}
	delete(pipeline.cpu, "k6")
	return pipeline, k6
}
