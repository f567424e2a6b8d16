package facts

import (
	"fmt"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// swept is the answer of a sweep of concurrency: the knee, and the highest rate within the limit.
func swept(r *runfile.Run, best held, known bool) string {
	steps := runfile.SweepSteps(r.Steps)
	s := fmt.Sprintf("No knee up to %s: arrival p50 did not take off.", words.Plural(*steps[len(steps)-1].VUs, "VU"))
	switch why := turningOf(r).why; {
	case r.Knee != nil:
		s = kneeSentence(r.Knee, steps)
	case why != "":
		s = "No knee can be told: " + why + "."
	}
	if !known {
		return s
	}
	limit := words.Figure(r.Answer.P99LimitMS)
	switch {
	case best.perS == 0:
		return s + fmt.Sprintf(" No step held arrival p99 below %s ms.", limit)
	case len(best.over) == 0:
		return s + fmt.Sprintf(" Every step held arrival p99 below %s ms: the highest rate is %s, with %s.", limit,
			words.PerSecond(best.perS), words.Plural(best.vus, "VU"))
	}
	over := make([]string, len(best.over))
	for i, vus := range best.over {
		over[i] = words.Count(vus)
	}
	over[len(over)-1] = words.Plural(best.over[len(over)-1], "VU")
	return s + fmt.Sprintf(" The highest rate with arrival p99 below %s ms is %s, with %s; %s exceeded it.", limit,
		words.PerSecond(best.perS), words.Plural(best.vus, "VU"), listed(over))
}

// kneeSentence describes the knee of a sweep, and the rate there.
func kneeSentence(k *runfile.Knee, steps []runfile.Step) string {
	grew := ""
	if k.VUs == 0 {
		if k.Stage != "" {
			grew = ", and " + k.Stage + " takes longest"
		}
		return fmt.Sprintf("The knee is below %s: with %s a backlog already grows%s.", words.Plural(k.Next, "VU"),
			words.Count(k.Next), grew)
	}
	if k.Stage != "" {
		grew = "; " + k.Stage + " has grown most"
	}
	at := slices.IndexFunc(steps, func(s runfile.Step) bool { return *s.VUs == k.VUs })
	if at+2 == len(steps) { // nobody knows whether one step stays
		return fmt.Sprintf("The knee is at %s, %s: with %s VUs p50 is %s ms%s.", words.Plural(k.VUs, "VU"),
			words.PerSecond(steps[at].CarriedPerS), words.Count(k.Next), words.MS(steps[at+1].Latency.Arrival.At(50)), grew)
	}
	return fmt.Sprintf("The knee is at %s, %s: from %s VUs on p50 stays high%s.", words.Plural(k.VUs, "VU"),
		words.PerSecond(steps[at].CarriedPerS), words.Count(k.Next), grew)
}
