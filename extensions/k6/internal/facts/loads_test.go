package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// oneLoad describes so many seconds under one load.
func oneLoad(seconds int) loads { return loads{make([]int, seconds), make([]bool, 1)} }

func TestSecondsOfEqualRatesAreUnderOneLoad(t *testing.T) {
	t.Parallel()
	r := &runfile.Run{Run: runfile.Identity{Profile: runfile.Profile{Phases: []runfile.Phase{
		{ArrivalRate: new(100.0)}, {ArrivalRate: new(100.0), RampTo: new(300.0)}, {ArrivalRate: new(300.0)},
		{ArrivalRate: new(100.0), RampTo: new(100.0)}, {VUs: new(100)},
	}}}}
	l := newLoads(r, []int{0, 0, 1, 1, 1, 2, 3, 4, 4})
	assert.Equal(t, []int{0, 0, 1, 1, 1, 2, 0, 3, 3}, l.of)
	assert.Equal(t, []bool{false, true, false, false}, l.ramps)
	assert.Equal(t, 5, l.terms(), "a ramp has a slope too")
	assert.Equal(t, 1, l.shortest())
}

func TestWithoutItsLoadsASeriesHasNoLevelsAndNoSlopeOfARamp(t *testing.T) {
	t.Parallel()
	l := loads{[]int{0, 0, 0, 1, 1, 0}, []bool{false, true}}
	rest := l.without([]float64{1, 2, 3, 10, 20, 6})
	assert.InDeltaSlice(t, []float64{-2, -1, 0, 0, 0, 3}, rest, 1e-9)
	rest = oneLoad(3).without([]float64{4, 5, 6})
	assert.InDeltaSlice(t, []float64{-1, 0, 1}, rest, 1e-9, "drift is not an effect of the load")
}

func TestABurstOfFewSecondsSaysTooLittleForAnInterval(t *testing.T) {
	t.Parallel()
	h, bins := process{0, 0.2, 0.3, 100, 0}.run(1, 120)
	under := oneLoad(120)
	under.ramps = []bool{false, false}
	for t := range blocksLeast - 1 {
		under.of[t] = 1
	}
	assert.Nil(t, intervalOf(quantileOf(h), bins, under))
	under.of[blocksLeast] = 1
	assert.NotNil(t, intervalOf(quantileOf(h), bins, under))
}
