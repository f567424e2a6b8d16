package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// unusable is the reason why a run has no answer; empty: it has one.
func unusable(r *runfile.Run) string {
	switch {
	case r.Run.Ended == nil && r.Verdict.Result == runfile.Fail:
		return aborted(r)
	case r.Run.Ended == nil && !slices.ContainsFunc(r.Verdict.Rules, func(l runfile.Rule) bool { return l.Undecided }):
		return fmt.Sprintf("Not finished: %s of %s had arrived by then.%s Run it again to its end.",
			words.Count(r.Account.Arrived), words.Plural(r.Account.Scheduled, "message"), lostSubscribers(r))
	case !r.Account.Balanced:
		return "Not usable: " + runfile.Unbalanced + "."
	case r.Verdict.Result == runfile.Incomplete:
		return unjudged(r)
	case r.Verdict.Result != runfile.Invalid:
		return ""
	}
	for _, rule := range r.Verdict.Rules {
		if rule.Undecided {
			return undecided(r, rule)
		}
	}
	for _, rule := range r.Verdict.Rules {
		switch {
		case !rule.IsBroken() || rule.Result != runfile.Invalid:
			continue
		case len(rule.Doubts) > 0: // only some claims are in doubt
			return "Undecided: " + cmp.Or(Cause(r), rule.Remedy, rule.Reason) + "."
		case Cause(r) != "":
			return "Not usable: " + Cause(r) + "."
		case rule.Remedy != "":
			return "Not usable: " + rule.Remedy + "."
		}
	}
	if len(r.Verdict.Reasons) > 0 {
		return "Not usable: " + strings.TrimSuffix(r.Verdict.Reasons[0], ".") + "."
	}
	return "Not usable: the load generator could not be trusted."
}

// lostSubscribers says why messages no longer arrived as a run was cut off; empty: its subscribers stayed.
func lostSubscribers(r *runfile.Run) string {
	for _, e := range r.Errors {
		if e.Class == runfile.LostClass {
			return fmt.Sprintf(" A subscriber was lost: %s.",
				strings.TrimSuffix(words.Short(words.Printable(e.Example)), "."))
		}
	}
	return ""
}

// aborted is the answer of a run that a limit with abortOnFail ended.
func aborted(r *runfile.Run) string {
	var broken []string
	for _, rule := range r.Verdict.Rules {
		if rule.IsBroken() && rule.Result == runfile.Fail && rule.Limit != nil {
			broken = append(broken, rule.Broken())
		}
	}
	return fmt.Sprintf("Ended by abortOnFail: %s. %s of %s had arrived by then.", listed(broken),
		words.Count(r.Account.Arrived), words.Plural(r.Account.Scheduled, "message"))
}

// undecided says what a limit can't be decided for, and what to do.
func undecided(r *runfile.Run, limit runfile.Rule) string {
	for _, rule := range r.Verdict.Rules {
		if slices.Contains(limit.DoubtedBy, rule.Name) && rule.IsBroken() && rule.Remedy != "" {
			return fmt.Sprintf("Undecided whether %s: %s.", limitText(limit), rule.Remedy)
		}
	}
	return "Undecided whether " + limitText(limit) + "."
}

// limitText is a limit with the name that reports give its figure: arrival p99 < 250 ms.
func limitText(limit runfile.Rule) string {
	return strings.Replace(limit.Limited(), limit.Name, limit.Label(), 1)
}

// unjudged says what an ended run lacks for an answer: limits that nobody judged, or a part of several.
func unjudged(r *runfile.Run) string {
	for _, rule := range r.Verdict.Rules {
		if rule.Open() {
			return "Not complete: the limit " + rule.Limited() +
				" was not judged. Correct it or measure its figure, and run again."
		}
	}
	if len(r.Verdict.Reasons) == 0 {
		return "Not complete. Run again."
	}
	return "Not complete: " + r.Verdict.Reasons[0] + ". Merge the missing part, or run again."
}
