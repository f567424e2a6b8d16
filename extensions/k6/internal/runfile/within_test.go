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
