package clock

import (
	"encoding/json"
	"math/rand/v2"
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
		At      float64
		Offset  float64 `json:"offset_us"`
		Bound   float64 `json:"bound_us"`
		Drift   float64 `json:"drift_ppm"`
		Kept    int
	}
	require.NoError(t, json.Unmarshal(data, &vectors))
	require.NotEmpty(t, vectors)
	const tolerance = 1e-3 // µs and ppm
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			e := Of(v.Samples, v.At)
			assert.InDelta(t, v.Offset, e.Used(v.At), tolerance)
			assert.InDelta(t, v.Bound, e.Bound(v.At), tolerance)
			assert.InDelta(t, v.Drift, e.drift()*1e6, tolerance)
			assert.Equal(t, v.Kept, e.Kept)
		})
	}
}

// simulate probes a reference that is ahead and drifts, a round each 250 ms, over a network that is fast now and then, and
// never alike both ways.
func simulate(c *Clock, random *rand.Rand, rounds int, truth func(own float64) float64, check func(now float64)) {
	now := 1_763_700_000_000_000.0
	for range rounds {
		there, back := random.ExpFloat64()*200, random.ExpFloat64()*200
		s := Sample{T0: now, T1: now + there + back}
		s.Server = float64(int64(s.T0 + there + truth(s.T0+there)))
		c.add(s, s.T1)
		for range 5 {
			check(s.T1 + random.Float64()*250_000)
		}
		now += 250_000
	}
}

// Whatever the network does, the true offset lies inside the bound: the reference was read between before and after.
func TestTheTruthLiesInsideTheBound(t *testing.T) {
	t.Parallel()
	for _, ppm := range []float64{0, 0.5, 15, 50, -50, 100} {
		for _, ahead := range []float64{0, 300, 500_000, -500_000} {
			c := New()
			random := rand.New(rand.NewPCG(1, uint64(int64(ahead+ppm*7))))
			truth := func(own float64) float64 { return ahead + ppm*1e-6*(own-1_763_700_000_000_000) }
			simulate(c, random, 200, truth, func(now float64) {
				require.InDelta(t, truth(now), c.current.Used(now), c.current.Bound(now)+0.5, "%v ahead, %v ppm", ahead, ppm)
			})
			assert.Less(t, c.current.Bound(c.current.At), 60.0, "the fast round trips tell")
			if ppm >= 15 || ppm <= -15 {
				assert.InDelta(t, ppm, c.Read().Drift, 3, "%v ahead", ahead)
			}
		}
	}
}

// A stamp that waited in a backlog under a drift was shifted by the offset of its arrival: 1 ms off after 20 s at 50 ppm.
func TestAStampOfLongAgoIsPutBackByTheOffsetOfThen(t *testing.T) {
	t.Parallel()
	const began = 1_763_700_000_000_000
	truth := func(own float64) float64 { return 500_000 + 50e-6*(own-began) }
	c := New()
	simulate(c, rand.New(rand.NewPCG(5, 5)), 120, truth, func(float64) {})
	back := c.Back()
	for _, own := range []float64{began + 1e6, began + 10e6, began + 30e6} {
		stamp := own + truth(own)
		assert.InDelta(t, own, stamp+float64(back(int64(stamp))), c.Read().Bound)
	}
	assert.Zero(t, New().Back()(began), "without a reference")
}

func TestTheBoundGrowsWhileTheReferenceIsAway(t *testing.T) {
	t.Parallel()
	c := New()
	c.add(Sample{c.own() - 600e6 - 40, c.own() - 600e6, c.own() - 600e6}, c.own()-600e6)
	assert.GreaterOrEqual(t, c.Read().Bound, 60_000.0, "100 ppm of 600 s")
}

func TestOneHostHasOneClock(t *testing.T) {
	t.Parallel()
	c := New()
	simulate(c, rand.New(rand.NewPCG(7, 7)), 100, func(float64) float64 { return 0 }, func(now float64) {
		require.Zero(t, c.current.Used(now))
	})
	assert.Zero(t, c.Read().Drift)
}

func TestAClockThatIsSetIsFollowed(t *testing.T) {
	t.Parallel()
	c := New()
	steps := 0
	truth := func(own float64) float64 {
		if own >= 1_763_700_000_000_000+50*250_000 {
			return 1_000_000
		}
		return 0
	}
	simulate(c, rand.New(rand.NewPCG(3, 3)), 100, truth, func(float64) { steps++ })
	assert.InDelta(t, 1_000_000, c.current.Used(c.current.At), c.current.Bound(c.current.At))
	assert.Len(t, c.window, 50, "the rounds before the step are forgotten")
	assert.GreaterOrEqual(t, c.Read().Bound, 1_000_000.0, "until it was noticed, stamps were off by as much")
}

func TestTheOwnClockIsTheWallClockAtItsStart(t *testing.T) {
	t.Parallel()
	c := New()
	at := c.base.Add(1500 * time.Microsecond)
	assert.Equal(t, c.base.UnixMicro()+1500, c.At(at))
	assert.Zero(t, c.Offset(c.Now()), "without a reference")
}
