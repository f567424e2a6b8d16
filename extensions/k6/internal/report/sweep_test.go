package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheStepsOfAClosedRunAreATable(t *testing.T) {
	t.Parallel()
	r := balanced()
	for i, vus := range []int{1, 8} {
		r.Steps = append(r.Steps, Step{VUs: &vus, DurationS: 10, Requests: 1000 * (i + 1)})
	}
	r.Steps[1].Backlog = ptr(1234)
	r.Steps[1].CPUPercent = map[string]float64{"ingest-1": 40, "ingest-2": 41, "redis": 7}
	text := Text(r, "", false)
	assert.Contains(t, text, "vus     req/s HTTP mean")
	assert.Contains(t, text, "      1       100       n/a")
	assert.Contains(t, text, "    1,234     81     7\n")

	r.Account.Balanced = false
	assert.NotContains(t, Text(r, "", false), "HTTP mean", "no latency is shown")

	r = balanced()
	r.Steps = []Step{{VUs: ptr(4), DurationS: 10}}
	assert.NotContains(t, Text(r, "", false), "HTTP mean", "one step is no comparison")
}
