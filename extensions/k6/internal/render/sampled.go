package render

import (
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// sampledText describes the samples: a line for the run, and a table if the run has several phases.
func sampledText(r *runfile.Run) []string {
	s := r.Sampled
	if s == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("p99 %s ms from %s (one message in %s), full %s ms, difference %s",
		words.MS(s.P99), words.Plural(int(s.Count), "sample"), words.Count(s.OneIn), words.MS(r.Latency.Arrival.P99),
		change(s.Difference.P99, r.Latency.Arrival.P99))}
	if s.NotFound > 0 {
		lines = append(lines, "left out, as they are not in both trace lists: "+words.Count(s.NotFound))
	}
	if len(r.Steps) < 2 {
		return lines
	}
	width := stepWidth(r.Steps)
	const row = "%*s %8s  %8s %8s %-17s  %8s %8s %-17s  %8s %8s %s"
	lines = append(lines, fmt.Sprintf(row, width, "phase", "samples",
		"mean", "full", "difference", "p50", "full", "difference", "p99", "full", "difference"))
	for _, step := range r.Steps {
		if step.Sampled == nil || step.Requests == 0 {
			continue
		}
		own, all := step.Sampled, step.Latency.Arrival
		lines = append(lines, fmt.Sprintf(row, width, step.Name, words.Count(int(own.Count)),
			words.MS(own.Mean), words.MS(all.Mean), change(own.Difference.Mean, all.Mean),
			words.MS(own.P50), words.MS(all.P50), change(own.Difference.P50, all.P50),
			words.MS(own.P99), words.MS(all.P99), change(own.Difference.P99, all.P99)))
	}
	return lines
}

// change formats a difference in ms, and in percent of from.
func change(difference, from *float64) string {
	if difference == nil {
		return "n/a"
	}
	text := words.MS(difference) + " ms"
	if *difference > 0 {
		text = "+" + text
	}
	if from != nil && *from > 0 {
		text += " (" + words.Change(*difference / *from) + ")"
	}
	return text
}
