// Package judge decides the verdict of a run. It is pure: the same evidence gives the same verdict. Every rule
// is in the verdict with its limit, its measured value and its result, so reports need no rules.
package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Evidence is the input of the verdict.
type Evidence struct {
	Run *runfile.Run // its verdict is not read; a run that has not ended is incomplete

	CutOff     string         // how far an unfinished run got
	Doubts     []string       // why the instrument cannot be trusted, in plain words
	Limits     []runfile.Rule // that the script sets
	Replaced   []string       // account rules that the script's own thresholds replace
	Aborted    []runfile.Rule // limits with abortOnFail that ended the run
	Cores      int            // that the generator may use
	Unattended int64          // requests that were late because all senders waited for answers
	Senders    int            // that the run may have; 0: they do not limit it
	SendersBy  string         // the settings that say so; empty: a caller sends
	AtMostOnce bool           // QoS 0: a loss is counted, but breaks no rule
	Halted     bool           // the load was halted early: one reason is enough for missing messages
	Unread     string         // where arrivals wait until they are read; empty: in the subscriber's socket
}

// Of judges a run. A limit is held if the reading that is worst for the pipeline holds it, broken if the reading that
// is best for it breaks it, and undecided in between (see bounds.go).
func Of(e Evidence) runfile.Verdict {
	ended := e.Run.Run.Ended != nil
	rules := []runfile.Rule{{Name: "finished", OK: &ended, Result: runfile.Incomplete, Part: runfile.WholeRun}}
	for _, doubt := range e.Doubts {
		rules = append(rules, runfile.Rule{
			Name: "instrument", OK: new(false), Result: runfile.Invalid, Reason: doubt, Part: runfile.WholeRun,
		})
	}
	var own []runfile.Rule
	for _, rule := range instrument {
		if judged := rule(e); judged != nil {
			own = append(own, *judged)
		}
	}
	var limits []runfile.Rule
	var decisive []int // those that ended the run
	decide := func(limit runfile.Rule, metric string) {
		aborted := e.aborted(&limit)
		if ended || aborted { // until then a limit may yet break, and a checkpoint is cheap
			limit = bounded(e.Run, limit, subjectOf(metric), own)
		} else {
			limit = unjudged(limit)
		}
		if aborted {
			decisive = append(decisive, len(limits))
		}
		limits = append(limits, limit)
	}
	for _, end := range e.ends() {
		decide(end, "arrival_"+end.Name)
	}
	for _, limit := range e.Limits {
		decide(limit, limit.Name)
	}
	if !ended {
		e.cutOff(&rules[0], limits, decisive)
		for i := range own {
			own[i] = unjudged(own[i])
		}
	}
	for _, rule := range slices.Concat(own, limits) {
		rule.Part = cmp.Or(rule.Part, runfile.Pipeline)
		rules = append(rules, rule)
	}
	return of(rules, ended)
}

// unjudged is a rule that is not judged before the run has ended: one that holds now may break, and missing messages
// may still arrive.
func unjudged(rule runfile.Rule) runfile.Rule {
	rule.OK, rule.Undecided, rule.Reason = nil, false, ""
	return rule
}

// of makes the verdict from judged rules, the deciding reasons first. Where every claim is in doubt no limit decides.
func of(rules []runfile.Rule, ended bool) runfile.Verdict {
	v := runfile.Verdict{Result: runfile.Pass, Reasons: []string{}, Doubts: []string{}, Rules: rules}
	reasons := map[string][]string{}
	var open, doubting []string
	for _, rule := range rules {
		if rule.Undecided {
			doubting = append(doubting, rule.DoubtedBy...)
		}
	}
	for _, rule := range rules {
		result := ""
		switch {
		case rule.Open():
			open = append(open, rule.Limited())
		case rule.Undecided:
			result = runfile.Invalid
		case rule.IsBroken():
			result = rule.Result
		}
		if result == "" {
			continue
		}
		switch result = decided(rule, result); {
		case result != runfile.Doubtful:
			v.Result = graver(v.Result, result)
		case slices.Contains(doubting, rule.Name): // why a limit is undecided
			result = runfile.Invalid
		}
		if rule.Reason != "" {
			reasons[result] = append(reasons[result], rule.Reason)
		}
	}
	if ended && len(open) > 0 { // a run with a limit that was not judged does not pass
		reasons[runfile.Incomplete] = append(reasons[runfile.Incomplete], "not judged: "+strings.Join(open, ", "))
		if v.Result == runfile.Pass {
			v.Result = runfile.Incomplete
		}
	}
	v.Result, _, _ = strings.Cut(v.Result, " ")
	for _, result := range []string{runfile.Incomplete, unusable, runfile.Fail, runfile.Invalid} {
		v.Reasons = append(v.Reasons, reasons[result]...)
	}
	v.Doubts = append(v.Doubts, reasons[runfile.Doubtful]...)
	return v
}

