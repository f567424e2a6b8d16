package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// OfParts judges a run of several instances. The worst part decides the result. A script's limits must hold for each
// instance and for all together.
//
// run is the merged run without its verdict. parts are the existing parts by number. requests is the number of
// requests in the profile; 0: unknown.
func OfParts(run *runfile.Run, parts []*runfile.Run, requests int) runfile.Verdict {
	w := whole{run: run, verdict: runfile.Verdict{Result: runfile.Pass, Reasons: []string{}, Rules: []runfile.Rule{},
		Doubts: []string{}}, cutOff: runfile.Incomplete}
	if i := slices.IndexFunc(parts, wasAborted); i >= 0 {
		w.cutOff = parts[i].Verdict.Result
	}
	of, complete := len(run.Generators), true
	for _, g := range run.Generators {
		if g.Result == runfile.Missing {
			complete = false
			w.broken("finished", runfile.Incomplete, "",
				fmt.Sprintf("generator %d of %d (%s) is missing, and what it sent is not in the account",
					g.Number, of, g.Segment))
		}
	}
	for _, part := range parts {
		complete = w.part(part, of) && complete
	}
	if sent := run.Account.Requests.Scheduled; complete && requests > 0 && sent != requests {
		w.broken("requests", runfile.Invalid, runfile.Unbalanced,
			fmt.Sprintf("the parts have %s requests together, and the profile has %s", words.Count(sent),
				words.Count(requests)))
	}
	if !run.Account.Balanced {
		w.broken("balanced", runfile.Invalid, runfile.Unbalanced, "the account does not balance")
	}
	w.limits(parts, complete)

	// The gravest findings come first.
	slices.SortStableFunc(w.findings,
		func(a, b finding) int { return slices.Index(gravity, b.result) - slices.Index(gravity, a.result) })
	for _, f := range w.findings {
		w.verdict.Reasons = append(w.verdict.Reasons, f.reason)
		w.verdict.Result = graver(w.verdict.Result, f.result)
	}
	w.verdict.Result, _, _ = strings.Cut(w.verdict.Result, " ")
	return w.verdict
}

// wholly reports whether a rule is broken that puts every claim in doubt.
func wholly(r runfile.Rule) bool {
	return r.IsBroken() && r.Result == runfile.Invalid && len(r.Doubts) == 0
}

// wasAborted reports whether a limit with abortOnFail ended an instance, which decides the run.
func wasAborted(part *runfile.Run) bool {
	return part.Run.Ended == nil && part.Verdict.Result != runfile.Incomplete
}

type whole struct {
	run      *runfile.Run
	verdict  runfile.Verdict
	findings []finding
	cutOff   string // what a cut-off part makes the run; where a limit ended an instance, others are cut off by its end
}

type finding struct{ result, reason string }

func (w *whole) add(result, format string, args ...any) {
	w.findings = append(w.findings, finding{result, fmt.Sprintf(format, args...)})
}

// broken adds a broken rule about the whole run.
func (w *whole) broken(name, result, remedy, reason string) {
	rule := runfile.Rule{
		Name: name, OK: new(false), Result: result, Reason: reason, Part: runfile.WholeRun, Remedy: remedy,
	}
	w.verdict.Rules = append(w.verdict.Rules, rule)
	w.add(decided(rule, result), "%s", reason)
}

// part adds the rules and reasons of an instance, and reports whether it completed.
func (w *whole) part(part *runfile.Run, of int) bool {
	v, g, ended := part.Verdict, part.Run.Generator, part.Run.Ended != nil
	name := fmt.Sprintf("generator %d", g.Number)
	reasons, result := v.Reasons, v.Result
	if !ended && !wasAborted(part) {
		result = w.cutOff
		known := 0
		if n := len(part.Timeline); n > 0 {
			known = part.Timeline[n-1].T + 1
		}
		w.add(result, "%s of %d (%s) was cut off: its account ends after %d s, with %d messages",
			name, of, g.Segment, known, part.Account.Scheduled)
		reasons = reasons[min(1, len(reasons)):] // the first reason repeats the result
	}
	if v.Result == runfile.Invalid && slices.ContainsFunc(v.Rules, wholly) {
		result = unusable
	}
	for _, reason := range reasons {
		w.add(result, "%s: %s", name, reason)
	}
	for _, doubt := range v.Doubts {
		w.verdict.Doubts = append(w.verdict.Doubts, name+": "+doubt)
	}
	var open []string
	for _, rule := range v.Rules {
		if rule.Open() {
			open = append(open, rule.Limited())
		}
		rule.Generator = g.Number
		w.verdict.Rules = append(w.verdict.Rules, rule)
	}
	if ended && v.Result == runfile.Pass && len(open) > 0 {
		w.add(runfile.Incomplete, "%s: not judged: %s", name, strings.Join(open, ", "))
	}
	if v.Result != runfile.Pass && len(v.Reasons) == 0 { // it has no reason
		w.add(result, "%s: %s", name, v.Result)
	}
	return ended
}

// limits judges the script's limits by the figures of all parts together. k6's own metrics are known per
// instance only.
func (w *whole) limits(parts []*runfile.Run, complete bool) {
	var doubting []runfile.Rule
	for _, part := range parts {
		doubting = append(doubting, part.Verdict.Rules...)
	}
	for _, rule := range parts[0].Verdict.Rules {
		figure, known := w.figure(rule.Name)
		if rule.Limit == nil || rule.Op == "" || !known {
			continue
		}
		rule.Value, rule.OK, rule.Reason, rule.Undecided = figure, nil, "", false
		rule.AtLeast, rule.AtMost, rule.DoubtedBy = nil, nil, nil
		if complete && figure != nil {
			rule.OK = new(Holds(*figure, rule.Op, *rule.Limit))
			if !*rule.OK {
				rule.Reason = rule.Broken()
			}
			switch rule = bounded(w.run, rule, subjectOf(rule.Name), doubting); {
			case rule.Undecided:
				w.add(runfile.Invalid, "%s", rule.Reason)
			case rule.IsBroken():
				w.add(rule.Result, "%s", rule.Reason)
			}
		} else if complete {
			w.add(runfile.Incomplete, "not judged: %s", rule.Limited())
		}
		w.verdict.Rules = append(w.verdict.Rules, rule)
	}
}

// figure is the value of a k6/x/arrival metric for all parts together.
func (w *whole) figure(metric string) (value *float64, known bool) {
	if metric == "arrival_p99" {
		return w.run.Latency.Arrival.P99, true
	}
	if _, within, ok := runfile.WithinMetric(metric); ok {
		if share := w.run.Latency.Arrival.Within(within); share != nil {
			return new(*share * 100), true
		}
		return nil, true
	}
	for _, count := range Counts {
		if metric == "arrival_"+count.Name {
			return new(float64(count.Of(w.run.Account))), true
		}
	}
	return nil, false
}

// Holds reports whether a value meets a limit, with an operator of k6's thresholds.
func Holds(value float64, op string, limit float64) bool {
	switch op {
	case "<":
		return value < limit
	case "<=":
		return value <= limit
	case ">":
		return value > limit
	case ">=":
		return value >= limit
	case "!=":
		return value != limit
	default:
		return value == limit
	}
}
