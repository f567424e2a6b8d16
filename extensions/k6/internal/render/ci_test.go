package render

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"strings"
	"testing"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const hostile = "</failure><script>alert(1)</script>|`*_]](x)\x00\n../..\u2028&"

func failed() *runfile.Run {
	r := balanced()
	ended := "2026-11-21T10:00:51.500Z"
	r.Run.Name, r.Run.Started, r.Run.Ended = hostile, "2026-11-21T10:00:00.000Z", &ended
	r.Facts.Reasons = []string{hostile + strings.Repeat("x", 10_000)}
	r.Verdict = runfile.Verdict{Result: runfile.Fail, Reasons: r.Facts.Reasons, Rules: []runfile.Rule{
		{Name: "finished", OK: new(true), Result: runfile.Incomplete},
		{Name: "arrival_latency p(99)", Value: new(3.5), Op: "<", Limit: new(250.0), Unit: "ms", OK: new(true),
			Result: runfile.Fail},
		{Name: hostile, Value: new(1.0), Op: "==", Limit: new(0.0), OK: new(false), Result: runfile.Fail, Reason: hostile},
		{Name: "lateness", Value: new(3.0), Op: "<=", Limit: new(2.0), Unit: "ms", OK: new(false), Result: runfile.Invalid},
		{Name: "not judged", Op: "<", Limit: new(0.5), Result: runfile.Fail},
	}}
	r.Account = runfile.Account{Scheduled: 12345, Arrived: 12342, Lost: 3, Balanced: true,
		Deliveries: runfile.Deliveries{Due: 12345, Arrived: 12342}}
	r.Latency.Arrival = runfile.NewLatency(ramp(2000), true)
	return r
}

func TestJUnitHasACasePerRule(t *testing.T) {
	t.Parallel()
	data, err := JUnit(failed())
	require.NoError(t, err)
	var suite junitSuite
	require.NoError(t, xml.Unmarshal(data, &suite), string(data))
	// Regression: a broken limit was two failures, its own and the verdict's.
	assert.Equal(t, []int{6, 1, 1, 2}, []int{suite.Tests, suite.Failures, suite.Errors, suite.Skipped})
	assert.Equal(t, "51.500", suite.Time)
	assert.Equal(t, "2026-11-21T10:00:00", suite.Stamp, "Ant's schema allows no zone")
	assert.Equal(t, "localhost", suite.Host)
	assert.Equal(t, "51.500", suite.Cases[0].Time)
	for _, c := range suite.Cases[1:] {
		assert.Equal(t, "0.000", c.Time, "a sum over the cases counts the run once")
	}
	names := []string{}
	for _, c := range suite.Cases {
		names = append(names, c.Name)
	}
	assert.Equal(t, []string{"verdict", "finished", "arrival_latency p(99) < 250 ms"}, names[:3])
	assert.NotNil(t, suite.Cases[0].Skipped, "broken rules have said it")
	assert.Nil(t, suite.Cases[1].Failure)
	assert.Nil(t, suite.Cases[2].Failure)
	require.NotNil(t, suite.Cases[3].Failure)
	assert.Contains(t, suite.Cases[3].Failure.Message, " 1, limit = 0)", "the measured value and its limit")
	assert.Equal(t, "fail", suite.Cases[3].Failure.Type)
	assert.Contains(t, suite.Cases[3].Failure.Message, "<script>alert(1)</script>")
	require.NotNil(t, suite.Cases[4].Error)
	assert.Equal(t, runfile.Invalid, suite.Cases[4].Error.Type, "a fault of the instrument is an error, not a failure")
	assert.Equal(t, "lateness 3 ms, limit ≤ 2 ms", suite.Cases[4].Error.Message)
	assert.NotNil(t, suite.Cases[5].Skipped)
	assert.NotContains(t, string(data), "<script")
	assert.NotContains(t, string(data), "\x00")

	r := failed()
	r.Account.Balanced, r.Account.Lost, r.Run.Ended, r.Verdict.Result = false, 0, nil, runfile.Incomplete
	r.Verdict.Rules = r.Verdict.Rules[4:] // none is broken: the verdict's own case has the cause
	r.Verdict.Rules[0].OK = nil
	r.Environment = map[string]any{"hostname": "ci-1"}
	data, err = JUnit(r)
	require.NoError(t, err)
	assert.Contains(t, string(data), `<system-out>12,345 scheduled ≠ 0 dropped`)
	assert.Contains(t, string(data), `<error message="incomplete" type="incomplete">`)
	assert.Contains(t, string(data), `hostname="ci-1"`)
	assert.Contains(t, string(data), `time="0.000"`)
}

