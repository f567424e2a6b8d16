package render

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/stretchr/testify/assert"
)

// Regression: with the CPU of five processes a row had 120 columns.
func TestTheTableOfStepsFits100Columns(t *testing.T) {
	t.Parallel()
	r := balanced()
	for _, name := range []string{"the first of two phases, and a long one", "Δ"} {
		r.Steps = append(r.Steps, runfile.Step{
			Name: name, DurationS: 1, Requests: 100_000, Backlog: new(1_000_000),
			CPUPercent: map[string]float64{"ingest-1": 100, "k6": 1, "mosquitto": 1, "redis": 7, "relay-1": 3},
		})
	}
	rows := 0
	for line := range strings.Lines(Text(r, "", Screen{})) {
		if strings.Contains(line, "1,000,000") || strings.Contains(line, "HTTP mean") {
			rows++
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), 100, line)
		}
	}
	assert.Equal(t, 3, rows)
	wide := stepsText(r, true)
	assert.Greater(t, utf8.RuneCountInString(wide[0]), 100)
	assert.Contains(t, wide[1], "the first of two ph… ")
}

func TestStepsAreShownAsATable(t *testing.T) {
	t.Parallel()
	r := balanced()
	for i, vus := range []int{1, 8} {
		r.Steps = append(r.Steps, runfile.Step{Name: fmt.Sprint(vus), VUs: &vus, DurationS: 10, Requests: 1000 * (i + 1)})
	}
	r.Steps[1].Backlog = new(1234)
	r.Steps[1].CPUPercent = map[string]float64{"ingest-1": 40, "ingest-2": 41, "redis": 7}
	text := Text(r, "", Screen{})
	assert.Regexp(t, `in ms +phase +req/s +HTTP mean`, text, "the figures have their unit")
	assert.Regexp(t, `    1 +100 +n/a`, text)
	assert.NotContains(t, text, "CPU")
	wide := strings.Join(stepsText(r, true), "\n")
	assert.Contains(t, wide, " backlog  CPU %: ingest redis\n")
	assert.Regexp(t, `\b1,234 +81     7`, wide)
	r.Steps[1].Arrived99S = new(12.345)
	wide = strings.Join(stepsText(r, true), "\n")
	assert.Contains(t, wide, " backlog  99 % in s  CPU %: ingest redis\n")
	assert.Regexp(t, `\b1,234 +12\.3 +81     7`, wide)

	r.Figures = []runfile.Figure{
		{Name: "time to drain", Value: new(3.25), Unit: "s"}, {Name: "time until p99 is back", Unit: "s"},
		{Name: "held", Value: new(15000.0)}, {Name: "lost", Value: new(0.0)},
	}
	text = Text(r, "", Screen{})
	assert.Contains(t, text, "\n  figure      time to drain: 3.25 s\n  figure      time until p99 is back: n/a\n")
	assert.Contains(t, text, "\n  figure      held: 15,000\n  figure      lost: 0\n", "counts have no decimals")

	r.Account.Balanced = false
	assert.NotContains(t, Text(r, "", Screen{}), "HTTP mean", "no latency is shown")

	r = balanced()
	r.Steps = []runfile.Step{{Name: "4", Requests: 9, DurationS: 10}}
	assert.NotContains(t, Text(r, "", Screen{}), "HTTP mean", "one step is not a comparison")
}

// Regression: throughput.js with 100 clients printed 100 rows and 100 figures.
func TestManyStepsAreShownAs10Rows(t *testing.T) {
	t.Parallel()
	r := balanced()
	for vus := 1; vus <= 97; vus++ {
		r.Steps = append(r.Steps, runfile.Step{Name: fmt.Sprint("step", vus), VUs: &vus, DurationS: 10, Requests: 1000})
	}
	text := Text(r, "", Screen{})
	assert.Equal(t, 10, strings.Count(text, " step"), text)
	assert.Contains(t, text, " step1 ")
	assert.Contains(t, text, " step97 ")
	assert.Contains(t, text, "10 of 97 phases: the report has all")
}
