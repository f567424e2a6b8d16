package main

import (
	"fmt"
	"maps"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// measuring compares the CPU per message of the real pipeline's processes, with and without measuring. It compares
// CPU at the same load, because the rate at saturation would show how much CPU k6 leaves to a pipeline on the same
// machine. No k6 has real-time priority: it would interrupt the pipeline at each message, which it can't on its own
// host.
func measuring(b *bench) []figure {
	with, without := b.startStack(), b.startStack("STAMPS=false")
	sink := b.startSink(without.mqttURL())
	all := b.alternate(b.rounds, "message", func() use { return b.unmeasured(without, sink) }, func() use {
		u := b.measured(with, nil)
		delete(u.cpu, "k6")
		return u
	})
	f := all.costs(0.97, "not measured", "every message")
	f.atLeast = true
	ratio, low, high, sure := all.estimate(func(plain, measured use) float64 {
		return plain.perItem() / measured.perItem()
	})
	f.ratio = ratio
	f.note("the ratio is between %.3f and %.3f (%.1f %%, Hodges-Lehmann over %d rounds); %s", low, high, sure,
		b.rounds, conclusion(low, high, f.limit))
	f.note("CPU a message of ingest, Redis, relay and Mosquitto at %d requests/s, medians of %d rounds with both "+
		"sides in each; ratio: messages per CPU second, the throughput of a pipeline on its own host (at saturation "+
		"the ratio would show what CPU k6 leaves here)", b.rate, b.rounds)
	f.note("µs without → with: %s", parts(with.Processes, func(name string) string {
		return fmt.Sprintf("%.2f → %.2f", all.median(0, part(name)), all.median(1, part(name)))
	}))
	return []figure{f}
}

// conclusion compares an interval with a limit.
func conclusion(low, high, limit float64) string {
	switch {
	case low >= limit:
		return "the limit holds"
	case high < limit:
		return "the limit is missed"
	}
	return "more rounds, or a quieter machine, would decide it (--rounds)"
}

// measuringSenders are enough to keep to the schedule when the pipeline is slow.
const measuringSenders = 64

// load is the profile of both sides.
func (b *bench) load() string { return phase(b.runSeconds(), float64(b.rate), "") }

// measured is the CPU use of the pipeline and k6 when k6 measures every message. more are further options.
func (b *bench) measured(s *stack, more options) use {
	o := options{
		"profile": b.load(), "senders": measuringSenders, "redis": options{"url": s.Redis.URL},
		"ingest": options{"url": s.Ingest.URL, "token": s.Ingest.Token}, "mqtt": options{"url": s.mqttURL()},
	}
	maps.Copy(o, more)
	p := b.arrival(o, true)
	pids := maps.Clone(s.Processes)
	pids["k6"] = p.pid
	u := b.observe(pids, s.count, p)
	b.finish(p)
	b.checkSpans(p)
	return u
}

// unmeasured is the pipeline's CPU use for the same requests at the same times, without stamps and with a sink as
// the subscriber. The pump sends here too, so that requests come as evenly.
func (b *bench) unmeasured(s *stack, sink *sink) use {
	before := sink.taken.Load()
	u, _ := b.sendOnly(s.Ingest.URL, s.Ingest.Token, s.Processes, s.count)
	if taken := sink.taken.Load() - before; taken < u.count {
		must.Fail("the sink took %d messages of at least %d", taken, u.count)
	}
	return u
}

// sendOnly is the CPU use of a pipeline and of k6 when k6 sends the load to url and receives nothing.
func (b *bench) sendOnly(url, token string, pids map[string]int, count counter) (pipeline, k6 use) {
	p := b.arrival(sending(b.load(), measuringSenders, url, token, b.silentBroker()), true)
	defer p.kill()
	all := map[string]int{"k6": p.pid}
	maps.Copy(all, pids)
	pipeline = b.observe(all, count, p)
	k6 = use{cpu: map[string]time.Duration{"k6": pipeline.cpu["k6"]}, count: pipeline.count, seconds: pipeline.seconds}
	delete(pipeline.cpu, "k6")
	return pipeline, k6
}
