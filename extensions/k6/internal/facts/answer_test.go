package facts

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const reports = "../../../../reports/"

var updateGoldens = flag.Bool("goldens", false, "update the answers and findings in the golden runs")

// golden reads a committed run, with this package's answer and findings.
func golden(t *testing.T, name string) *runfile.Run {
	t.Helper()
	text, err := os.ReadFile(reports + "testdata/" + name + ".json")
	require.NoError(t, err)
	r, err := runfile.Decode("", text)
	require.NoError(t, err)
	return r
}

// The answer names its figure and the figure's limit.
func TestTheAnswerOfEachGolden(t *testing.T) {
	t.Parallel()
	for name, names := range map[string][]string{
		"passing":        {"Held 2,850 messages/s", "the most that was offered", "p99 4.54 ms", "limit 250 ms"},
		"failing":        {"were held for 5 s", "192 lost", "of 89,300 messages"},
		"refusing":       {"No rate up to 2,850 messages/s was sustained", "the 10,549 of 89,300 messages that arrived"},
		"spike":          {"400 requests/s", "drained in 1 s (limit 5 s)", "p99", "after 1 s (limit 5 s)"},
		"soak":           {"24 s at 50 requests/s", "p99 grew by 0.110 ms", "(limit 50 ms)", "2.4 MB at most (limit 32 MB)"},
		"connections":    {"897 of 900 connections", "for 6 s", "canary p99 1.32 ms (limit 50 ms)"},
		"throughput":     {"at most 7,879 messages/s", "with 4 clients"},
		"capacity":       {"held 300 messages/s", "the most that was offered", "arrival p99", "limit 100 ms"},
		"fixed":          {"4 VUs carried", "messages/s", "arrival p50", "p99", "HTTP p99"},
		"three":          {"Held 475 messages/s, the most that was offered for 5 s", "arrival p99", "limit 250 ms"},
		"unjudged":       {"Not complete", "http_req_failed rate < 0.01", "not judged", "run again"},
		"incomplete":     {"Not finished", "had arrived", "again"},
		"started":        {"Not finished", "0 of 0 messages"},
		"unbalanced":     {"Not usable", "does not balance"},
		"gap":            {"Undecided", "lost its connection", "run again"},
		"closed":         {"knee is at 4 VUs, 2,28", "from 16 VUs on", "request", "below 250 ms", "2,28", "VUs"},
		"without-stages": {"messages/s", "p99"},
		"own-stages":     {"Held 2,850 messages/s", "p99 4.54 ms"},
		"hostile":        {"Carried 570 messages/s"},
		"real":           {"messages/s"},
	} {
		r := golden(t, name)
		stored := *r
		Conclude(r, "")
		if r.Verdict.Result == runfile.Invalid || r.Verdict.Result == runfile.Incomplete {
			assert.Nil(t, r.Answer.HeldPerS, "%s: claims a rate", name)
		}
		for _, part := range names {
			assert.Contains(t, r.Answer.Sentence, part, name)
		}
		if *updateGoldens {
			store(t, name, r)
		} else {
			const again = "%s: go test ./internal/facts -run Golden -goldens"
			assert.Equal(t, r.Answer, stored.Answer, again, name)
			assert.Equal(t, r.Findings, stored.Findings, again, name)
			assert.Equal(t, r.Facts, stored.Facts, again, name)
			assert.Equal(t, r.Verdict, stored.Verdict, again, name)
		}
	}
}

