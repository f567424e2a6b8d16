package render

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// staticOf is the part of a golden's page that needs no script.
func staticOf(t *testing.T, r *runfile.Run) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WritePage(&b, r))
	_, rest, _ := strings.Cut(b.String(), place)
	part, _, found := strings.Cut(rest, "</main>")
	require.True(t, found)
	return part
}

func TestThePageHasItsFiguresWithoutAScript(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"passing", "failing", "refusing", "closed", "spike", "soak", "capacity", "three",
		"real", "started", "gap"} {
		r := golden(t, name)
		part := staticOf(t, r)
		assert.Contains(t, part, r.Run.Name, name)
		assert.Contains(t, part, "<strong>"+r.Verdict.Result+"</strong>", name)
		assert.Contains(t, part, words.Count(r.Account.Scheduled)+" scheduled", name)
		if r.Latency.Arrival.Count == 0 {
			continue
		}
		require.NotEmpty(t, r.Facts.Tiles, name)
		for _, tile := range r.Facts.Tiles {
			assert.Contains(t, html.UnescapeString(part), tile.Text, name)
			assert.Contains(t, html.UnescapeString(part), tile.Note, name)
		}
		for _, stage := range r.Stages {
			assert.Contains(t, part, `class="text">`+stage.Name, name)
		}
		assert.Regexp(t, `<polyline points="[\d, ]+"`, part, name)
		assert.NotContains(t, part, "NaN", name)
		// The page's policy forbids them.
		assert.NotRegexp(t, `\sstyle=|<script|\son\w+=`, part, name)
	}
}

func TestForeignTextStaysTextInTheStaticPart(t *testing.T) {
	t.Parallel()
	r := golden(t, "hostile")
	part := staticOf(t, r)
	assert.NotRegexp(t, `<img|<b>`, part)
	assert.Contains(t, part, "&lt;/script&gt;")
	r.Run.Name = "a\u202eb"
	assert.Contains(t, staticOf(t, r), `a\u202eb`)
}

func TestTheStaticPartHasNoLatencyWithoutABalancedAccount(t *testing.T) {
	t.Parallel()
	part := staticOf(t, golden(t, "unbalanced"))
	assert.Contains(t, part, "It does not balance")
	assert.NotRegexp(t, regexp.MustCompile(`\bp99|\d ms\b|<svg`), part)
}

func TestTheStaticPartHasTheLineAndTheDoubtsOfTheVerdict(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	r.Verdict.Doubts = []string{"the generator was late"}
	part := staticOf(t, r)
	assert.Contains(t, part, r.Verdict.Meaning)
	assert.Contains(t, part, "in doubt: the generator was late")
}

func TestWithTooFewDeliveriesForAP99TheStaticChartHasTheSlowestOfEachSecond(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	for i := range r.Timeline {
		if s := &r.Timeline[i]; s.Arrival != nil {
			s.Arrival.Count = runfile.Hundred - 1
		}
	}
	chart := newStaticChart(r)
	require.NotNil(t, chart)
	assert.Contains(t, chart.Note, "slowest delivery")
}
