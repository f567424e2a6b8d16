package clock

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The pipeline's processes estimate their clocks in the same way, so both are tested against one set of vectors.
func TestEstimateAgreesWithThePipeline(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../../pipeline/clock.vectors.json")
	require.NoError(t, err)
	var vectors []struct {
		Name    string
		Samples []Sample
		Offset  float64 `json:"offset_us"`
		Bound   float64 `json:"bound_us"`
	}
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.NotEmpty(t, vectors)
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			got := Of(v.Samples)
			assert.InDelta(t, v.Offset, got.Used(), 0)
			assert.InDelta(t, v.Bound, got.Bound, 0)
		})
	}
}

// Whatever the network does, the true offset lies inside the bound: the reference was read between before and after.
func TestTheTruthLiesInsideTheBound(t *testing.T) {
	t.Parallel()
	const truth = 500_000
	for there := range 50 {
		for back := range 50 {
			heard := 1_000_000 + float64(there)*7
			s := Sample{T0: 1_000_000, Server: heard + truth, T1: heard + float64(back)*7}
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
