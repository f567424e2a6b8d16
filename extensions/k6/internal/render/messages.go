package render

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// tailColumn formats a cell of the tail's column; empty without a tail.
func tailColumn(t *runfile.Tail, before, cell string) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("%s%14s", before, cell)
}

// tailShare is the share of a stage in the tail.
func tailShare(t *runfile.Tail, stage string) string {
	if t == nil || t.MeanMS <= 0 {
		return ""
	}
	return words.Percent(t.StagesMS[stage] / t.MeanMS)
}

// slowestText lists the slowest deliveries: as many as ARRIVAL_SLOWEST says.
func slowestText(r *runfile.Run) []string {
	most, _ := strconv.Atoi(os.Getenv("ARRIVAL_SLOWEST"))
	if r.Messages == nil || most <= 0 {
		return nil
	}
	var lines []string
	for _, s := range r.Messages.Slowest[:min(most, len(r.Messages.Slowest))] {
		var stages []string
		for _, stage := range r.Stages {
			if ms, known := s.StagesMS[stage.Name]; known {
				stages = append(stages, stage.Name+" "+words.MS(&ms))
			}
		}
		if l := s.Longest; l != nil && l.Stage == r.Stages.Rest() { // no stage of its own says where the time went
			stages = append(stages, l.Stage+" "+words.MS(&l.MS))
		}
		lines = append(lines, fmt.Sprintf("%s ms  %s  due %s  %s", words.MS(&s.ArrivalMS), s.ID, s.Due, s.Target),
			"  "+strings.Join(stages, " · "))
	}
	return lines
}

// shownIDs is how many ids of each end the terminal shows.
const shownIDs = 3

// namedText lists the first ids of each end.
func namedText(r *runfile.Run) []string {
	if r.Messages == nil {
		return nil
	}
	var ends []string
	ids := map[string][]string{}
	for _, n := range r.Messages.Named {
		if ids[n.End] == nil {
			ends = append(ends, n.End)
		}
		ids[n.End] = append(ids[n.End], n.ID)
	}
	lines := make([]string, 0, len(ends))
	for _, end := range ends {
		line := strings.ReplaceAll(end, "_", "-") + ": " + strings.Join(ids[end][:min(shownIDs, len(ids[end]))], ", ")
		if len(ids[end]) > shownIDs {
			line += ", …"
		}
		lines = append(lines, line)
	}
	return lines
}
