package report

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFiguresAreColumns(t *testing.T) {
	t.Parallel()
	f := NewFigures([]Sample{
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
	f := NewFigures(samples)
	assert.Equal(t, 12, f.BinS)
	require.Len(t, f.T, 300)
	assert.Equal(t, 12, f.T[1])
	assert.InDelta(t, 5.5, *f.Gauges["us"][7], 0)
	assert.InDelta(t, 12, *f.Counts["n"][7], 0)
	assert.Len(t, f.Counts["n"], 300)
}

func TestFiguresWithoutSamplesAreNil(t *testing.T) {
	t.Parallel()
	assert.Nil(t, NewFigures(nil))
	assert.Nil(t, NewFigures([]Sample{{T: 0}}))
	assert.Nil(t, NewFigures([]Sample{{T: -1, Counters: map[string]float64{"n": 1}}}))
}

func TestAProcessWithoutUsageHasNullValues(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(NewResource("redis", nil))
	require.NoError(t, err)
	assert.JSONEq(t, `{"process": "redis", "cpu_percent": {"mean": null, "max": null}, "rss_mb": {"mean": null, "max": null},
		"series": [], "figures": null}`, string(text))
}
