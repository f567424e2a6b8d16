package runfile

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ramp returns a series of 1, 2, … n milliseconds.
func ramp(n int) *ledger.Series {
	s := &ledger.NewTimes(6).Arrival
	for i := range n {
		s.Add(int64(i+1) * 1000)
	}
	return s
}

func TestLatencyIsInMilliseconds(t *testing.T) {
	t.Parallel()
	l := NewLatency(ramp(1000), true)
	assert.Equal(t, int64(1000), l.Count)
	assert.InDelta(t, 1, *l.Min, 0)
	assert.InDelta(t, 500.5, *l.Mean, 1e-9, "the mean is exact, not the histogram's")
	assert.InDelta(t, 500, *l.P50, 0.5, "three significant digits")
	assert.InDelta(t, 990, *l.P99, 1)
	assert.InDelta(t, 1000, *l.Max, 0)
	h, err := hdrhistogram.Decode([]byte(*l.Histogram))
	require.NoError(t, err)
	assert.Equal(t, int64(1000), h.TotalCount())
}

func TestALatencyWithoutSamplesIsNull(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(NewLatency(ramp(0), true))
	require.NoError(t, err)
	assert.JSONEq(t, `{"count":0,"min":null,"mean":null,"p50":null,"p75":null,"p90":null,"p95":null,"p99":null,
		"p999":null,"max":null,"curve":[],"histogram":null}`, string(b))
	assert.Nil(t, NewQuantiles(ramp(0)))
}

func TestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(Health{Gaps: []Gap{}, TrendOneIn: 1})
	require.NoError(t, err)
	assert.JSONEq(t, `{"lateness":null,"arrival_stamps":{"kernel":0,"read":0},"socket_wait":null,"gaps":[],"samples_discarded":0,"trend_one_in":1}`, string(b))
}

func TestTheCurveStopsWhereSamplesRunOut(t *testing.T) {
	t.Parallel()
	c := NewLatency(ramp(1000), false).Curve
	assert.Equal(t, [2]float64{100, 1000}, c[len(c)-1])
	before := c[len(c)-2][0]
	assert.Greater(t, before, 99.8)
	assert.LessOrEqual(t, before, 99.9, "above it less than one sample is left")
	for i := 1; i < len(c); i++ {
		assert.GreaterOrEqual(t, c[i][1], c[i-1][1])
	}
}

func TestTheCurveNeverExceedsTheMaximum(t *testing.T) {
	t.Parallel()
	s := &ledger.NewTimes(6).Arrival
	s.AddMany(100_001, 100)
	for _, point := range NewLatency(s, false).Curve {
		assert.LessOrEqual(t, point[1], 100.001)
	}
}

// Regression: the head of the log was cut to whole seconds, so any reader placed all intervals up to a second too
// early.
func TestTheLogKnowsItsTimesToTheMillisecond(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := hdrhistogram.NewHistogramLogWriter(&log)
	const start = 1_795_865_454_048
	require.NoError(t, Begin(w, "run", start))
	second := ledger.NewHistogram()
	require.NoError(t, second.RecordValue(5000))
	second.SetStartTimeMs(start + 1000)
	second.SetEndTimeMs(start + 2000)
	require.NoError(t, w.OutputIntervalHistogram(second))

	read, err := hdrhistogram.NewHistogramLogReader(&log).NextIntervalHistogram()
	require.NoError(t, err)
	assert.Equal(t, []int64{start + 1000, start + 2000}, []int64{read.StartTimeMs(), read.EndTimeMs()})
}

func TestBinsHaveAFixedLogarithmicScale(t *testing.T) {
	t.Parallel()
	var s ledger.Series
	assert.Nil(t, NewBins(&s))
	for _, us := range []int64{0, 1, 999, 1000, 1001, 1_000_000} {
		s.Add(us)
	}
	bins := NewBins(&s)
	require.Len(t, bins, 62, "the first bin's number, then bins 0 to 60")
	counts := bins[1:]
	assert.Equal(t, []int64{0, 2, 1, 2, 1}, []int64{bins[0], counts[0], counts[29], counts[30], counts[60]})

	var late ledger.Series
	late.Add(20_000)
	assert.Equal(t, []int64{43, 1}, NewBins(&late), "10^4.3 µs is just below 20 ms")
}
