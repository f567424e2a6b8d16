package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

func TestTheP99OfAServerFollowsFromTheSchedule(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		truth truth
		want  float64
	}{
		"no queue, a delay":                       {truth{delay: 50 * ms}, 50},
		"a server that is never busy when needed": {truth{service: mostly(4 * ms)}, 4},
		"a server and a delay":                    {truth{service: mostly(4 * ms), delay: 50 * ms}, 54},
		"each waits 1 ms longer than the last":    {truth{service: mostly(6 * ms)}, 6 + 98},
		"one long one delays those behind it":     {truth{service: mostly(3*ms, rule[time.Duration]{100, 50, 80 * ms})}, 78},
	} {
		assert.InDelta(t, c.want, c.truth.p99(dues(200, 100), nil), 2, name)
	}
}

func TestAPipelineThatStoodStillIsSlower(t *testing.T) {
	t.Parallel()
	due := dues(100, 3)                // at 0, 10 and 20 ms
	still := stalls{{8 * ms, 25 * ms}} // nothing is accepted, nothing is written
	delay := truth{delay: 2 * ms}
	assert.Equal(t, []time.Duration{2 * ms, 27 * ms, 27 * ms}, delay.arrivals(due, still))
	server := truth{service: mostly(9 * ms)}
	assert.Equal(t, []time.Duration{25 * ms, 34 * ms, 43 * ms}, server.arrivals(due, still))
}

func TestALimitIsRightUndecidedOrFalse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit float64
		got   string
		want  string
		ok    bool
	}{
		{45, runfile.Fail, failRight, true},
		{45, runfile.Invalid, undecided, true},
		{45, runfile.Pass, falseGreen, false},
		{50, runfile.Pass, falseGreen, false}, // p99 is not below the limit
		{55, runfile.Pass, passRight, true},   // between what was configured and what the machine made of it
		{55, runfile.Fail, failRight, true},
		{70, runfile.Pass, passRight, true},
		{70, runfile.Invalid, undecided, true},
		{70, runfile.Fail, falseRed, false},
	} {
		r := judged(c.limit, 50, 60, c.got, "")
		assert.Equal(t, c.want, r.tolerance, "%+v", c)
		assert.Equal(t, c.ok, r.ok, "%+v", c)
		assert.Equal(t, !c.ok, r.isWrongAnywhere(), "a second attempt would hide it")
	}
}

func TestTheResultOfALimitIsThatOfTheVerdict(t *testing.T) {
	t.Parallel()
	rule := func(limit, rest string) string { return `{"name":"arrival_p99","limit":` + limit + `,` + rest + `}` }
	held, broken, open := rule("55", `"ok":true`), rule("45", `"ok":false`), rule("50", `"ok":null,"undecided":true`)
	for name, c := range map[string]struct {
		verdict string
		limits  []float64
		want    []string
		follows bool
	}{
		"decided": {
			`"fail","rules":[` + held + `,` + broken + `]`, []float64{55, 45}, []string{runfile.Pass, runfile.Fail}, true,
		},
		"one undecided": {
			`"invalid","rules":[` + held + `,` + open + `]`, []float64{55, 50}, []string{runfile.Pass, runfile.Invalid}, true,
		},
		"all undecided": {`"invalid","rules":[` + held + `]`, []float64{55}, []string{runfile.Invalid}, true},
		"does not follow": {
			`"pass","rules":[` + held + `,` + broken + `]`, []float64{55, 45}, []string{runfile.Pass, runfile.Fail}, false,
		},
	} {
		o := newOutcome(&testCase{limits: c.limits}, 1)
		g := o.generators[0]
		g.exit = thresholdsCrossed
		require.NoError(t, json.Unmarshal([]byte(`{"result":`+c.verdict+`}`), &g.run.Verdict))
		got := []string{}
		for _, limit := range c.limits {
			got = append(got, resultOf(g.run.Verdict, limit))
		}
		assert.Equal(t, c.want, got, name)
		assert.Equal(t, c.follows, holds(follows(o)), name)
	}
}

func TestTheAnswersAreSummedUp(t *testing.T) {
	t.Parallel()
	answers := boundsAnswers{}
	answers.add(row{tolerance: exact, ok: true})
	assert.Empty(t, answers.text(), "no case had limits")
	for _, tolerance := range []string{passRight, failRight, failRight, undecided, falseRed} {
		answers.add(row{tolerance: tolerance})
	}
	assert.Contains(t, answers.text(), "1 of 5 limits undecided; false greens 0, false reds 1")
}

func TestEveryTruthMeetsEveryDisturbance(t *testing.T) {
	t.Parallel()
	all := boundsCases()
	names := []string{}
	for _, c := range all {
		names = append(names, c.name)
		for _, limit := range c.limits {
			assert.Positive(t, limit, c.name)
		}
	}
	for _, name := range shortBounds {
		assert.Contains(t, names, name)
	}
	possible := 0
	for _, d := range disturbances {
		if d.impossible() == "" {
			possible++
		}
	}
	assert.Len(t, all, len(truths)*possible)
}

func TestAWatchNotesWhenTheProcessStoodStill(t *testing.T) {
	t.Parallel()
	start := time.Now()
	w := &watch{last: start}
	for _, at := range []time.Duration{1 * ms, 2 * ms, 31 * ms, 32 * ms} {
		w.beat(start.Add(at))
	}
	assert.Equal(t, []lateBeat{{start.Add(2 * ms), start.Add(31 * ms)}}, w.late)
	began := time.Now()
	late := []lateBeat{{began.Add(10 * ms), began.Add(30 * ms)}}
	assert.Equal(t, 30*ms, since(began, late).end(15*ms))
	assert.Equal(t, 30*ms, since(began, late).end(30*ms))
	assert.Equal(t, 5*ms, since(began, late).end(5*ms))
}

func TestTheFirstCoreIsTakenOffAList(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][2]string{
		"0": {"0", ""}, "0-1": {"0", "1-1"}, "0-3,8": {"0", "1-3,8"}, "2,5": {"2", "5"}, "4,6-7": {"4", "6-7"},
	} {
		first, others := splitCores(list)
		assert.Equal(t, want, [2]string{first, others}, list)
	}
}

// A process that was stopped must go on, also if the self-test is interrupted meanwhile.
func TestAFrozenProcessGoesOn(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	require.NoError(t, f.Start())
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	answer, err := http.Post(f.IngestURL(), "application/json", strings.NewReader(`{"id":"1","target":"a"}`))
	require.NoError(t, err)
	_ = answer.Body.Close()
	for name, stopped := range map[string]time.Duration{"undisturbed": time.Minute, "interrupted": frozenFor / 3} {
		ctx, cancel := context.WithTimeout(t.Context(), stopped)
		command := exec.Command("sh", "-c", "sleep 0.1; exit 7")
		began := time.Now()
		require.NoError(t, command.Start())
		freezeK6(ctx, command.Process, f, []time.Duration{0})
		cancel()
		_ = command.Wait()
		assert.Equal(t, 7, command.ProcessState.ExitCode(), name)
		assert.GreaterOrEqual(t, time.Since(began), min(stopped, frozenFor), name)
	}
}
