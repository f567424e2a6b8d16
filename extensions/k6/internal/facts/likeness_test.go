package facts

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func fading(memory float64, seconds int) []float64 {
	random := rand.New(rand.NewPCG(1, 2))
	series, level := make([]float64, seconds), 0.0
	for i := range series {
		level = memory*level + math.Sqrt(1-memory*memory)*random.NormFloat64()
		series[i] = level
	}
	return series
}

func TestTheWeightsOfALikenessSumToOne(t *testing.T) {
	t.Parallel()
	for _, series := range [][]float64{fading(0, 100), fading(0.9, 100), make([]float64, 20), {1}} {
		sum := 0.0
		for _, m := range newLikeness(series) {
			sum += m.weight
		}
		assert.InDelta(t, 1, sum, 0.01)
	}
}

func TestALongSeriesShowsHowMuchItsSecondsAreAlike(t *testing.T) {
	t.Parallel()
	// The variance of a mean of autoregressive seconds is (1 + memory) / (1 − memory) times that of independent ones.
	for memory, inflation := range map[float64]float64{0: 1, 0.5: 3, 0.8: 9} {
		assert.InEpsilon(t, inflation, newLikeness(fading(memory, 600)).typical(600), 0.35, "memory %v", memory)
	}
}

func TestBlocksAreAsLongAsSecondsAreAlike(t *testing.T) {
	t.Parallel()
	length := func(memory float64) int {
		b := newBlocking([]likeness{newLikeness(fading(memory, 600))}, 600, 0.95)
		require.NotNil(t, b)
		assert.GreaterOrEqual(t, b.inflation, 1.0)
		assert.LessOrEqual(t, b.count*b.length, 600)
		return b.length
	}
	assert.Greater(t, length(0.9), length(0))
}

func TestTheWorstOfSeveralSeriesDividesTheSeconds(t *testing.T) {
	t.Parallel()
	calm, alike := newLikeness(fading(0, 120)), newLikeness(fading(0.8, 120))
	one, both := newBlocking([]likeness{calm}, 120, 0.95), newBlocking([]likeness{calm, alike}, 120, 0.95)
	require.NotNil(t, both)
	assert.Greater(t, both.inflation, one.inflation)
}