func TestMarkdownSummarizesTheRun(t *testing.T) {
	t.Parallel()
	text := Markdown(failed())
	assert.Less(t, len(text), 3000, text)
	for _, line := range []string{
		"\n12,345 scheduled = 0 dropped + 0 rejected + 0 unknown + 12,342 arrived + 0 dead-lettered + 0 queued + 3 lost  \n",
		"\n| **arrival** | 1,000 | 1,000 | 1,901 | 1,980 | 2,000 | 2,000 |\n",
		"\n| arrival p99 | 3.50 ms | &lt; 250 ms | held |\n",
		" | 1 | = 0 | **fail** |\n",
		"\n| not judged | n/a | &lt; 0.5 | not judged |\n",
	} {
		assert.Contains(t, text, line)
	}
	assert.True(t, strings.HasPrefix(text, "## FAIL: &lt;/failure\\>&lt;script\\>alert(1)"), text)
	assert.NotContains(t, text, "<script")
	assert.NotContains(t, text, "\u2028")
	assert.NotContains(t, text, "Stages", "the run has no stamps")

	r := failed()
	r.Run.Command = "./k6 run -e 'SALT=```' scenarios/ramp.js " + strings.Repeat("-e A=1 ", 200) + "--last"
	r.Environment = map[string]any{"ci": map[string]any{"name": "GitHub Actions", "url": "https://ci.example/job/7"}}
	assert.Contains(t, Markdown(r), "\nReport: [index.html](<index.html>) of [GitHub Actions](<https://ci.example/job/7>)\n\n````\n"+r.Run.Command+"\n````\n",
		"the whole command, as it can be copied")
	r.Environment["ci"] = map[string]any{"url": "javascript:alert(1)"}
	assert.NotContains(t, Markdown(r), "javascript")

	r = failed()
	r.Figures = []runfile.Figure{
		{Name: "HTTP mean", Value: new(0.0483), Unit: "ms"}, {Name: "time to drain", Value: new(3.25), Unit: "s"},
		{Name: "senders", Value: new(64.0)}, {Name: "time until p99 is back", Unit: "s"},
	}
	text = Markdown(r)
	assert.Contains(t, text,
		"\n- HTTP mean: 0.048 ms\n- time to drain: 3.25 s\n- senders: 64\n- time until p99 is back: not available\n")

	r = failed()
	r.Account.Balanced = false
	text = Markdown(r)
	assert.Contains(t, text, "≠")
	assert.NotContains(t, text, "p99", "no percentile without a balanced account")
}

func TestJUnitAndMarkdownOfTheGoldenRuns(t *testing.T) {
	t.Parallel()
	var vectors []struct {
		Run     string          `json:"run"`
		Change  json.RawMessage `json:"change"` // merged into the run
		JUnit   []string        `json:"junit"`
		Summary []string        `json:"summary"`
	}
	text, err := os.ReadFile("testdata/ci.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.NotEmpty(t, vectors)
	for i, v := range vectors {
		text, err := os.ReadFile(reports + "testdata/" + v.Run + ".json")
		require.NoError(t, err)
		r, err := runfile.Parse(text)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(v.Change, r))
		junit, err := JUnit(r)
		require.NoError(t, err)
		if *updateGoldens {
			vectors[i].JUnit, vectors[i].Summary = strings.Split(string(junit), "\n"), strings.Split(Markdown(r), "\n")
			continue
		}
		assert.Equal(t, v.JUnit, strings.Split(string(junit), "\n"), v.Run)
		assert.Equal(t, v.Summary, strings.Split(Markdown(r), "\n"), v.Run)
	}
	if *updateGoldens {
		text, err := json.MarshalIndent(vectors, "", "  ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("testdata/ci.json", append(text, '\n'), 0o644))
	}
}
