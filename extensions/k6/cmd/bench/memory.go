package main

import (
	"fmt"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

const (
	memoryLimit = 150.0  // MB
	memoryRate  = 50_000 // messages per second
)

func memory(b *bench) []figure {
	in := b.startIngest(nil)
	o := sending(batches(float64(b.messages)/memoryRate, memoryRate), 4, in.url, token, b.straight(in.deliver))
	o["redis"] = options{"url": b.startRedis("no").redis()}
	p := b.arrival(o, true)
	for !p.endsWithin(b.ctx, 10*time.Second) {
		b.say("%d messages, load average %s", in.messages.Load(), loadAverage())
	}
	arrived := b.finish(p)
	peak := float64(must.Get(peakOf(p))) / (1 << 20)
	b.say("%d messages measured, %.0f MB at most, load average %s", arrived, peak, loadAverage())
	f := against(memoryLimit, "k6", peak, "MB")
	f.notes = []string{fmt.Sprintf("peak resident memory of k6 in a run of %d measured messages, its summary included; MB of 1024² bytes", arrived)}
	return []figure{f}
}
