package judge

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// everything is the evidence of a run to which each rule applies.
func everything() Evidence {
	return Evidence{Cores: 2, Run: run(func(r *runfile.Run) {
		r.Health.Lateness, r.Health.SocketWait, r.Clock.LimitMS = new(latency(1)), new(latency(1)), new(1.0)
		r.Timeline = []runfile.Interval{{Generator: runfile.Usage{CPUPercent: new(1.0)}}}
		r.Steps = []runfile.Step{{Name: "steady", Measured: true, ScheduledPerS: 10, OfferedPerS: new(10.0)}}
	})}
}

func TestEachRuleOnTheInstrumentSaysWhatItIsAboutAndWhatToDo(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../../../reports/TROUBLESHOOTING.md")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, rule := range instrument {
		judged := rule(everything())
		require.NotNil(t, judged)
		assert.False(t, names[judged.Name], judged.Name)
		names[judged.Name] = true
		assert.Contains(t, []string{runfile.Sending, runfile.Receiving, runfile.WholeRun}, judged.Part, judged.Name)
		assert.NotEmpty(t, judged.Remedy, judged.Name)
		if len(judged.Doubts) == 0 {
			assert.Equal(t, runfile.Invalid, judged.Result, "%s: puts everything in doubt", judged.Name)
		}
		assert.Contains(t, string(document), "`"+judged.Name+"`", "TROUBLESHOOTING names it")
	}
}

// Not parallel: it adds a rule. The experiment: a rule is one function, and all of its reports follow.
func TestARuleIsOneFunction(t *testing.T) {
	before := instrument
	defer func() { instrument = before }()
	instrument = append(before[:len(before):len(before)], func(e Evidence) *runfile.Rule {
		rule := atMost("pauses", 3, 0, "pauses", runfile.Doubtful)
		rule.Part, rule.Doubts = runfile.Receiving, []runfile.Doubt{doubt(runfile.ArrivalClaim, runfile.TooHigh)}
		rule.Remedy = "the load generator paused. Give it more memory, and run again"
		return because(rule, "the generator paused %d times", 3)
	})
	r := run(nil)
	r.Verdict = Of(Evidence{Run: r})
	assert.Equal(t, runfile.Pass, r.Verdict.Result)
	assert.Equal(t, []string{"the generator paused 3 times"}, r.Verdict.Doubts)
	r.Verdict = Of(Evidence{Run: r, Limits: []runfile.Rule{limit(10, new(false))}})
	facts.Conclude(r, "")
	assert.Equal(t, runfile.Invalid, r.Verdict.Result)
	assert.Equal(t, "Undecided whether arrival p99 < 5 ms: the load generator paused. Give it more memory, and run again.",
		r.Answer.Sentence)
	assert.Contains(t, render.Markdown(r), "| pauses | 3 pauses | ≤ 0 pauses | in doubt |")
}