// unusable is graver than a broken limit: every claim is in doubt.
const unusable = runfile.Invalid + " whole"

// gravity orders the results of a run.
var gravity = []string{runfile.Pass, runfile.Invalid, runfile.Fail, unusable, runfile.Incomplete}

// decided is the result of a rule by its gravity.
func decided(rule runfile.Rule, result string) string {
	if wholly(rule) {
		return unusable
	}
	return result
}

func graver(a, b string) string {
	return gravity[max(slices.Index(gravity, a), slices.Index(gravity, b))]
}

func atMost(name string, value, limit float64, unit, result string) runfile.Rule {
	return runfile.Rule{
		Name: name, Value: &value, Op: "<=", Limit: &limit, Unit: unit, OK: new(value <= limit), Result: result,
	}
}

func because(r runfile.Rule, format string, args ...any) *runfile.Rule {
	if !*r.OK {
		r.Reason = fmt.Sprintf(format, args...)
	}
	return &r
}

// Count is a part of an account.
type Count struct {
	Name string
	Of   func(a runfile.Account) int
}

// Counts are those that a limit or a metric may be on, in the order of reports.
var Counts = counts()

func counts() []Count {
	all := []Count{{"scheduled", func(a runfile.Account) int { return a.Scheduled }}}
	add := func(count ledger.Count) {
		if count.Metric {
			all = append(all, Count{count.Name, count.Of})
		}
	}
	for _, end := range ledger.Ends {
		add(end.Count)
	}
	for _, count := range ledger.Beside {
		add(count)
	}
	return append(all, Count{runfile.FailedRequests, func(a runfile.Account) int { return a.Requests.Failed }})
}

// leased says how long the messages of a relay of ours that died stay in the queue; empty: the run knows of none.
func (e Evidence) leased() string {
	if slices.ContainsFunc(e.Run.Resources,
		func(r runfile.Resource) bool { return strings.HasPrefix(r.Process, "relay") }) {
		return "; those of a relay that died are taken over after RELAY_LEASE_MS"
	}
	return ""
}

// ends are the rules of the account: a pipeline accepts every request and delivers every accepted message.
// Missing messages would be the slowest, so percentiles without them are too good.
func (e Evidence) ends() []runfile.Rule {
	a := e.Run.Account
	promised := ledger.JudgedCounts(ledger.Promised)
	if e.AtMostOnce || e.Halted {
		promised = nil
	}
	var all []runfile.Rule
	for _, count := range slices.Concat(promised, ledger.JudgedCounts(ledger.Always)) {
		n, what := count.Of(a), ""
		if count.Reason != "" {
			what = " " + count.Reason
		}
		unit, whole := "messages", a.Scheduled
		switch count.Name {
		case ledger.EndQueued.String():
			what += e.leased()
		case runfile.Misdeliveries:
			unit, whole = "deliveries", n+a.Deliveries.Arrived
			what += facts.Misdelivered(e.Run)
		}
		all = append(all, *because(atMost(count.Name, float64(n), 0, unit, runfile.Fail), "%s: %s of %s %s%s",
			count.Word(), words.Count(n), words.Count(whole), unit, what))
	}
	all = append(all, *because(
		atMost(runfile.FailedRequests, float64(a.Requests.Failed), 0, "requests", runfile.Fail), "%s", facts.Failures(e.Run)))
	return slices.DeleteFunc(all, func(r runfile.Rule) bool { return slices.Contains(e.Replaced, r.Name) })
}
