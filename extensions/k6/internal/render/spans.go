package render

import (
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// spansRows are the stages and their sum.
func spansRows(s *runfile.Spans) []runfile.SpansStage {
	return append(s.Stages[:len(s.Stages):len(s.Stages)], s.Arrival)
}

// spansNotes are the sentences below the stages.
func spansNotes(r *runfile.Run) (lines []string) {
	s := r.Spans
	if s.Waiting() {
		return nil
	}
	if len(s.Stages) > 0 {
		lines = append(lines, "the mean of the sampled deliveries minus that of all: "+change(s.Difference.Mean,
			r.Latency.Arrival.Mean))
	}
	if left := s.Left(); left != "" {
		lines = append(lines, "left out: "+left)
	}
	if s.Traced > 0 && s.Count == 0 {
		lines = append(lines, "k6 x arrival spans --suggest proposes which spans divide the time (spans.marks)")
	}
	return lines
}

// SpansText describes the stages of sampled messages.
func SpansText(r *runfile.Run) []string {
	s := r.Spans
	if s == nil {
		return nil
	}
	lines := []string{s.Head()}
	if len(s.Stages) > 0 {
		lines = append(lines, fmt.Sprintf("%-24s "+spansRow, "", "mean", "±", "p50", "p99", "max"))
		for _, stage := range spansRows(s) {
			lines = append(lines, fmt.Sprintf("%-24s "+spansRow+" ms%s", stage.From+" → "+stage.To,
				words.MS(stage.Mean), words.MS(stage.Error), words.MS(stage.P50), words.MS(stage.P99), words.MS(stage.Max),
				withinText(stage.BoundMS())))
		}
	}
	return append(lines, spansNotes(r)...)
}

const spansRow = "%8s %8s %8s %8s %8s"
