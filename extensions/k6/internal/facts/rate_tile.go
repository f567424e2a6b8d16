package facts

import (
	"fmt"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// rateTile is the rate that was held with the p99 at that rate; without a limit what the busiest phase carried.
func rateTile(r *runfile.Run, of scope, best held) runfile.Tile {
	tile := runfile.Tile{Name: "Rate", Text: none}
	if why := unknownRate(r); why != "" {
		tile.Note = why
		return tile
	}
	limit := r.Answer.P99LimitMS
	switch held := r.Answer.HeldPerS; {
	case of.step != nil:
		tile.Note = "accepted and arrived " + of.about
		return withRate(tile, of.step.CarriedPerS, "mean of the step")
	case r.Run.Model == runfile.Closed && held != nil && *held > 0:
		tile.Note = fmt.Sprintf("accepted and arrived, with p99 %s ms", words.MS(best.p99))
		return withRate(tile, *held, "mean of the phase")
	case r.Run.Model == runfile.Closed && held != nil:
		tile.Note = "no phase had p99 below " + words.Figure(limit) + " ms"
		return tile
	case held != nil && *held > 0 && best.p99 != nil && best.exact:
		tile.Note = fmt.Sprintf("held, with p99 %s ms at that rate", words.MS(best.p99))
		return withRate(tile, *held, "highest mean of "+fmt.Sprint(heldSeconds)+" s")
	case held != nil && *held > 0:
		tile.Note = fmt.Sprintf("held for %d s with p99 below %s ms", heldSeconds, words.Figure(limit))
		return withRate(tile, *held, "highest mean of "+fmt.Sprint(heldSeconds)+" s")
	case held != nil:
		tile.Note = fmt.Sprintf("none was held for %d s with p99 below %s ms", heldSeconds, words.Figure(limit))
		return tile
	}
	var most *runfile.Step
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Measured && (most == nil || s.CarriedPerS > most.CarriedPerS) {
			most = s
		}
	}
	if most == nil {
		tile.Note = "no measured phase"
		return tile
	}
	tile.Note = fmt.Sprintf("accepted and arrived in “%s”", words.Short(most.Name))
	return withRate(tile, most.CarriedPerS, "mean of the phase")
}

func withRate(tile runfile.Tile, perS float64, estimator string) runfile.Tile {
	tile.Value, tile.Estimator = &perS, estimator
	tile.Text, tile.Unit, _ = strings.Cut(words.PerSecond(perS), " ")
	return tile
}

// unknownRate says why a run claims no rate; empty: it may.
func unknownRate(r *runfile.Run) string {
	switch {
	case r.Run.Ended == nil:
		return "not given: the run did not end"
	case r.Verdict.Result == runfile.Incomplete:
		return "not given: a limit was not judged, or a part is missing"
	case r.Verdict.Result != runfile.Invalid:
		return ""
	}
	if open := undecidedLabels(r); len(open) > 0 {
		return "not given: " + listed(open) + " is undecided"
	}
	return "not given: the measurement was disturbed"
}
