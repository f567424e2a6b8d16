package report

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// vectors are sweeps and their knees, for whoever needs the rule in another language.
type vector struct {
	Name   string       `json:"name"`
	Points [][2]float64 `json:"points"` // concurrency, p50 of the arrival in ms
	Knee   *int         `json:"knee"`
}

func stepsOf(points [][2]float64) []Step {
	var steps []Step
	for _, p := range points {
		vus := int(p[0])
		stage := func(ms float64) Latency { return Latency{Mean: &ms} }
		steps = append(steps, Step{VUs: &vus, Measured: true, DurationS: 10, Requests: 1000, Latency: Latencies{
			Arrival: Latency{P50: &p[1]}, Stages: map[string]Latency{"queue": stage(p[1] / 2), "relay": stage(p[1] / 3)},
		}})
	}
	return steps
}

func TestTheKneeIsWhereTheLatencyTakesOffForGood(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../reports/sweep.vectors.json")
	require.NoError(t, err)
	var vectors []vector
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.NotEmpty(t, vectors)
	for _, v := range vectors {
		k := FindKnee(stepsOf(v.Points))
		if v.Knee == nil {
			assert.Nil(t, k, v.Name)
			continue
		}
		require.NotNil(t, k, v.Name)
		assert.Equal(t, *v.Knee, k.VUs, v.Name)
		assert.Equal(t, "queue", *k.Stage, v.Name)
	}
}

func TestASweepIsATableWithItsKnee(t *testing.T) {
	t.Parallel()
	r := balanced()
	r.Steps = stepsOf([][2]float64{{1, 0.2}, {8, 0.3}, {9, 70}})
	r.Steps[2].Backlog = ptr(1234)
	r.Steps[2].CPUPercent = map[string]float64{"ingest-1": 40, "ingest-2": 41, "redis": 7}
	r.Knee = FindKnee(r.Steps)
	text := Text(r, "", false)
	assert.Contains(t, text, "vus     req/s HTTP mean")
	assert.Contains(t, text, "1,234     81     7\n")
	assert.Contains(t, text, "  knee        at 8: p50 0.300 ms there, 70.0 ms at 9; the stage that grew is queue\n")

	r.Account.Balanced = false
	assert.NotContains(t, Text(r, "", false), "knee", "no latency is shown")
}

func TestAPipelineWithoutStampsHasAKneeWithoutAStage(t *testing.T) {
	t.Parallel()
	steps := stepsOf([][2]float64{{1, 1}, {2, 100}})
	for i := range steps {
		steps[i].Latency.Stages = map[string]Latency{"schedule": steps[i].Latency.Stages["queue"]}
	}
	assert.Nil(t, FindKnee(steps).Stage)
}
