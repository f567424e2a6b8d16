package judge

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// Threshold says what must hold of a run that has been judged, as a threshold of k6 does: arrival.p99 < 250ms.
// reports/README.md has the grammar.
type Threshold struct {
	text   string
	figure figure
	op     string
	limit  float64
}

var (
	figureToken = regexp.MustCompile(`^[A-Za-z_][\w.-]*(?:\([^)]*\))?`)
	opToken     = regexp.MustCompile(`^(?:===?|!=|[<>]=?)`)
	signToken   = regexp.MustCompile(`^[-+−]`)
	numberToken = regexp.MustCompile(`^\d+(?:\.\d+)?`)
	unitToken   = regexp.MustCompile(`^(?:%|ms|/s)`)
)

// tokens reads a threshold from left to right.
type tokens struct {
	text string
	at   int // byte of the next token
}

// skip goes to the next byte that is not a blank.
func (s *tokens) skip() {
	s.at += len(s.text[s.at:]) - len(strings.TrimLeft(s.text[s.at:], " \t"))
}

// take returns the next token, if it is of that kind; empty: it is not.
func (s *tokens) take(token *regexp.Regexp) string {
	s.skip()
	found := token.FindString(s.text[s.at:])
	s.at += len(found)
	return found
}

// fault says what is wrong at a byte of the text, and what is allowed there.
func (s *tokens) fault(at int, wrong, allowed string) error {
	return fmt.Errorf("%q, column %d: %s; allowed: %s", s.text, len([]rune(s.text[:at]))+1, wrong, allowed)
}

// missing says that a token is not at its place.
func (s *tokens) missing(what, allowed string) error {
	wrong := "there is no " + what
	if next := strings.Fields(s.text[s.at:]); len(next) > 0 {
		wrong = fmt.Sprintf("%q is not a %s", next[0], what)
	}
	return s.fault(s.at, wrong, allowed)
}

// ParseThreshold reads a threshold. The error names the column of the fault and what is allowed there.
func ParseThreshold(text string) (t Threshold, err error) {
	s := &tokens{text: text}
	name := s.take(figureToken)
	if name == "" {
		return t, s.missing("figure", "a figure like arrival.p99")
	}
	start := s.at - len(name)
	f, err := figureOf(name)
	if err != nil {
		return t, fmt.Errorf("%q, column %d: %w", text, start+1, err)
	}
	ops := "< <= > >= == !="
	if f.unit == "%" {
		ops = "> >="
	}
	op := s.take(opToken)
	if op == "" {
		return t, s.missing("comparison", ops)
	}
	if f.unit == "%" && op != ">" && op != ">=" {
		return t, s.fault(s.at-len(op), fmt.Sprintf("%q does not ask for enough deliveries in time", op), ops)
	}
	if sign := s.take(signToken); sign != "" {
		return t, s.fault(s.at-len(sign), "a limit with a sign is a difference, and one run has none",
			"a limit without a sign; npm run report -- compare checks differences")
	}
	number := s.take(numberToken)
	if number == "" {
		return t, s.missing("number", cmp.Or(map[string]string{"%": "99.9%", "ms": "250ms"}[f.unit], "0"))
	}
	limit, _ := strconv.ParseFloat(number, 64) // digits
	unit := s.take(unitToken)
	switch {
	case unit == "" && f.unit == "%":
		return t, s.fault(s.at, "a share is in %", "99.9%")
	case unit != "" && unit != f.unit:
		return t, s.fault(s.at-len(unit), unit+" is not the unit of "+name, cmp.Or(f.unit, "a number without a unit"))
	case f.unit == "" && limit != math.Trunc(limit):
		return t, s.fault(s.at-len(number), name+" is a count", "a whole number")
	case f.unit == "%" && limit > 100:
		return t, s.fault(s.at-len(unit)-len(number), "a share outside 0 to 100 %", "99.9%")
	}
	s.skip()
	if rest := strings.Fields(text[s.at:]); len(rest) > 0 {
		return t, s.fault(s.at, fmt.Sprintf("%q is not expected here", rest[0]), "nothing more")
	}
	return Threshold{text, f, op, limit}, nil
}

