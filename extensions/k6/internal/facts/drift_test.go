package facts

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// eight are the phases of eight measured seconds after two of warm-up: quarters are two seconds long.
func eight() []runfile.Phase {
	rate := new(100.0)
	return []runfile.Phase{{DurationS: 2}, {DurationS: 4, ArrivalRate: rate, Measured: true},
		{DurationS: 4, ArrivalRate: rate, Measured: true}}
}

// latencies is a histogram of so many equal latencies.
func latencies(t *testing.T, us, n int64) *hdrhistogram.Histogram {
	t.Helper()
	h := ledger.NewHistogram()
	require.NoError(t, h.RecordValues(us, n))
	return h
}

// Regression: the median of the seconds' p99 grew by 10.6 ms, and bins by 19.8, where it was 16.4.
func TestTheDriftIsThatOfTheP99OfAllDeliveriesOfAQuarter(t *testing.T) {
	t.Parallel()
	q := NewQuarters(eight())
	q.Add(4, latencies(t, 5_000, 990))
	q.Add(5, latencies(t, 30_000, 10))
	q.Add(8, latencies(t, 5_000, 980))
	q.Add(9, latencies(t, 46_000, 20)) // in one of the quarter's seconds
	d := NewDrift(q)
	require.NotNil(t, d)
	assert.InDelta(t, 5, *d.FromMS, 0.01, "the 1 % is above it")
	assert.InDelta(t, 46, *d.ToMS, 0.05)
	assert.InDelta(t, 41, *d.GrewMS, 0.1)
	assert.InDelta(t, 8.2, *d.GrewShare, 0.1)
	assert.Equal(t, []int64{1000, 1000}, []int64{d.FromSamples, d.ToSamples})
}

func TestQuartersAreThoseOfThePlannedMeasuredTime(t *testing.T) {
	t.Parallel()
	q := NewQuarters(eight())
	for second := range 10 {
		q.Add(second, latencies(t, int64(second+1)*1000, 100))
	}
	d := NewDrift(q)
	assert.Equal(t, runfile.Span{FromS: 4, ToS: 6}, d.From)
	assert.Equal(t, runfile.Span{FromS: 8, ToS: 10}, d.To)
	assert.Equal(t, []int64{200, 200}, []int64{d.FromSamples, d.ToSamples})
	assert.InDelta(t, 6, *d.FromMS, 0.01, "seconds 4 and 5")
	assert.InDelta(t, 10, *d.ToMS, 0.01, "seconds 8 and 9")
}

// Regression: a pipeline that stalled at the end of the load had no slow delivery in the last quarter.
func TestWhatArrivesAfterTheLoadBelongsToTheLastQuarter(t *testing.T) {
	t.Parallel()
	q := NewQuarters(eight())
	q.Add(4, latencies(t, 5_000, 100))
	q.Add(8, latencies(t, 5_000, 100))
	q.Add(12, latencies(t, 3_000_000, 100))
	assert.InDelta(t, 3000, *NewDrift(q).ToMS, 3)
	q = NewQuarters(append(eight(), runfile.Phase{DurationS: 5}))
	q.Add(4, latencies(t, 5_000, 100))
	q.Add(8, latencies(t, 5_000, 100))
	q.Add(12, latencies(t, 3_000_000, 100))
	assert.InDelta(t, 5, *NewDrift(q).ToMS, 0.01, "another phase's deliveries are not measured")
}

func TestAQuarterOfFewDeliveriesHasNoP99(t *testing.T) {
	t.Parallel()
	q := NewQuarters(eight())
	q.Add(4, latencies(t, 5_000, 100))
	q.Add(8, latencies(t, 5_000, 99))
	d := NewDrift(q)
	assert.NotNil(t, d.FromMS)
	assert.Nil(t, d.ToMS)
	assert.Nil(t, d.GrewMS)
	assert.Nil(t, d.GrewShare)
	assert.Equal(t, int64(99), d.ToSamples)
}

func TestARunWithoutAMeasuredPhaseHasNoDrift(t *testing.T) {
	t.Parallel()
	q := NewQuarters([]runfile.Phase{{DurationS: 10}})
	q.Add(1, latencies(t, 1, 1))
	assert.Nil(t, NewDrift(q))
}

func TestTheDriftOfALogIsThatOfItsSeconds(t *testing.T) {
	t.Parallel()
	const startMS = 1_700_000_000_500
	var text bytes.Buffer
	w := hdrhistogram.NewHistogramLogWriter(&text)
	require.NoError(t, runfile.Begin(w, "run", startMS))
	q, run := NewQuarters(eight()), &runfile.Run{}
	run.Run = runfile.Identity{Model: runfile.Open, Profile: runfile.Profile{Phases: eight()}}
	for second := range 11 {
		run.Timeline = append(run.Timeline, runfile.Interval{T: second})
		for tag, us := range map[string]int64{"arrival": 1000, "http": 700} {
			h := latencies(t, us*int64(second+1), 100)
			h.SetTag(tag)
			h.SetStartTimeMs(startMS + int64(second)*1000)
			h.SetEndTimeMs(startMS + int64(second+1)*1000)
			require.NoError(t, w.OutputIntervalHistogram(h))
			if tag == "arrival" {
				q.Add(second, h)
			}
		}
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, runfile.LogName), text.Bytes(), 0o600))
	log, err := runfile.OpenLog(dir)
	require.NoError(t, err)
	d, err := DriftOf(run, log)
	require.NoError(t, err)
	assert.Equal(t, NewDrift(q), d)
	run.Run.Model = runfile.Closed
	none, err := DriftOf(run, log)
	require.NoError(t, err)
	assert.Nil(t, none)
}

func TestAPercentilesRankIsRoundedUp(t *testing.T) {
	t.Parallel()
	h := latencies(t, 20_000, 158)
	require.NoError(t, h.RecordValues(900_000, 2))
	assert.InDelta(t, 900_000, valueAt(h, 0.99), 900, "2 of 160 are 1.25 %")
	assert.InDelta(t, 20_000, valueAt(latencies(t, 20_000, 99), 0.99), 20)
	h = latencies(t, 20_000, 99)
	require.NoError(t, h.RecordValues(900_000, 1))
	assert.InDelta(t, 20_000, valueAt(h, 0.99), 20, "1 of 100 is 1 %")
	assert.InDelta(t, 900_000, valueAt(h, 1), 900)
}
