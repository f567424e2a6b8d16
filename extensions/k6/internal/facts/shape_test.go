package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// offered is an open run with a measured step of ten seconds for each rate.
func offered(rates ...float64) *runfile.Run {
	r := &runfile.Run{Run: runfile.Identity{Model: runfile.Open}}
	for i, rate := range rates {
		r.Steps = append(r.Steps, runfile.Step{StartS: float64(10 * i), DurationS: 10, ScheduledPerS: rate, Measured: true})
	}
	return r
}

func TestTheShapeOfEachGolden(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]string{
		"closed": runfile.SweepShape, "spike": runfile.SpikeShape, "soak": runfile.SteadyShape,
		"passing": runfile.OtherShape, "capacity": runfile.OtherShape, "fixed": runfile.OtherShape,
		"started": runfile.OtherShape,
	} {
		assert.Equal(t, shape, ShapeOf(golden(t, name)), name)
	}
}

func TestABurstHasTwiceTheRateOfBothPhasesBesideIt(t *testing.T) {
	t.Parallel()
	b := burstOf(offered(100, 100, 4000, 100))
	require.NotNil(t, b)
	assert.InDelta(t, 20, b.step.StartS, 0)
	assert.InDelta(t, 10, b.before.StartS, 0)
	assert.NotNil(t, burstOf(offered(100, 200, 100)))
	for _, none := range [][]float64{
		{100, 199, 100}, {100, 4000, 3000}, {0, 4000, 100}, {100, 4000, 0}, {100, 4000}, {4000}, {},
		{100, 400, 100, 400, 100},
	} {
		assert.Nil(t, burstOf(offered(none...)), none)
	}
}

func TestALoadIsSteadyIfThreeMeasuredPhasesHaveOneRate(t *testing.T) {
	t.Parallel()
	for shape, rates := range map[string][][]float64{
		runfile.SteadyShape: {{100, 100, 100}, {100, 104, 101}},
		runfile.OtherShape:  {{100, 100}, {100, 105, 100}, {0, 0, 0}, {}},
	} {
		for _, r := range rates {
			assert.Equal(t, shape, ShapeOf(offered(r...)), r)
		}
	}
	warm := offered(10, 100, 100, 100)
	warm.Steps[0].Measured = false
	assert.Equal(t, runfile.SteadyShape, ShapeOf(warm), "the rate of the warm-up does not count")
}

func TestAClosedLoadIsASweepOrOfNoShape(t *testing.T) {
	t.Parallel()
	r := offered(100, 4000, 100)
	r.Run.Model = runfile.Closed
	assert.Equal(t, runfile.OtherShape, ShapeOf(r))
	r.Steps = sweep([2]float64{1, 10}, [2]float64{2, 20})
	assert.Equal(t, runfile.SweepShape, ShapeOf(r))
}
