package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
)

// A pipeline with stages of its own, by stamps that its publisher makes: here 10, 20, 30 and 40 ms apart.
func TestAPipelineHasItsOwnStages(t *testing.T) {
	t.Parallel()
	stamps := func(at time.Time, delta ...int) string {
		s := fmt.Sprint(at.UnixMicro())
		for _, d := range delta {
			s += fmt.Sprintf(",%d", d)
		}
		return s
	}
	nth := 0
	f := &fake.Pipeline{Redis: &fake.Redis{}, Delay: 100 * time.Millisecond, Hops: func(at time.Time) string {
		if nth++; nth%4 == 0 { // this publisher does not know the last two
			return stamps(at, 20_000)
		}
		return stamps(at, 20_000, 30_000, 40_000)
	}}
	r := newScript(t, f, "phases: [{duration: 1, arrivalRate: 40}]\nflows: [{name: direct}]",
		"redis: { url: 'REDIS' }, stages: ['request', 'api', 'outbox', 'worker', 'push']").run()
	require.Equal(t, 40, r.Account.Arrived)
	names := []string{}
	for _, stage := range r.Stages {
		names = append(names, stage.Name)
	}
	assert.Equal(t, []string{"schedule", "request", "api", "outbox", "worker", "push"}, names)
	counts := map[string]int64{}
	for name, l := range r.Latency.Stages {
		counts[name] = l.Count
	}
	assert.Equal(t, map[string]int64{"schedule": 40, "request": 40, "api": 40, "outbox": 30, "worker": 30, "push": 30},
		counts)
	assert.InDelta(t, 20, *r.Latency.Stages["api"].P50, 0.1)
	assert.InDelta(t, 40, *r.Latency.Stages["worker"].Max, 0.1)
	for _, s := range r.Messages.Slowest {
		if len(s.StagesMS) == len(names) {
			sum := 0.0
			for _, ms := range s.StagesMS {
				sum += ms
			}
			assert.InDelta(t, s.ArrivalMS, sum, 0.002)
		}
	}
	assert.Contains(t, render.Text(r, "", render.Screen{}), "outbox")
	assert.Contains(t, render.Markdown(r), "| worker |")
}
