package facts

import (
	"cmp"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// claims are all that a run makes, in the order in which reports say what is in doubt.
var claims = []string{
	runfile.ArrivalClaim, runfile.RequestsClaim, runfile.StagesClaim, runfile.AccountClaim, runfile.LoadClaim,
	runfile.SamplesClaim,
}

// inDoubt are the claims of a run that its broken rules on the instrument put in doubt, each once. Rules that disagree
// on the direction leave it open. A broken rule that makes the run invalid and names no claim puts every claim in
// doubt.
func inDoubt(r *runfile.Run) []runfile.InDoubt {
	all := []runfile.InDoubt{}
	for _, claim := range claims {
		found := runfile.InDoubt{Claim: claim}
		for _, rule := range r.Verdict.Rules {
			direction := directionOf(rule, claim)
			if direction == "" {
				continue
			}
			if found.Direction != "" && found.Direction != direction {
				direction = runfile.Either
			}
			found.Direction, found.Text = direction, cmp.Or(found.Text, rule.Reason)
			if !slices.Contains(found.By, rule.Name) {
				found.By = append(found.By, rule.Name)
			}
		}
		if found.Direction != "" {
			all = append(all, found)
		}
	}
	return all
}

// directionOf is in which direction a rule puts a claim in doubt; empty: it does not.
func directionOf(rule runfile.Rule, claim string) string {
	if !rule.IsBroken() {
		return ""
	}
	if len(rule.Doubts) == 0 && rule.Result == runfile.Invalid {
		return runfile.Either
	}
	for _, doubt := range rule.Doubts {
		if doubt.Claim == claim {
			return doubt.Direction
		}
	}
	return ""
}
