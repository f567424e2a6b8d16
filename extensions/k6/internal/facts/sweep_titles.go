package facts

import (
	"fmt"
	"strconv"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

func latencyByVUsTitle(found turning, steps []runfile.Step) string {
	knee := found.knee
	p50 := func(vus int) string {
		for _, s := range steps {
			if *s.VUs == vus {
				return words.MS(s.Latency.Arrival.At(50)) + " ms"
			}
		}
		return none
	}
	if found.why != "" {
		return "No knee can be told: " + found.why
	}
	if knee == nil {
		return fmt.Sprintf("No knee: up to %s arrival p50 did not take off", words.Plural(*steps[len(steps)-1].VUs, "VU"))
	}
	grew := ""
	if knee.VUs == 0 {
		if knee.Stage != "" {
			grew = "; " + knee.Stage + " takes longest"
		}
		return fmt.Sprintf("The knee is below %s: a backlog already grows, and arrival p50 is %s%s",
			words.Plural(knee.Next, "VU"), p50(knee.Next), grew)
	}
	if knee.Stage != "" {
		grew = "; " + knee.Stage + " grows most"
	}
	return fmt.Sprintf("Knee at %s: arrival p50 is %s there and %s with %s%s", words.Plural(knee.VUs, "VU"), p50(knee.VUs),
		p50(knee.Next), words.Count(knee.Next), grew)
}

func throughputByVUsTitle(steps []runfile.Step) string {
	best := &steps[0]
	for i := range steps {
		if steps[i].CarriedPerS > best.CarriedPerS {
			best = &steps[i]
		}
	}
	return fmt.Sprintf("At most %s accepted and arrived, with %s", words.PerSecond(best.CarriedPerS),
		words.Plural(*best.VUs, "VU"))
}

// uslNote is about the fit to the rates of a sweep, which is drawn only if it explains enough.
func uslNote(steps []runfile.Step) string {
	u := sweepFit(steps)
	switch {
	case u == nil:
		return "Too few steps for a fit of the Universal Scalability Law."
	case u.R2 < uslLeastR2:
		return fmt.Sprintf("No curve is drawn: the Universal Scalability Law explains too little of these rates "+
			"(R² %.3f, at least %v is needed).", u.R2, uslLeastR2)
	}
	peak := ""
	if u.PeakVUs != nil {
		peak = ", peak at " + words.Plural(int(*u.PeakVUs+0.5), "VU")
	}
	return fmt.Sprintf("Universal Scalability Law: contention %s, coherency %s%s (R² %.3f).", words.Percent(u.Sigma),
		strconv.FormatFloat(u.Kappa, 'g', 2, 64), peak, u.R2)
}
