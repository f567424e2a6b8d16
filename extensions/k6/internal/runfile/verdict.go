package runfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Results of a run. Only Pass is green.
const (
	Pass       = "pass"
	Fail       = "fail"       // a limit was exceeded, or a message did not arrive
	Invalid    = "invalid"    // undecided: the instrument's doubt is wider than the distance to a limit
	Incomplete = "incomplete" // the run was cut off, or a limit was not judged
)

// FailedRequests is the rule about requests without a 2xx, whether or not their messages arrived; its metric is
// arrival_requests_failed.
const FailedRequests = "requests_failed"

// Doubtful is the result of a broken rule on the instrument that puts claims of a run in doubt. What that means for the
// run depends on its limits.
const Doubtful = "doubt"

// Verdict is the result with its reasons and rules. internal/judge makes it.
type Verdict struct {
	Result  string   `json:"result"`
	Meaning string   `json:"meaning"` // what decided, in a line; internal/facts writes it
	Reasons []string `json:"reasons"`
	Doubts  []string `json:"doubts"` // what the instrument put in doubt, though the run is decided; never nil
	Rules   []Rule   `json:"rules"`  // never nil
}

// Rule is a limit, the measured value, and whether it held. A rule without a limit is a fact that holds or not.
type Rule struct {
	// Name is the figure's; for a threshold it is the metric, with the aggregation unless it is a value or a count
	Name   string   `json:"name"`
	Value  *float64 `json:"value"`  // nil: not known
	Op     string   `json:"op"`     // the required relation of Value to Limit; empty: no limit
	Limit  *float64 `json:"limit"`  // nil: none
	Unit   string   `json:"unit"`   // unit of Value and Limit; may be empty
	OK     *bool    `json:"ok"`     // nil: not judged, or undecided
	Result string   `json:"result"` // the result of the run if the rule is broken, or Doubtful
	Basis  string   `json:"basis"`  // how Limit was computed; empty: it was set
	Reason string   `json:"reason"` // why it is broken or undecided; empty: it holds, or another rule has the reason

	Part string `json:"part"` // what the rule is about
	// what was wrong, and what to do, if it makes the run unusable
	Remedy string  `json:"remedy,omitempty"`
	Doubts []Doubt `json:"doubts,omitempty"` // what a rule on the instrument puts in doubt when it is broken

	// AtLeast and AtMost bound a figure in doubt: the readings best and worst for the pipeline; nil: there is no bound
	AtLeast   *float64 `json:"at_least,omitempty"`
	AtMost    *float64 `json:"at_most,omitempty"`
	DoubtedBy []string `json:"doubted_by,omitempty"` // the broken rules that put its figure in doubt
	Undecided bool     `json:"undecided,omitempty"`  // one reading holds the limit, another one breaks it

	Generator int `json:"generator,omitempty"` // the instance of a merged run; 0: the whole run
}

// IsBroken reports whether the rule was judged and did not hold.
func (r Rule) IsBroken() bool { return r.OK != nil && !*r.OK }

// Decides reports whether the rule is one that the verdict is not pass for.
func (r Rule) Decides() bool { return r.Undecided || r.IsBroken() && r.Result != Doubtful }

// State is whether the rule held, in a word or two.
func (r Rule) State() string {
	switch {
	case r.Undecided:
		return "undecided"
	case r.OK == nil:
		return "not judged"
	case *r.OK:
		return "held"
	case r.Result == Doubtful:
		return "in doubt"
	}
	return r.Result
}

// Open reports whether the rule has a limit that nobody judged.
func (r Rule) Open() bool { return r.OK == nil && r.Limit != nil && !r.Undecided }

// Doubt is a claim of a run that a broken rule on the instrument puts in doubt, and in which direction.
type Doubt struct {
	Claim     string `json:"claim"`
	Direction string `json:"direction"`
}

// Claims that a run makes of a pipeline.
const (
	ArrivalClaim  = "arrival" // the latency of arrivals, from due
	RequestsClaim = "http"    // the latency of requests
	StagesClaim   = "stages"  // the latency of stages
	AccountClaim  = "account" // which messages arrived
	LoadClaim     = "load"    // that the load was offered, so rates were held
	SamplesClaim  = "samples" // k6's own metrics
)

// Directions in which a figure may be wrong.
const (
	TooHigh = "too_high" // it is at most as high as measured
	TooLow  = "too_low"  // it is at least as high as measured: something is missing in it
	Either  = "either"
)

