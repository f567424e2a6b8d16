package judge

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// unended is a run that was cut off.
func unended(change func(r *runfile.Run)) *runfile.Run {
	return run(func(r *runfile.Run) {
		r.Run.Ended = nil
		if change != nil {
			change(r)
		}
	})
}

// Regression: a run that k6 ended for a limit with abortOnFail was incomplete, with its limit not judged.
func TestALimitThatEndedTheRunFailsIt(t *testing.T) {
	t.Parallel()
	crossed, other := limit(14.4, new(false)), limit(1, new(true))
	other.Name = "http_req_duration p(95)"
	v := Of(Evidence{
		Run: unended(nil), CutOff: "the run was cut off at 0:04 of 0:30", Limits: []runfile.Rule{crossed, other},
		Aborted: []runfile.Rule{crossed},
	})
	assert.Equal(t, runfile.Fail, v.Result)
	assert.Equal(t, []string{crossed.Reason + " (abortOnFail): the run was cut off at 0:04 of 0:30"}, v.Reasons)
	assert.Equal(t, []string{"finished", "arrival_p99"}, broken(v), "others may yet have held")

	v = Of(Evidence{Run: unended(nil), CutOff: "cut off", Limits: []runfile.Rule{crossed}})
	assert.Equal(t, runfile.Incomplete, v.Result, "something else ended it")
	assert.Equal(t, []string{"finished"}, broken(v))
}

// Regression: such a run could pass: k6 looks each two seconds, and what it saw may lie below the limit at the end.
func TestALimitThatEndedTheRunAndHoldsAgainLeavesItIncomplete(t *testing.T) {
	t.Parallel()
	holds := limit(4.9, new(true))
	v := Of(Evidence{Run: unended(nil), CutOff: "cut off", Limits: []runfile.Rule{holds}, Aborted: []runfile.Rule{holds}})
	assert.Equal(t, runfile.Incomplete, v.Result)
	assert.Equal(t, []string{"cut off: a limit with abortOnFail was crossed, and holds again"}, v.Reasons)
}

// The rule that every run has on an end of the account is one that a script may give abortOnFail.
func TestARuleOfTheAccountThatEndedTheRunFailsIt(t *testing.T) {
	t.Parallel()
	v := Of(Evidence{
		Run: unended(func(r *runfile.Run) { r.Account.Rejected = 3 }), CutOff: "cut off",
		Aborted: []runfile.Rule{{Name: "arrival_rejected", Op: "==", Limit: new(0.0), OK: new(false)}},
	})
	assert.Equal(t, runfile.Fail, v.Result)
	assert.Equal(t, []string{"finished", "rejected"}, broken(v))
	assert.Contains(t, v.Reasons[0], "3 of 100 messages")
}

// A delay that the generator may have caused decides nothing here either.
func TestAnUndecidedLimitThatEndedTheRunLeavesItUndecided(t *testing.T) {
	t.Parallel()
	late := unended(func(r *runfile.Run) {
		r.Health.Lateness = new(latency(9))
		r.Health.Lateness.Max = new(9.5)
	})
	crossed := limit(10, new(false))
	v := Of(Evidence{Run: late, CutOff: "cut off", Limits: []runfile.Rule{crossed}, Aborted: []runfile.Rule{crossed}})
	assert.Equal(t, runfile.Invalid, v.Result)
	assert.Contains(t, strings.Join(v.Reasons, "\n"), "(abortOnFail): cut off")
	assert.Contains(t, strings.Join(v.Reasons, "\n"), "undecided")
}

// Regression: a part that was cut off made the whole incomplete, though a limit had ended the run.
func TestALimitThatEndedAnInstanceFailsTheWhole(t *testing.T) {
	t.Parallel()
	aborted := func(r *runfile.Run) {
		withVerdict(runfile.Fail, "arrival p99 14.4 ms, limit < 5 ms (abortOnFail): cut off")(r)
		r.Run.Ended = nil
	}
	cut := func(r *runfile.Run) {
		withVerdict(runfile.Incomplete, "cut off at 0:02 of 0:10")(r)
		r.Run.Ended, r.Timeline = nil, []runfile.Interval{{T: 0}, {T: 1}}
	}
	v := together(cut, aborted, passes)
	assert.Equal(t, runfile.Fail, v.Result)
	assert.Equal(t, []string{
		"generator 1 of 3 (0:1/3) was cut off: its account ends after 2 s, with 100 messages",
		"generator 2: arrival p99 14.4 ms, limit < 5 ms (abortOnFail): cut off",
	}, v.Reasons)
	assert.Equal(t, runfile.Incomplete, together(aborted, nil, passes).Result, "a part that is missing is not known")
}
