package facts

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

func TestTheKneeIsTheLastPointBeforeP50TakesOff(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/knee.json")
	require.NoError(t, err)
	var vectors []struct {
		Name   string       `json:"name"`
		Points [][]*float64 `json:"points"`
		Knee   *int         `json:"knee"`
	}
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.NotEmpty(t, vectors)
	for _, v := range vectors {
		steps := []report.Step{}
		for _, p := range v.Points {
			vus := int(*p[0])
			s := report.Step{VUs: &vus, Measured: true, Scheduled: 1000, Latency: report.Latencies{Arrival: report.Latency{P50: p[1]}}}
			if len(p) > 2 {
				owed := int(1000 * *p[2])
				s.Backlog = &owed
			}
			steps = append(steps, s)
		}
		var vus *int
		if knee := NewKnee(stages.Default(), steps); knee != nil {
			vus = &knee.VUs
		}
		assert.Equal(t, v.Knee, vus, v.Name)
	}
}

func TestTheKneeUsesOnlyMeasuredSteps(t *testing.T) {
	t.Parallel()
	step := func(vus int, p50, queue, delivery float64, measured bool) report.Step {
		stages := map[string]report.Latency{"queue": {Mean: &queue}, "delivery": {Mean: &delivery}}
		return report.Step{VUs: &vus, Measured: measured, Latency: report.Latencies{Arrival: report.Latency{P50: &p50}, Stages: stages}}
	}
	steps := []report.Step{
		step(4, 0.1, 0, 0, false), step(8, 100, 90, 9, true), step(1, 1, 0.2, 0.5, true), step(4, 2, 1, 1, true),
		step(0, 0.1, 0, 0, true),
	}
	assert.Equal(t, &report.Knee{VUs: 4, Next: 8, Stage: "queue"}, NewKnee(stages.Default(), steps))
	assert.Contains(t, kneeSentence(NewKnee(stages.Default(), steps), steps),
		"from 8 VUs on p50 stays high; queue has grown most")
	for i := range steps {
		steps[i].Scheduled, steps[i].Backlog = 100, new(int)
		*steps[i].Backlog = 30
	}
	assert.Equal(t, &report.Knee{VUs: 0, Next: 1, Stage: "delivery"}, NewKnee(stages.Default(), steps))
	assert.Contains(t, kneeSentence(NewKnee(stages.Default(), steps), steps),
		"below 1 VU: with 1 a backlog already grows, and delivery takes longest")
	assert.Nil(t, NewKnee(stages.Default(), steps[:1]))
	assert.Nil(t, NewKnee(nil, []report.Step{{Measured: true}}), "the open model")
}
