package command

import (
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// doubted is a limit of --slo on a run whose arrivals may be in doubt. Latencies that are too high make the share in
// time too low: a limit that holds holds all the same, and one that is broken is undecided.
func doubted(r *report.Run, slo report.Rule) report.Rule {
	i := slices.IndexFunc(r.Facts.Doubts, func(d report.InDoubt) bool { return d.Claim == report.ArrivalClaim })
	if i < 0 || slo.OK == nil {
		return slo
	}
	doubt, held := r.Facts.Doubts[i], *slo.OK
	if held && doubt.Direction == report.TooHigh || !held && doubt.Direction == report.TooLow {
		return slo
	}
	slo.OK, slo.Undecided, slo.DoubtedBy, slo.Reason = nil, true, doubt.By, doubt.Text
	return slo
}
