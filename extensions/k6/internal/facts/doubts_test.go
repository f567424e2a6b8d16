package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// judged is a run with these rules.
func judged(rules ...report.Rule) *report.Run {
	return &report.Run{Verdict: report.Verdict{Rules: rules}}
}

func doubtful(name, result string, doubts ...report.Doubt) report.Rule {
	return report.Rule{Name: name, OK: new(false), Result: result, Reason: name + " was broken", Doubts: doubts}
}

func TestABrokenRuleOnTheInstrumentPutsItsClaimsInDoubt(t *testing.T) {
	t.Parallel()
	late := doubtful("lateness", report.Doubtful, report.Doubt{Claim: report.ArrivalClaim, Direction: report.TooHigh})
	assert.Equal(t, []report.InDoubt{{Claim: "arrival", Direction: "too_high", By: []string{"lateness"},
		Text: "lateness was broken"}}, inDoubt(judged(late)))
	late.OK = new(true)
	assert.Empty(t, inDoubt(judged(late, report.Rule{Name: report.P99Rule, OK: new(false), Result: report.Fail})))
}

func TestRulesThatDisagreeLeaveTheDirectionOpen(t *testing.T) {
	t.Parallel()
	found := inDoubt(judged(
		doubtful("lateness", report.Doubtful, report.Doubt{Claim: report.ArrivalClaim, Direction: report.TooHigh}),
		doubtful("cpu", report.Doubtful, report.Doubt{Claim: report.ArrivalClaim, Direction: report.TooHigh}),
		doubtful("dropped", report.Invalid, report.Doubt{Claim: report.ArrivalClaim, Direction: report.TooLow}),
	))
	assert.Equal(t, []report.InDoubt{{Claim: "arrival", Direction: "either",
		By: []string{"lateness", "cpu", "dropped"}, Text: "lateness was broken"}}, found)
}

func TestARuleWithoutClaimsPutsEverythingInDoubt(t *testing.T) {
	t.Parallel()
	assert.Len(t, inDoubt(judged(doubtful("balanced", report.Invalid))), len(claims))
	assert.Empty(t, inDoubt(judged(doubtful("finished", report.Incomplete))))
}
