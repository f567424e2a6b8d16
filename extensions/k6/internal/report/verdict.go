package report

import (
	"fmt"
	"strconv"
	"strings"
)

// Results of a run. Only Pass is green.
const (
	Pass       = "pass"
	Fail       = "fail"       // a limit was exceeded, or a message did not arrive
	Invalid    = "invalid"    // the instrument was the bottleneck
	Incomplete = "incomplete" // the run was cut off, or a limit was not judged
)

// Verdict is the result with its reasons in plain words, and every rule that led to it. internal/judge makes it.
type Verdict struct {
	Result  string   `json:"result"`
	Reasons []string `json:"reasons"`
	Rules   []Rule   `json:"rules"`  // never nil
	Stands  []string `json:"stands"` // latencies that can be trusted though the result is Invalid: "http"; never nil
}

// Rule is a limit, what was measured, and whether it held. A rule without a limit is a fact that is so or not.
type Rule struct {
	Name   string   `json:"name"`   // of the figure; that of a threshold is its metric and, but for a value or a count, the aggregation
	Value  *float64 `json:"value"`  // nil: not known
	Op     string   `json:"op"`     // how Value is to be to Limit; empty: there is no limit
	Limit  *float64 `json:"limit"`  // nil: none
	Unit   string   `json:"unit"`   // of both; may be empty
	OK     *bool    `json:"ok"`     // nil: not judged
	Result string   `json:"result"` // what the run is if the rule does not hold
	Basis  string   `json:"basis"`  // what Limit is made of; empty: it was set as it is
	Reason string   `json:"reason"` // in plain words, why it does not hold; empty: it holds, or another reason says it

	Generator int `json:"generator,omitempty"` // of a merged run, whose it is; 0: it is about the whole
}

// Limited is the rule in short: "arrival_p99 < 250 ms".
func (r Rule) Limited() string {
	name := r.named()
	if limit := r.limit(); limit != "" {
		return name + " " + limit
	}
	return name
}

// named is the rule's name, behind that of the instance whose it is.
func (r Rule) named() string {
	if r.Generator == 0 {
		return r.Name
	}
	return fmt.Sprintf("generator %d: %s", r.Generator, r.Name)
}

var signs = strings.NewReplacer("<=", "≤", ">=", "≥", "===", "=", "==", "=", "!=", "≠")

// limit is the rule without its name: "< 250 ms". One that was set stands as it was set; of one that can't be read the name has all.
func (r Rule) limit() string {
	if r.Limit == nil || r.Op == "" {
		return ""
	}
	number := num(r.Limit)
	if r.Basis == "" {
		number = grouped(strconv.FormatFloat(*r.Limit, 'f', -1, 64))
	}
	return strings.TrimSpace(signs.Replace(r.Op) + " " + number + " " + r.Unit)
}

// Unjudged is a threshold whose expression can't be read.
func (r Rule) Unjudged(expression string) Rule {
	r.Name += ": " + expression
	r.Limit = new(0.0)
	return r
}

// Broken is a limit that does not hold, in short: "arrival p99 14.4 ms, limit < 0.1 ms".
func (r Rule) Broken() string {
	value := withUnit(r.Value, r.Unit)
	if r.Unit == "%" && r.Value != nil {
		value = percent(*r.Value / 100)
	}
	return fmt.Sprintf("%s %s, limit %s", r.label(), value, r.limit())
}

// label is the rule's name as the page writes that figure.
func (r Rule) label() string {
	if r.Name == p99Rule || r.Name == trendRule {
		return "arrival p99"
	}
	if _, within, ok := WithinMetric(r.Name); ok {
		return "arrival within " + within.String()
	}
	return r.Name
}

// Measured is a rule with what was measured: "lateness ≤ 2 ms: 0.348 ms".
func (r Rule) Measured() string {
	s := r.Limited()
	if r.Value != nil {
		s += ": " + withUnit(r.Value, r.Unit)
	}
	if r.Reason != "" {
		s += " (" + r.Reason + ")"
	}
	return s
}
