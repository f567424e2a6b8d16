package runfile

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func gathered(samples []Sample) *Figures {
	g := &SampleBins{}
	for _, s := range samples {
		g.Add(s)
	}
	return g.Figures()
}

func TestFiguresAreColumns(t *testing.T) {
	t.Parallel()
	f := gathered([]Sample{
		{T: -1, Counters: map[string]float64{"accepted": 100}},
		{T: 0, Gauges: map[string]float64{"cs": 1234.5678}, Counters: map[string]float64{"accepted": 110}},
		{T: 2, Gauges: map[string]float64{"cs": 2, "id": 50}, Counters: map[string]float64{"accepted": 111, "late": 7}},
		// The process restarted.
		{T: 3, Counters: map[string]float64{"accepted": 5, "late": 8}},
	})
	text, err := json.Marshal(f)
	require.NoError(t, err)
	assert.JSONEq(t, `{"bin_s": 1, "t": [0, 2, 3],
		"gauges": {"cs": [1235, 2, null], "id": [null, 50, null]},
		"counts": {"accepted": [10, 1, 5], "late": [0, 0, 1]}}`, string(text))
}

func TestFiguresOfALongRunAreBinned(t *testing.T) {
	t.Parallel()
	var samples []Sample
	for i := range 3600 {
		samples = append(samples, Sample{
			T: i, Gauges: map[string]float64{"us": float64(i % 12)}, Counters: map[string]float64{"n": float64(i)},
		})
	}
	f := gathered(samples)
	assert.Equal(t, 12, f.BinS)
	require.Len(t, f.T, 300)
	assert.Equal(t, 12, f.T[1])
	assert.InDelta(t, 5.5, *f.Gauges["us"][7], 0)
	assert.InDelta(t, 12, *f.Counts["n"][7], 0)
	assert.Len(t, f.Counts["n"], 300)
}

// Regression: all samples of a run stayed in memory until its end.
func TestGatheringADayKeepsABoundedNumberOfCells(t *testing.T) {
	t.Parallel()
	const day = 86_400
	g := &SampleBins{}
	for i := range day {
		g.Add(Sample{T: i, Gauges: map[string]float64{"us": float64(i % 2)},
			Counters: map[string]float64{"n": float64(i)}})
		require.LessOrEqual(t, len(g.starts), mostCells)
	}
	f := g.Figures()
	require.LessOrEqual(t, len(f.T), maxBins)
	assert.Greater(t, len(f.T), maxBins/2)
	sum := 0.0
	for row := range f.T {
		assert.InDelta(t, 0.5, *f.Gauges["us"][row], 0)
		sum += *f.Counts["n"][row]
	}
	assert.InDelta(t, day-1, sum, 0)
}

func TestFiguresWithoutSamplesAreNil(t *testing.T) {
	t.Parallel()
	assert.Nil(t, gathered(nil))
	assert.Nil(t, gathered([]Sample{{T: 0}}))
	assert.Nil(t, gathered([]Sample{{T: -1, Counters: map[string]float64{"n": 1}}}))
}

func TestAProcessWithoutUsageHasNullValues(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(NewResource("redis", nil))
	require.NoError(t, err)
	assert.JSONEq(t, `{"process": "redis", "cpu_percent": {"mean": null, "max": null}, "rss_mb": {"mean": null, "max": null},
		"series": [], "figures": null}`, string(text))
}
