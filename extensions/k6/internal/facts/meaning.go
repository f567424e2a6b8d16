package facts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// meaning says in a line what decided the verdict of a run.
func meaning(r *runfile.Run) string {
	switch r.Verdict.Result {
	case runfile.Pass:
		return passed(r)
	case runfile.Fail:
		if r.Run.Ended == nil {
			return failed(r) + ": abortOnFail ended the run"
		}
		return failed(r)
	case runfile.Invalid:
		return undecidedLimits(r)
	}
	if r.Run.Ended == nil {
		return "the run did not reach its end"
	}
	return "a limit was not judged, or a part is missing"
}

// passed says what is allowed: a run that passes may have lost messages.
func passed(r *runfile.Run) string {
	var allowed []string
	for _, end := range runfile.Missed(r.Account) {
		allowed = append(allowed, words.Count(end.N)+" "+end.Name)
	}
	if len(allowed) == 0 {
		return "every limit held, and every message arrived"
	}
	return "every limit held; the script allows what did not arrive: " + strings.Join(allowed, ", ")
}

// failed names the broken limits: those of figures by name, then the messages of each end.
func failed(r *runfile.Run) string {
	var broken, ends []string
	for _, rule := range r.Verdict.Rules {
		if !rule.IsBroken() || rule.Result != runfile.Fail || rule.Name == "finished" || counted(r, rule) {
			continue
		}
		end := slices.IndexFunc(ledger.Ends[:], func(e ledger.EndCount) bool { return e.Name == rule.Name })
		if rule.Name == runfile.Misdeliveries && rule.Value != nil {
			ends = append(ends, deliveriesOf(int(*rule.Value))+" came to a wrong recipient")
			continue
		}
		if text := brokenLimit(rule); end < 0 && !slices.Contains(broken, text) {
			broken = append(broken, text)
		}
		if end >= 0 && rule.Value != nil {
			ends = append(ends, wereEnded(int(*rule.Value), ledger.Ends[end].Word()))
		}
	}
	all := slices.Concat(broken, ends)
	if len(all) == 0 {
		return "a limit did not hold"
	}
	return strings.Join(all, "; ")
}

// counted reports whether a broken limit on failed requests adds nothing to a verdict: the messages of the requests
// have an end that is counted, and the answer counts requests. k6's own share of them is behind that of the instrument.
func counted(r *runfile.Run, limit runfile.Rule) bool {
	isBroken := func(names ...string) bool {
		return slices.ContainsFunc(r.Verdict.Rules, func(rule runfile.Rule) bool {
			return slices.Contains(names, rule.Name) && rule.IsBroken()
		})
	}
	switch limit.Name {
	case runfile.FailedRequests:
		return r.Run.Ended != nil && isBroken("rejected", "unknown")
	case "http_req_failed rate":
		return isBroken(runfile.FailedRequests)
	}
	return false
}

// brokenLimit is a broken limit with its figure.
func brokenLimit(rule runfile.Rule) string {
	if rule.Limit == nil {
		return cmp.Or(rule.Reason, rule.Label())
	}
	if rule.Name == runfile.FailedRequests && rule.Value != nil {
		return words.Plural(int(*rule.Value), "request") + " failed"
	}
	return rule.Broken()
}

// wereEnded is how many messages had an end: 192 messages were lost.
func wereEnded(n int, end string) string {
	if n == 1 {
		return "1 message was " + end
	}
	return words.Count(n) + " messages were " + end
}

// undecidedLimits names what the instrument's doubt left open.
func undecidedLimits(r *runfile.Run) string {
	open := undecidedLabels(r)
	if len(open) == 0 && slices.ContainsFunc(r.Verdict.Reasons, isUnmeasured) {
		return notMeasured + ", so there is no latency to judge"
	}
	if len(open) == 0 {
		return "the measurement was disturbed: do not use these figures"
	}
	return "undecided: the instrument's doubt about " + listed(open) + " is wider than the distance to the limit"
}

// undecidedLabels are the figures whose limits are undecided.
func undecidedLabels(r *runfile.Run) (open []string) {
	for _, rule := range r.Verdict.Rules {
		if rule.Undecided && !slices.Contains(open, rule.Label()) {
			open = append(open, rule.Label())
		}
	}
	return open
}

// listed joins words: a, b and c.
func listed(all []string) string {
	if last := len(all) - 1; last > 0 {
		return strings.Join(all[:last], ", ") + " and " + all[last]
	}
	return strings.Join(all, "")
}