// Parts of a run that rules are about.
const (
	Sending   = "sending"
	Receiving = "receiving"
	Pipeline  = "pipeline"
	WholeRun  = "run"
)

// The limits on arrival p99: this module's, and a script's on k6's Trend, which includes the warm-up. A sweep, which
// exceeds its limit, gives it by a figure.
const (
	P99Rule   = "arrival_p99"
	TrendRule = "arrival_latency p(99)"
	P99Figure = "limit of arrival p99"
)

// Unbalanced is the remedy for an account that does not balance.
const Unbalanced = "the account does not balance, so no latency is shown. This is an error of the " +
	"instrument: please report it"

// Limited is the rule as text: "arrival_p99 < 250 ms".
func (r Rule) Limited() string {
	name := r.FullName()
	if limit := r.LimitText(); limit != "" {
		return name + " " + limit
	}
	return name
}

// FullName is the rule's name, after that of its instance.
func (r Rule) FullName() string {
	if r.Generator == 0 {
		return r.Name
	}
	return fmt.Sprintf("generator %d: %s", r.Generator, r.Name)
}

var signs = strings.NewReplacer("<=", "≤", ">=", "≥", "===", "=", "==", "=", "!=", "≠")

// LimitText is the rule without its name: "< 250 ms", as it was set; empty for an unreadable one, whose name is its
// text.
func (r Rule) LimitText() string {
	if r.Limit == nil || r.Op == "" {
		return ""
	}
	number := words.MS(r.Limit)
	switch {
	case slices.Contains([]string{"messages", "deliveries", "samples"}, r.Unit): // a computed limit may be a fraction
		number = words.Count(int(*r.Limit))
	case r.Basis == "":
		number = words.Exact(*r.Limit)
	}
	return strings.TrimSpace(signs.Replace(r.Op) + " " + number + " " + r.Unit)
}

// Unjudged is the rule of an unreadable threshold.
func (r Rule) Unjudged(expression string) Rule {
	r.Name += ": " + expression
	r.Limit = new(0.0)
	return r
}

// Broken is a broken limit as text: "arrival p99 14.4 ms, limit < 0.1 ms".
func (r Rule) Broken() string {
	return fmt.Sprintf("%s %s, limit %s", r.Label(), r.ValueText(), r.LimitText())
}

// ValueText is the measured value with its unit, and never reads like a limit that it is not.
func (r Rule) ValueText() string {
	if r.Limit == nil || r.Basis == "" {
		return words.Against(r.Value, r.Limit, r.Unit)
	}
	return words.Against(r.Value, new(words.Shown(*r.Limit)), r.Unit)
}

// scriptMetrics are the names of our own scripts' metrics in words, and their units: k6 gives a Gauge none.
var scriptMetrics = map[string]struct{ label, unit string }{
	"backlog_growth":             {"growth of the backlog as a share of the rate", ""},
	"connections_canary_missing": {"canary messages missing", ""},
	"connections_canary_p99_ms":  {"canary p99", "ms"},
	"connections_missing":        {"connections missing", ""},
	"soak_latency_drift_ms":      {"growth of arrival p99", "ms"},
	"soak_memory_growth_mb":      {"growth of memory", "MB"},
	"spike_drain_s":              {"time until the backlog had drained", "s"},
	"spike_p99_back_s":           {"time until p99 was back", "s"},
}

// ScriptUnit is the unit of a metric of our own scripts; empty: it has none, or is not ours.
func ScriptUnit(metric string) string { return scriptMetrics[metric].unit }

// Label is the figure's name on the page. A metric of a user's own script keeps its name.
func (r Rule) Label() string {
	if r.Name == P99Rule || r.Name == TrendRule {
		return "arrival p99"
	}
	if metric, ours := scriptMetrics[r.Name]; ours {
		return metric.label
	}
	if _, within, ok := WithinMetric(r.Name); ok {
		return "arrival within " + within.String()
	}
	return r.Name
}

// Measured is a rule with its value: "lateness ≤ 2 ms: 0.348 ms".
func (r Rule) Measured() string {
	s := r.Limited()
	if r.Value != nil {
		s += ": " + r.ValueText()
	}
	if r.Reason != "" {
		s += " (" + r.Reason + ")"
	}
	return s
}
