package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheShortestRoundTripDecides(t *testing.T) {
	t.Parallel()
	got := Of([]Sample{
		{Before: 1000, Reference: 6900, After: 3000}, // 2 ms away, answered late
		{Before: 4000, Reference: 9050, After: 4100},
		{Before: 5000, Reference: 10400, After: 5900},
	})
	assert.Equal(t, Estimate{Offset: 5000, Bound: 51}, got)
	assert.InDelta(t, 5000, got.Used(), 0)
}

func TestZeroInsideTheBoundIsZero(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ offset, bound, used float64 }{
		"inside":            {30, 40, 0},
		"inside, below":     {-30, 40, 0},
		"on the bound":      {40, 40, 0},
		"outside":           {41, 40, 41},
		"outside and below": {-500_000, 40, -500_000},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.InDelta(t, c.used, Estimate{c.offset, c.bound}.Used(), 0)
		})
	}
}

// Whatever the network does, the true offset lies inside the bound: the reference was read between before and after.
func TestTheTruthLiesInsideTheBound(t *testing.T) {
	t.Parallel()
	const truth = 500_000
	for there := range int64(50) {
		for back := range int64(50) {
			s := Sample{Before: 1_000_000, Reference: 1_000_000 + there*7 + truth, After: 1_000_000 + there*7 + back*7}
			e := Of([]Sample{s})
			require.InDelta(t, truth, e.Offset, e.Bound)
		}
	}
}

func TestDriftIsToldOnceItLeavesTheBounds(t *testing.T) {
	t.Parallel()
	c := New()
	c.settle(Estimate{500_000, 20}, 0)
	c.settle(Estimate{500_030, 20}, 600_000)
	assert.Zero(t, c.Read().Drift, "30 µs within ±40 µs")
	c.settle(Estimate{500_500, 20}, 10_000_000)
	assert.InDelta(t, 50, c.Read().Drift, 1e-9, "500 µs in 10 s")
	assert.Equal(t, int64(500_500), c.Offset())
}

func TestTheOwnClockIsTheWallClockAtItsStart(t *testing.T) {
	t.Parallel()
	c := New()
	at := c.base.Add(1500 * time.Microsecond)
	assert.Equal(t, c.base.UnixMicro()+1500, c.At(at))
}