// In every scenario a failed run keeps its answer and adds the broken limit. An invalid or
// incomplete run claims no rate.
func TestTheAnswerDependsOnTheVerdict(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"passing", "closed", "spike", "fixed", "soak", "connections", "throughput",
		"capacity", "three"} {
		r := golden(t, name)
		Conclude(r, "")
		answer := r.Answer.Sentence
		broken := runfile.Rule{Name: runfile.P99Rule, Value: new(14.4), Op: "<", Limit: new(0.1), Unit: "ms", OK: new(false),
			Result: runfile.Fail}
		r.Verdict.Result, r.Verdict.Reasons, r.Verdict.Rules = runfile.Fail, []string{broken.Broken()},
			append(r.Verdict.Rules, broken)
		Conclude(r, "")
		if r.Facts.Question != nil || r.Run.Model == runfile.Closed {
			assert.NotEmpty(t, r.Answer.Sentence, name)
		} else {
			rest, kept := strings.CutPrefix(r.Answer.Sentence, answer)
			assert.True(t, kept, "%s: the answer keeps the run's first limit: %s", name, r.Answer.Sentence)
			assert.Regexp(t, `^ .* took [\d.]+ % of the time`, rest, "%s: and adds where its time went", name)
		}
		for _, text := range []string{render.Markdown(r), render.Text(r, "", render.Screen{})} {
			assert.Regexp(t, `arrival p99 14\.4 ms, limit &?l?t?;?<? ?0\.1 ms`, text, name)
		}
		junit, err := render.JUnit(r)
		require.NoError(t, err)
		assert.Contains(t, string(junit), `message="arrival p99 14.4 ms, limit &lt; 0.1 ms"`, name)

		r.Verdict.Result = runfile.Invalid
		r.Verdict.Rules = append(r.Verdict.Rules, late)
		Conclude(r, "")
		assert.Regexp(t, "^Not usable: .* late.* run again", r.Answer.Sentence, name)
		assert.Nil(t, r.Answer.HeldPerS, name)

		r.Run.Ended, r.Verdict.Result = nil, runfile.Incomplete
		Conclude(r, "")
		assert.Regexp(t, "^Not finished: [0-9,]+ of [0-9,]+ messages", r.Answer.Sentence, name)
		assert.Nil(t, r.Answer.HeldPerS, name)
	}
}

// store writes a run into its file.
func store(t *testing.T, name string, r *runfile.Run) {
	t.Helper()
	text, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, runfile.Validate(text), name)
	require.NoError(t, os.WriteFile(reports+"testdata/"+name+".json", append(text, '\n'), 0o644))
}

// late is a broken rule.
var late = runfile.Rule{Name: "lateness", OK: new(false), Result: runfile.Invalid,
	Remedy: "the load generator was late. Do less, and run again"}

func TestTheScriptsAnswerIsUsedIfTheRunIsUsable(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	Conclude(r, "The backlog drained in 3 s.")
	assert.Equal(t, "The backlog drained in 3 s.", r.Answer.Sentence)
	r.Verdict.Result = runfile.Invalid
	r.Verdict.Rules = append(r.Verdict.Rules, late)
	Conclude(r, "The backlog drained in 3 s.")
	assert.Regexp(t, "^Not usable: the load generator was late", r.Answer.Sentence)
	r.Run.Ended = nil
	Conclude(r, "The backlog drained in 3 s.")
	assert.Regexp(t, "^Not finished: ", r.Answer.Sentence)
}

func TestARateIsHeldOnlyBelowTheLimit(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	Conclude(r, "")
	assert.InDelta(t, 2850, *r.Answer.HeldPerS, 1)
	assert.InDelta(t, 250, *r.Answer.P99LimitMS, 0)
	for i := range r.Timeline {
		if s := &r.Timeline[i]; s.T >= 20 && s.Arrival != nil {
			s.Arrival.P99 = new(250.0)
		}
	}
	Conclude(r, "")
	assert.InDelta(t, 1150, *r.Answer.HeldPerS, 60, "more was offered but not held")
	assert.Regexp(t, `^Held 1,1\d\d messages/s, with arrival p99 at most [\d.]+ ms \(limit 250 ms\)\. `+
		`2,850 messages/s were offered, and `,
		r.Answer.Sentence)
	// Regression: a run that its limit failed began with what it held below that limit.
	slow := *r
	slow.Verdict = runfile.Verdict{Result: runfile.Fail, Rules: []runfile.Rule{{Name: runfile.P99Rule, Op: "<",
		Limit: new(250.0), OK: new(false),
		Result: runfile.Fail}}}
	Conclude(&slow, "")
	assert.Regexp(t, `^Arrival p99 [\d.,]+ ms is above the limit of 250 ms\. .* 1,1\d\d messages/s were held `,
		slow.Answer.Sentence)
	for i := range r.Timeline {
		if s := &r.Timeline[i]; s.Arrival != nil {
			s.Arrival.P99 = new(250.0)
		}
	}
	Conclude(r, "")
	assert.Zero(t, *r.Answer.HeldPerS)
	r.Verdict.Rules = nil
	Conclude(r, "")
	assert.Nil(t, r.Answer.P99LimitMS)
	assert.Nil(t, r.Answer.HeldPerS)
	assert.Regexp(t, "^Carried 2,850 messages/s with arrival p50 ", r.Answer.Sentence)
	r.Figures = []runfile.Figure{{Name: runfile.P99Figure, Value: new(50.0), Unit: "ms"}}
	Conclude(r, "")
	assert.InDelta(t, 50, *r.Answer.P99LimitMS, 0)
}

