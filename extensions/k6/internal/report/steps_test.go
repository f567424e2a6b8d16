package report

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheStepsAreATable(t *testing.T) {
	t.Parallel()
	r := balanced()
	for i, vus := range []int{1, 8} {
		r.Steps = append(r.Steps, Step{Name: fmt.Sprint(vus), VUs: &vus, DurationS: 10, Requests: 1000 * (i + 1)})
	}
	r.Steps[1].Backlog = new(1234)
	r.Steps[1].CPUPercent = map[string]float64{"ingest-1": 40, "ingest-2": 41, "redis": 7}
	text := Text(r, "", false)
	assert.Contains(t, text, "phase     req/s HTTP mean")
	assert.Contains(t, text, "    1       100       n/a")
	assert.Contains(t, text, "  backlog  CPU %: ingest redis\n")
	assert.Contains(t, text, "    1,234             81     7\n")

	r.Figures = []Figure{
		{Name: "time to drain", Value: new(3.25), Unit: "s"}, {Name: "time until p99 is back", Unit: "s"}, {Name: "held", Value: new(15000.0)}, {Name: "lost", Value: new(0.0)},
	}
	text = Text(r, "", false)
	assert.Contains(t, text, "\n  figure      time to drain: 3.25 s\n  figure      time until p99 is back: n/a\n")
	assert.Contains(t, text, "\n  figure      held: 15,000\n  figure      lost: 0\n", "what is counted has no decimals")

	r.Account.Balanced = false
	assert.NotContains(t, Text(r, "", false), "HTTP mean", "no latency is shown")

	r = balanced()
	r.Steps = []Step{{Name: "4", Requests: 9, DurationS: 10}}
	assert.NotContains(t, Text(r, "", false), "HTTP mean", "one step is no comparison")
}
