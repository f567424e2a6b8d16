package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// Regression: k6's objects stayed as they were, and k6 exited with 104.
func TestWithinLimitsTakeK6sObjects(t *testing.T) {
	t.Parallel()
	registry := metrics.NewRegistry()
	w := withins{known: map[string]within{}}
	whole := map[string]any{"threshold": ">= 99.9%", "abortOnFail": true, "delayAbortEval": "2s"}
	all, err := w.thresholds(registry, map[string]any{
		"arrival.within(250ms)": []any{whole, "> 50 %"}, "arrival_p99": []any{"value<5"},
	})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"arrival_within_250ms": []any{map[string]any{"threshold": "value>=0.999", "abortOnFail": true, "delayAbortEval": "2s"}, "value>0.5"},
		"arrival_p99":          []any{"value<5"},
	}, all)
	assert.Equal(t, ">= 99.9%", whole["threshold"], "the script's own object stays")

	for wrong, says := range map[string]any{
		"has no unit":                map[string]any{"arrival.within(250)": []any{">= 99%"}},
		`has "<" before its share`:   map[string]any{"arrival.within(250ms)": []any{map[string]any{"threshold": "< 99%"}}},
		"has no % behind":            map[string]any{"arrival.within(250ms)": []any{">= 99"}},
		"without the text threshold": map[string]any{"arrival.within(250ms)": []any{map[string]any{"abortOnFail": true}}},
		"is not a list":              map[string]any{"arrival.within(250ms)": ">= 99%"},
		"has 5; allowed":             map[string]any{"arrival.within(250ms)": []any{5}},
		"the same limit":             map[string]any{"arrival.within(250ms)": []any{">= 99%"}, "arrival.within(0.25s)": []any{">= 9%"}},
	} {
		_, err := w.thresholds(registry, says.(map[string]any))
		assert.ErrorContains(t, err, wrong)
	}
}

// A limit that aborts the test is judged while it runs.
func TestAWithinLimitThatAbortsIsKnownDuringTheRun(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 3, arrivalRate: 20}]\nflows: [{name: one}]", "")
	e := s.engine
	metric, _, err := e.judging.within.register(metrics.NewRegistry(), "arrival.within(1us)")
	require.NoError(t, err)
	own := metrics.NewThresholds([]string{"value>=0.5"})
	require.NoError(t, own.Parse())
	own.Thresholds[0].AbortOnFail = true
	s.state.Options.Thresholds = map[string]metrics.Thresholds{metric: own}
	s.run()
	close(s.samples)
	seen := 0
	for container := range s.samples {
		for _, sample := range container.GetSamples() {
			if sample.Metric.Name == metric {
				seen++
				assert.Zero(t, sample.Value)
			}
		}
	}
	assert.Greater(t, seen, 1, "once at the end, and before")
}
