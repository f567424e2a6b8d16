package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// judged is a run with these rules.
func judged(rules ...runfile.Rule) *runfile.Run {
	return &runfile.Run{Verdict: runfile.Verdict{Rules: rules}}
}

func doubtful(name, result string, doubts ...runfile.Doubt) runfile.Rule {
	return runfile.Rule{Name: name, OK: new(false), Result: result, Reason: name + " was broken", Doubts: doubts}
}

func TestABrokenRuleOnTheInstrumentPutsItsClaimsInDoubt(t *testing.T) {
	t.Parallel()
	late := doubtful("lateness", runfile.Doubtful, runfile.Doubt{Claim: runfile.ArrivalClaim, Direction: runfile.TooHigh})
	assert.Equal(t, []runfile.InDoubt{{Claim: "arrival", Direction: "too_high", By: []string{"lateness"},
		Text: "lateness was broken"}}, inDoubt(judged(late)))
	late.OK = new(true)
	assert.Empty(t, inDoubt(judged(late, runfile.Rule{Name: runfile.P99Rule, OK: new(false), Result: runfile.Fail})))
}

func TestRulesThatDisagreeLeaveTheDirectionOpen(t *testing.T) {
	t.Parallel()
	found := inDoubt(judged(
		doubtful("lateness", runfile.Doubtful, runfile.Doubt{Claim: runfile.ArrivalClaim, Direction: runfile.TooHigh}),
		doubtful("cpu", runfile.Doubtful, runfile.Doubt{Claim: runfile.ArrivalClaim, Direction: runfile.TooHigh}),
		doubtful("dropped", runfile.Invalid, runfile.Doubt{Claim: runfile.ArrivalClaim, Direction: runfile.TooLow}),
	))
	assert.Equal(t, []runfile.InDoubt{{Claim: "arrival", Direction: "either",
		By: []string{"lateness", "cpu", "dropped"}, Text: "lateness was broken"}}, found)
}

func TestARuleWithoutClaimsPutsEverythingInDoubt(t *testing.T) {
	t.Parallel()
	assert.Len(t, inDoubt(judged(doubtful("balanced", runfile.Invalid))), len(claims))
	assert.Empty(t, inDoubt(judged(doubtful("finished", runfile.Incomplete))))
}