// Regression: a pipeline that refused most messages and was fast with the rest held the whole rate.
func TestARateWithRejectionsLossOrBacklogIsNotHeld(t *testing.T) {
	t.Parallel()
	refusing := golden(t, "refusing")
	assert.Less(t, *refusing.Latency.Arrival.P99, 5.0, "accepted messages are fast")
	Conclude(refusing, "")
	assert.Zero(t, *refusing.Answer.HeldPerS)

	losing := golden(t, "passing")
	for i := 35; i < len(losing.Timeline); i++ {
		losing.Timeline[i].Backlog += 3
	}
	losing.Steps[2].Arrived -= 3
	Conclude(losing, "")
	assert.InDelta(t, 2400, *losing.Answer.HeldPerS, 499, "a second that ends without a backlog lost nothing")
	for i := range losing.Timeline {
		losing.Timeline[i].Backlog += 3
	}
	Conclude(losing, "")
	assert.Less(t, *losing.Answer.HeldPerS, 2800.0, "if it is unknown when messages were lost, the phase held nothing")

	behind := golden(t, "passing")
	for i := range behind.Timeline {
		s := &behind.Timeline[i]
		s.Arrived /= 2
		s.Backlog = s.T * int(s.Arrived)
	}
	Conclude(behind, "")
	assert.Zero(t, *behind.Answer.HeldPerS)
}

// Regression: a step of 30 VUs counted although 16 and 20 failed. A sweep of one step held nothing.
func TestASweepHoldsAStepOnlyIfAllLowerStepsHold(t *testing.T) {
	t.Parallel()
	r := golden(t, "closed")
	r.Figures = []runfile.Figure{{Name: runfile.P99Figure, Value: new(250.0)}}
	r.Verdict.Rules = nil
	steps := r.Steps[1:]
	for i, p99 := range []float64{10, 20, 300, 10} {
		n := 1000 * (i + 1)
		s := &steps[i]
		s.Accepted, s.Taken, s.Scheduled, s.Due, s.Arrived, s.Backlog, s.DurationS = n, n, n, n, n, new(0), 1
		s.Latency.Arrival.P99 = &p99
	}
	Conclude(r, "")
	assert.InDelta(t, 2000, *r.Answer.HeldPerS, 0)
	assert.Contains(t, r.Answer.Sentence, "2,000 messages/s, with 4 VUs; 16 VUs exceeded it")
	steps[1].Latency.Arrival.P99, steps[2].Latency.Arrival.P99 = new(300.0), new(300.0)
	steps[3].Latency.Arrival.P99 = new(300.0)
	Conclude(r, "")
	assert.InDelta(t, 1000, *r.Answer.HeldPerS, 0)
	assert.Contains(t, r.Answer.Sentence, "; 4, 16 and 32 VUs exceeded it")
	r.Steps = r.Steps[:2]
	Conclude(r, "")
	assert.InDelta(t, 1000, *r.Answer.HeldPerS, 0)
	steps[0].Latency.Arrival.P99 = new(300.0)
	Conclude(r, "")
	assert.Zero(t, *r.Answer.HeldPerS)
}

