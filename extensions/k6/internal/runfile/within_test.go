package runfile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

func TestWithinLimitsNameTheirMetric(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"arrival.within(250ms)": "arrival_within_250ms", "arrival.within( 0.5 ms )": "arrival_within_500us", "arrival.within(2s)": "arrival_within_2000ms",
		"arrival_within_250ms": "arrival_within_250ms", "arrival.within(250)": "", "arrival.within(-1ms)": "", "arrival_p99": "", "within(1ms)": "",
		"arrival.within(1.2.3ms)": "",
	} {
		metric, _, ok := WithinMetric(name)
		assert.Equal(t, want, metric, name)
		assert.Equal(t, want != "", ok, name)
	}
	for source, want := range map[string]string{
		">= 99.9%": "value>=0.999", "> 99 %": "value>0.99", ">=100%": "value>=1", "value>=0.9": "value>=0.9",
	} {
		got, err := WithinThreshold("arrival.within(1s)", source)
		require.NoError(t, err)
		assert.Equal(t, want, got, source)
	}
}

func TestWithinLimitsAreJudgedByTheHistogram(t *testing.T) {
	t.Parallel()
	var s ledger.Series
	s.AddMany(10_000, 999)
	s.Add(500_000)
	r := &Run{Latency: Latencies{Arrival: NewLatency(&s, true)}, Run: Identity{Ended: new("2026-11-21T10:00:00Z")}}
	for limit, held := range map[string]bool{
		"arrival.within(250ms) >= 99.9%": true, "arrival.within(250ms) > 99.9%": false, "arrival.within(9ms) >= 1%": false,
		"arrival.within(1s) >= 100%": true,
	} {
		rule, err := NewWithinRule(limit, r)
		require.NoError(t, err, limit)
		assert.Equal(t, held, *rule.OK, limit)
	}
	rule, err := NewWithinRule("arrival.within(250ms) >= 99.95%", r)
	require.NoError(t, err)
	assert.Equal(t, "arrival within 250ms 99.9 %, limit ≥ 99.95 %", rule.Broken())
	// Regression: all wrong forms had one text.
	for limit, wrong := range map[string]string{
		"": "is no limit", "p99 < 250": "is no limit", "arrival.within(250ms)": "has no share", "arrival.within(250) >= 99%": "has no unit",
		"arrival.within(250min) >= 99%": `has the unit "min"`, "arrival.within(ms) >= 99%": "has no number", "arrival.within(0ms) > 1%": "is below 1 us",
		"arrival.within(1.2.3ms) > 1%": "is no number", "arrival.within() > 1%": "has no number", "arrival.within(250ms) >= 101%": "outside 0 to 100",
		"arrival.within(250ms) < 99%": `has "<" before`, "arrival.within(250ms) 99%": `has "" before`, "arrival.within(250ms) >= 99": "has no %",
		"arrival.within(250ms) >= many%": "is no number", "arrival.within(250ms) >= -1%": "outside 0 to 100",
	} {
		_, err := NewWithinRule(limit, r)
		assert.ErrorContains(t, err, "allowed: arrival.within(250ms) >= 99.9%", limit)
		assert.ErrorContains(t, err, wrong, limit)
	}
	r.Run.Ended = nil
	rule, err = NewWithinRule("arrival.within(250ms) >= 99.9%", r)
	require.NoError(t, err)
	assert.Nil(t, rule.OK, "an unfinished run is not judged")
	assert.Equal(t, 1.0, *r.Latency.Arrival.Within(time.Second))
}

// Regression: 250.1 ms is in the same step of the histogram as 250 ms, and counted as within it.
func TestAShareWithinATimeErrsAgainstThePipeline(t *testing.T) {
	t.Parallel()
	share := func(us int64, limit time.Duration) float64 {
		var s ledger.Series
		s.AddMany(us, 1000)
		return *NewLatency(&s, true).Within(limit)
	}
	for us, within := range map[int64]float64{250_100: 0, 250_000: 0, 249_900: 1} {
		assert.Equal(t, within, share(us, 250*time.Millisecond), us)
	}
	for us, within := range map[int64]float64{1000: 1, 1001: 0} { // up to 2 ms a step is 1 µs
		assert.Equal(t, within, share(us, time.Millisecond), us)
	}
}

// Regression: 949 of 1,000 are 94.89999999999999 % in binary, so the limit did not hold.
func TestAShareThatEqualsTheLimitHolds(t *testing.T) {
	t.Parallel()
	var s ledger.Series
	s.AddMany(10_000, 949)
	s.AddMany(500_000, 51)
	r := &Run{Latency: Latencies{Arrival: NewLatency(&s, true)}, Run: Identity{Ended: new("2026-11-21T10:00:00Z")}}
	for limit, held := range map[string]bool{"arrival.within(250ms) >= 94.9%": true,
		"arrival.within(250ms) > 94.9%": false} {
		rule, err := NewWithinRule(limit, r)
		require.NoError(t, err)
		assert.Equal(t, held, *rule.OK, limit)
	}
}