// Rule judges a run by the threshold. A rule that is not judged has the reason. The error is for a stage that the run
// does not have.
func (t Threshold) Rule(r *runfile.Run) (runfile.Rule, error) {
	rule := runfile.Rule{
		Name: t.figure.name, Op: t.op, Limit: &t.limit, Unit: cmp.Or(t.figure.things, t.figure.unit),
		Result: runfile.Fail, Part: runfile.Pipeline,
	}
	if err := t.known(r); err != nil {
		return rule, err
	}
	if rule.Reason = t.unjudgeable(r); rule.Reason != "" {
		return rule, nil
	}
	if rule.Value = t.figure.of(r); rule.Value == nil {
		rule.Reason = "too few samples"
		return rule, nil
	}
	rule.OK = new(Holds(*rule.Value, t.op, t.limit))
	if !*rule.OK {
		rule.Reason = rule.Broken()
	}
	return bounded(r, rule, t.about(), r.Verdict.Rules), nil
}

// Text is the threshold as it was given.
func (t Threshold) Text() string { return t.text }

// Replaces is the name of the built-in limit on the figure, which is 0; empty: there is none.
func (t Threshold) Replaces() string {
	name, ok := strings.CutPrefix(t.figure.name, "account.")
	judged := slices.Concat(ledger.JudgedCounts(ledger.Promised), ledger.JudgedCounts(ledger.Always))
	if ok && (name == runfile.FailedRequests ||
		slices.ContainsFunc(judged, func(c ledger.Count) bool { return c.Name == name })) {
		return name
	}
	return ""
}

// Without is the result of a run without its built-in limits of these names.
func Without(r *runfile.Run, names []string) string {
	v, ended := r.Verdict, r.Run.Ended != nil
	rest := slices.DeleteFunc(slices.Clone(v.Rules),
		func(rule runfile.Rule) bool { return slices.Contains(names, rule.Name) })
	if len(rest) == len(v.Rules) || of(v.Rules, ended).Result != v.Result { // its result has other reasons than rules
		return v.Result
	}
	return of(rest, ended).Result
}

// known returns an error if the run does not have the threshold's stage.
func (t Threshold) known(r *runfile.Run) error {
	stage := t.figure.stage
	if stage == "" || slices.ContainsFunc(r.Stages, func(s stages.Stage) bool { return s.Name == stage }) {
		return nil
	}
	if marks, spans := strings.CutPrefix(stage, "spans."); spans {
		if _, ok := spansStage(r, marks); ok {
			return nil
		}
	}
	allowed := []string{"arrival", "from_send", "http", "canary"}
	for _, s := range r.Stages {
		allowed = append(allowed, s.Name)
	}
	if r.Spans != nil {
		for _, s := range r.Spans.Stages {
			allowed = append(allowed, "spans."+s.From+"-"+s.To)
		}
	}
	return fmt.Errorf("%q: the run has no %s; allowed: %s, rate, account", t.text, stage, strings.Join(allowed, ", "))
}

// unjudgeable is why the figure of a run can't be judged; empty: it can, as far as it is not in doubt. A run that can't
// be used has exact counts all the same; one that has not ended has not looked for missing messages.
func (t Threshold) unjudgeable(r *runfile.Run) string {
	undecided := slices.ContainsFunc(r.Verdict.Rules, func(rule runfile.Rule) bool { return rule.Undecided })
	switch {
	case r.Run.Ended == nil:
		return "the run has not ended"
	case !r.Account.Balanced:
		return "the account does not balance"
	case t.figure.unit == "" || r.Verdict.Result != runfile.Invalid:
		return ""
	case !undecided || slices.ContainsFunc(r.Verdict.Rules, wholly):
		return "the run is invalid"
	}
	return ""
}

// about is what the figure claims. Rates, the canary, the schedule, spans and counts but the lost ones are what they
// are, whatever the instrument did.
func (t Threshold) about() subject {
	head, _, dotted := strings.Cut(t.figure.name, ".")
	switch {
	case !dotted: // a metric of the run's own limits
		return subjectOf(t.figure.name)
	case t.figure.name == "account.lost":
		return subject{claims: []string{runfile.AccountClaim}}
	case head == "arrival":
		return subject{claims: []string{runfile.ArrivalClaim}}
	case head == "from_send": // a late generator may send in bursts, so it may be too high or too low
		return subject{claims: []string{runfile.ArrivalClaim}, change: true}
	case head == "http":
		return subject{claims: []string{runfile.RequestsClaim}}
	case t.figure.stage == head && head != stages.Schedule:
		return subject{claims: []string{runfile.StagesClaim}}
	}
	return subject{}
}