func TestAStepCarriesOnlyArrivalsDuringTheStep(t *testing.T) {
	t.Parallel()
	r := golden(t, "closed")
	Conclude(r, "")
	few := &r.Steps[2]
	all := few.CarriedPerS
	assert.InDelta(t, float64(few.Accepted)/few.DurationS, all, 1e-9)
	few.Backlog = new(few.Due / 2)
	carry(r.Steps)
	assert.InDelta(t, all/2, few.CarriedPerS, 0.5, "its backlog does not count")
	few.Backlog, few.Arrived = new(0), few.Arrived/2
	carry(r.Steps)
	assert.InDelta(t, all/2, few.CarriedPerS, 0.5, "lost messages do not count")
}

func TestTheShareWithinALimitComesFromTheHistogram(t *testing.T) {
	t.Parallel()
	var s ledger.Series
	s.AddMany(10_000, 990)
	s.AddMany(500_000, 10)
	within := runfile.NewLatency(&s, true).Within(250 * time.Millisecond)
	assert.InDelta(t, 0.99, *within, 1e-9)
	assert.Nil(t, runfile.NewLatency(&s, false).Within(250*time.Millisecond), "unknown without the histogram")
}

// Regression: the load of a script's own executor was called by the most VUs that the profile lets send.
func TestAnExecutorOfTheScriptsOwnIsNamed(t *testing.T) {
	t.Parallel()
	r := golden(t, "fixed")
	r.Environment[runfile.Executors] = "load (ramping-vus)"
	Conclude(r, "")
	assert.Contains(t, r.Answer.Sentence, "Scenario load (ramping-vus) carried")
	assert.NotContains(t, r.Answer.Sentence, "VU ")
}

// The rule on the phases of an executor of one's own stood in the source alone.
func TestTheCauseSaysWhatAnExecutorsPhasesNeed(t *testing.T) {
	t.Parallel()
	r := golden(t, "fixed")
	r.Scene = &runfile.Scene{}
	r.Scene.Abandoned = `the senders ended after 5 requests, before the end of phase "load"`
	assert.Contains(t, Cause(r), "run.scenarios()")
	r.Environment[runfile.Executors] = "load (ramping-vus)"
	assert.Contains(t, Cause(r), "let its phases last as long as load (ramping-vus) begins iterations, and add a last one "+
		"with measured: false")
}

// Regression: the sentence of a run in which much failed listed again, in six lines, what the verdict's line above it
// says.
func TestTheSentenceOfARunInWhichMuchFailsSaysTheCauseAndRepeatsNoFigureOfTheLineAboveIt(t *testing.T) {
	t.Parallel()
	r := golden(t, "failing")
	r.Account.Lost, r.Account.Rejected, r.Account.Unknown = 0, 22, 170
	r.Account.Requests.Failed = 133
	r.Errors = []runfile.ErrorClass{
		{Stage: runfile.RequestStage, Class: "timeout", Count: 120},
		{Stage: runfile.RequestStage, Class: "no connection", Count: 13},
	}
	broken := func(name, unit string, value float64) runfile.Rule {
		return runfile.Rule{Name: name, Value: &value, Op: "==", Limit: new(0.0), Unit: unit, OK: new(false),
			Result: runfile.Fail}
	}
	r.Verdict.Rules = append(r.Verdict.Rules, broken(runfile.FailedRequests, "", 133),
		broken("rejected", "messages", 22), broken("unknown", "messages", 170))
	r.Verdict.Reasons = []string{Failures(r), "rejected: 22 of 89,300 messages", "unknown: 170 of 89,300 messages"}
	Conclude(r, "")
	for _, figure := range []string{"arrival p99 4,020 ms", "22 messages were rejected",
		"170 messages were unknown"} {
		assert.Contains(t, r.Verdict.Meaning, figure)
	}
	assert.Regexp(t, `^Queue took 99\.91 % of the time: more came than the relay carried\.`, r.Answer.Sentence)
	assert.NotContains(t, r.Verdict.Meaning, "requests", "the sentence counts them")
	assert.Contains(t, r.Answer.Sentence, "133 of 47,000 requests got no 2xx: 120 × timeout, 13 × no connection")
	assert.Contains(t, r.Answer.Sentence, "192 of 89,300 messages")
	assert.NotRegexp(t, `4,020|\b22\b|\b170\b`, r.Answer.Sentence)
	assert.Empty(t, r.Facts.Reasons, "the line above or the sentence has them")
}
