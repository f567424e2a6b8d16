package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/must"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

func spansOf(o *outcome) *runfile.Spans {
	s := o.generators[0].run.Spans
	if s == nil {
		must.Fail("the run has no spans")
	}
	return s
}

// spansOfAll requires that each message has its stages by spans.
func spansOfAll(o *outcome) []row {
	return []row{counted("messages with stages by spans", o.measured, int(spansOf(o).Count))}
}

// spansAsStamps compares the stages by spans with those by stamps of the same messages: within 10 µs, as moments are
// whole µs, and as far as the clocks of a stage's ends are known.
func spansAsStamps(o *outcome) (rows []row) {
	const rounding = 0.01 // ms
	r, s := o.generators[0].run, spansOf(o)
	if len(s.Stages) != len(r.Stages) {
		must.Fail("spans divide the time into %d stages, stamps into %d", len(s.Stages), len(r.Stages))
	}
	for i, stage := range r.Stages {
		got, want, within := *s.Stages[i].Mean, *r.Latency.Stages[stage.Name].Mean, s.Stages[i].Bound+rounding
		rows = append(rows, row{
			"stage " + stage.Name + ", mean by spans", "stamps " + millis(want), millis(got),
			fmt.Sprintf("±%.2f ms", within),
			math.Abs(got-want) <= within,
		})
	}
	return rows
}

// clockOf requires that the clock of a host is found within its bound, and that the bound is below what it is ahead:
// else any clock would do.
func clockOf(host fake.Host) check {
	return func(o *outcome) []row {
		all := spansOf(o).Clocks
		i := slices.IndexFunc(all, func(c runfile.SpansClock) bool { return c.Host == host.Name })
		if i < 0 {
			must.Fail("the clock of %s is not known", host.Name)
		}
		c, ahead := all[i], millisOf(host.Ahead)
		return []row{{
			"clock of " + host.Name, millis(ahead), millis(c.OffsetMS), "its bound " + millis(c.BoundMS),
			math.Abs(c.OffsetMS-ahead) <= c.BoundMS && c.Basis != runfile.Disagree && (ahead == 0 || c.BoundMS < ahead),
		}}
	}
}
