package judge

import (
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// aborted reports whether a limit is one that ended the run by abortOnFail, and takes over what k6 knows of it.
func (e Evidence) aborted(limit *runfile.Rule) bool {
	for _, a := range e.Aborted {
		if a.Name == "arrival_"+limit.Name { // a rule of the account, with its own words
			limit.OK = new(false)
			return true
		}
		if a.Limited() == limit.Limited() {
			limit.OK, limit.Value, limit.Reason = a.OK, a.Value, a.Reason
			return true
		}
	}
	return false
}

// cutOff decides the rule "finished" of a run that did not end. decisive are the numbers of the limits that ended it by
// abortOnFail: one that the pipeline broke fails the run, and an undecided one leaves it undecided. The reasons of both
// say it. One that holds again at the end decides nothing: the run is incomplete.
func (e Evidence) cutOff(finished *runfile.Rule, limits []runfile.Rule, decisive []int) {
	var broken []string
	undecided := false
	for _, i := range decisive {
		limit := &limits[i]
		if limit.IsBroken() {
			broken = append(broken, limit.Reason)
			limit.Reason = "" // that of the run's end has it
		} else if limit.Undecided {
			undecided = true
			limit.Reason += " (abortOnFail): " + e.CutOff
		}
	}
	switch {
	case len(broken) > 0:
		finished.Result, finished.Reason = runfile.Fail, strings.Join(broken, ", ")+" (abortOnFail): "+e.CutOff
	case undecided:
		finished.Result = runfile.Doubtful
	case len(decisive) > 0:
		finished.Reason = e.CutOff + ": a limit with abortOnFail was crossed, and holds again"
	default:
		finished.Reason = e.CutOff
	}
}
