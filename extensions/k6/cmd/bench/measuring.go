package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// measuring compares the CPU of the real pipeline's processes a message. On a machine that generator and pipeline share,
// messages a second at saturation would tell how much CPU k6 leaves to it; their CPU at the same load tells what they can do.
// Neither side's k6 is in real time: it would come in between at each message, which is no cost of measuring where it has its own host.
func measuring(ctx context.Context, b *bench) ([]figure, error) {
	f := figure{limit: 0.97, atLeast: true}
	with, err := b.startStack(ctx)
	if err != nil {
		return nil, err
	}
	without, err := b.startStack(ctx, "STAMPS=false")
	if err != nil {
		return nil, err
	}
	address, err := without.mqttURL()
	if err != nil {
		return nil, err
	}
	sink, err := b.startSink(ctx, address, 1)
	if err != nil {
		return nil, err
	}
	all, err := b.turns(b.rounds, "message", func() (use, error) { return b.plain(ctx, without, sink) },
		func() (use, error) { return b.measured(ctx, with) })
	if err != nil {
		return nil, err
	}
	f.baseline = side{"not measured", all.median(0, use.each), "µs"}
	f.ours = side{"every message", all.median(1, use.each), "µs"}
	carried := func(plain, measured use) float64 { return plain.each() / measured.each() }
	ratio, low, high, sure := all.estimate(carried)
	f.ratio = ratio
	f.notes = append(f.notes, fmt.Sprintf("the ratio is between %.3f and %.3f (%.1f %%, Hodges-Lehmann over %d rounds); %s", low, high, sure,
		b.rounds, decided(low, high, f.limit)))
	f.notes = append(f.notes, fmt.Sprintf("CPU a message of ingest, Redis, relay and Mosquitto at %d requests/s, medians of %d "+
		"rounds, both sides in each; ratio: of the messages that a CPU second carries, which is the throughput of a pipeline that has its "+
		"host for itself: at saturation here, what k6 leaves of the cores would be measured", b.rate, b.rounds))
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(with.parts)) {
		of := func(u use) float64 { return u.of(name) }
		parts = append(parts, fmt.Sprintf("%s %.2f → %.2f", name, all.median(0, of), all.median(1, of)))
	}
	f.notes = append(f.notes, "µs without → with: "+strings.Join(parts, ", "))
	return []figure{f}, nil
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
