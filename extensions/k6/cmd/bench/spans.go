package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
)

// spansOneIn messages have one whose spans the pipeline exports.
const spansOneIn = 100

// spansMost is what they may cost the pipeline.
const spansMost = 1.02

// sampled compares the CPU per message of the real pipeline's processes, with spans of one message in a hundred and
// without. Both sides are measured at the same load, as in measuring; with spans, each request has a traceparent.
func sampled(b *bench) []figure {
	at := freeAddress()
	without := b.startStack("OTEL_SDK_DISABLED=true")
	with := b.startStack("OTEL_SDK_DISABLED=", "OTEL_EXPORTER_OTLP_PROTOCOL=",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://"+at+"/v1/traces")
	ofPipeline := func(s *stack, more options) use {
		u := b.measured(s, more)
		delete(u.cpu, "k6")
		return u
	}
	all := b.alternate(b.rounds, "message", func() use { return ofPipeline(without, nil) }, func() use {
		return ofPipeline(with, options{"spans": options{"listen": at, "oneIn": spansOneIn}})
	})
	f := all.costs(spansMost, "no spans", "1 % sampled")
	ratio, low, high, sure := all.estimate(cost)
	f.ratio = ratio
	f.note("the ratio is between %.3f and %.3f (%.1f %%, Hodges-Lehmann over %d rounds)", low, high, sure, b.rounds)
	f.note("µs without → with: %s", parts(with.Processes, func(name string) string {
		return fmt.Sprintf("%.2f → %.2f", all.median(0, part(name)), all.median(1, part(name)))
	}))
	return []figure{f}
}

// checkSpans fails if a run asked for spans and got those of less than most of its sampled messages.
func (b *bench) checkSpans(p *process) {
	var run struct {
		Spans *struct{ Sampled, Count int }
	}
	must.Do(json.Unmarshal(must.Get(os.ReadFile(p.report)), &run))
	if s := run.Spans; s != nil && (s.Sampled == 0 || 2*s.Count < s.Sampled) {
		must.Fail("%d of %d sampled messages have stages by spans: what was measured is not what was meant\n%s",
			s.Count, s.Sampled, p.tail)
	}
}
