package facts

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
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
		steps := []runfile.Step{}
		for _, p := range v.Points {
			vus := int(*p[0])
			s := runfile.Step{VUs: &vus, Measured: true, Scheduled: 1000,
				Latency: runfile.Latencies{Arrival: runfile.Latency{P50: p[1]}}}
			if len(p) > 2 {
				owed := int(1000 * *p[2])
				s.Backlog = &owed
			}
			steps = append(steps, s)
		}
		var vus *int
		if knee := turningOf(sweepRun(steps)).knee; knee != nil {
			vus = &knee.VUs
		}
		assert.Equal(t, v.Knee, vus, v.Name)
	}
}

func TestTheKneeUsesOnlyMeasuredSteps(t *testing.T) {
	t.Parallel()
	step := func(vus int, p50, queue, delivery float64, measured bool) runfile.Step {
		stages := map[string]runfile.Latency{"queue": {Mean: &queue}, "delivery": {Mean: &delivery}}
		return runfile.Step{VUs: &vus, Measured: measured,
			Latency: runfile.Latencies{Arrival: runfile.Latency{Count: 100, P50: &p50}, Stages: stages}}
	}
	steps := []runfile.Step{
		step(4, 0.1, 0, 0, false), step(8, 100, 90, 9, true), step(1, 1, 0.2, 0.5, true), step(4, 2, 1, 1, true),
		step(0, 0.1, 0, 0, true),
	}
	assert.Equal(t, &runfile.Knee{VUs: 4, Next: 8, Stage: "queue"}, turningOf(sweepRun(steps)).knee)
	assert.Contains(t, kneeSentence(turningOf(sweepRun(steps)).knee, steps),
		"from 8 VUs on p50 stays high; queue has grown most")
	for i := range steps {
		steps[i].Scheduled, steps[i].Backlog = 100, new(int)
		*steps[i].Backlog = 30
	}
	assert.Equal(t, &runfile.Knee{VUs: 0, Next: 1, Stage: "delivery"}, turningOf(sweepRun(steps)).knee)
	assert.Contains(t, kneeSentence(turningOf(sweepRun(steps)).knee, steps),
		"below 1 VU: with 1 a backlog already grows, and delivery takes longest")
	assert.Nil(t, turningOf(sweepRun(steps[:1])).knee)
	assert.Nil(t, turningOf(sweepRun([]runfile.Step{{Measured: true}})).knee, "the open model")
}

// sweepRun is a run of steps through the default stages.
func sweepRun(steps []runfile.Step) *runfile.Run {
	return &runfile.Run{Stages: stages.Default(), Steps: steps, Environment: map[string]any{"shared_host": true}}
}

// doubling is a sweep of 1, 2, 4 … VUs, ten seconds each, whose last two steps have taken off.
func doubling(carried ...float64) *runfile.Run {
	r := sweepRun(nil)
	for i, perS := range carried {
		p50, vus := 1.0, 1<<i
		if i >= len(carried)-2 {
			p50 = 50
		}
		r.Steps = append(r.Steps, runfile.Step{VUs: &vus, Measured: true, StartS: float64(10 * i), DurationS: 10,
			CarriedPerS: perS, Latency: runfile.Latencies{Arrival: runfile.Latency{Count: 100, P50: &p50}}})
		for t := range 10 {
			r.Timeline = append(r.Timeline, runfile.Interval{T: 10*i + t, Generator: runfile.Usage{HostPercent: new(40.0)}})
		}
	}
	return r
}

// Regression: "The knee is at 16 VUs, 900 messages/s", where 8 VUs had carried 1,524.
func TestThereIsNoKneeAfterThroughputHasFallen(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 4, turningOf(doubling(500, 900, 1500, 1520, 1530)).knee.VUs)
	r := doubling(500, 1524, 900, 950, 940)
	assert.Nil(t, turningOf(r).knee)
	assert.Contains(t, turningOf(r).why, "throughput was highest with 2 VUs (1,524 messages/s)")
}

func TestThereIsNoKneeOnASaturatedHost(t *testing.T) {
	t.Parallel()
	r := doubling(500, 900, 1500, 1520, 1530)
	for i := 10; i < len(r.Timeline); i++ {
		r.Timeline[i].Generator.HostPercent = new(99.0)
	}
	assert.Nil(t, turningOf(r).knee)
	assert.Contains(t, turningOf(r).why, "the host was saturated from 2 VUs on")
	assert.Contains(t, latencyByVUsTitle(turningOf(r), runfile.SweepSteps(r.Steps)), "No knee can be told: the host",
		"the chart says what the answer says")
	r.Environment["shared_host"] = false
	assert.NotNil(t, turningOf(r).knee, "it is not the pipeline's")
}
