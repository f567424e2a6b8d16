package truth

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ms = time.Millisecond

// due describes what a truth does to a perfect load of 200 requests/s for 12 s.
func due(t *testing.T, name string) Quantiles {
	t.Helper()
	truth, err := Find(name)
	require.NoError(t, err)
	q := QuantilesOf(truth.Due(Load{Rate: 200, Seconds: 12, Connections: 20}))
	assert.LessOrEqual(t, len(q.Curve), 120)
	q.Curve = nil
	return q
}

func TestWhatAPerfectLoadMeetsIsExact(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Quantiles{
		"constant": {Count: 2400, P50Ms: 2, P90Ms: 2, P99Ms: 2, P999Ms: 2, MaxMs: 2},
		"slow":     {Count: 2400, P50Ms: 2, P90Ms: 2, P99Ms: 50, P999Ms: 50, MaxMs: 50},
		// Each of two freezes holds 100 requests, for 500, 495, … 5 ms.
		"freeze": {Count: 2400, P50Ms: 2, P90Ms: 2, P99Ms: 440, P999Ms: 495, MaxMs: 500},
		// Each takes 6.25 ms and comes 5 ms after the one before: the nth waits 1.25 ms longer for each before it.
		"saturate": {Count: 2400, P50Ms: 1505, P90Ms: 2705, P99Ms: 2975, P999Ms: 3002.5, MaxMs: 3005},
		// 40 requests of 15 ms, which take 15, 25, … 405 ms, then 107 of 1.25 ms, 401.25, 397.5, … 3.75 ms, and 53 that
		// wait for none.
		"bursts": {Count: 2400, P50Ms: 131.25, P90Ms: 348.75, P99Ms: 397.5, P999Ms: 405, MaxMs: 405},
		"limit":  {Count: 2400, P50Ms: 2, P90Ms: 2, P99Ms: 2, P999Ms: 2, MaxMs: 2},
		"reset":  {Count: 2395, P50Ms: 2, P90Ms: 2, P99Ms: 2, P999Ms: 2, MaxMs: 2},
		"lost":   {Count: 2398, P50Ms: 2, P90Ms: 2, P99Ms: 2, P999Ms: 2, MaxMs: 2},
	} {
		assert.Equal(t, want, due(t, name), name)
	}
}

func TestWhatWaitsInAFreezeIsAnsweredAtItsEnd(t *testing.T) {
	t.Parallel()
	for came, want := range map[time.Duration]time.Duration{
		0: 2 * ms, 2497 * ms: 2499 * ms, 2498 * ms: 3000 * ms, 2999 * ms: 3001 * ms, 2700 * ms: 3000 * ms,
		3000 * ms: 3002 * ms, 7498 * ms: 8000 * ms, 12_700 * ms: 13_000 * ms,
	} {
		assert.Equal(t, outcome{at: want}, frozen(0, came), came)
	}
}

func TestOneOfEachSoManyIsPickedAtNoRegularDistance(t *testing.T) {
	t.Parallel()
	decide, picked, places := except(50, outcome{quick, lost}), map[int]int{}, map[int]bool{}
	for nth := range 5000 {
		if decide(nth, 0).fate == lost {
			picked[nth/50]++
			places[nth%50] = true
		}
	}
	assert.Len(t, picked, 100)
	assert.Greater(t, len(places), 25)
}

func TestATruthThatIsUnknownIsRefusedWithThoseThereAre(t *testing.T) {
	t.Parallel()
	_, err := Find("slower")
	require.ErrorContains(t, err, `"slower"`)
	for _, truth := range All {
		assert.ErrorContains(t, err, truth.Name)
	}
}

func TestACurveHasSamplesInAscendingOrderUpToTheLast(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 1000, 5_000_000} {
		all := make([]time.Duration, n)
		for i := range all {
			all[i] = time.Duration(i+1) * ms
		}
		curve := QuantilesOf(all).Curve
		assert.LessOrEqual(t, len(curve), 120, n)
		assert.Equal(t, [2]float64{0, 1}, curve[0], n)
		assert.Equal(t, [2]float64{1, float64(n)}, curve[len(curve)-1], n)
		for i, point := range curve[1:] {
			assert.Greater(t, point[0], curve[i][0], n)
			assert.GreaterOrEqual(t, point[1], curve[i][1], n)
		}
	}
	assert.Equal(t, Quantiles{Curve: [][2]float64{}}, QuantilesOf(nil))
}

func TestEvennessIsByTheScheduleFromTheFirstRequest(t *testing.T) {
	t.Parallel()
	// 100/s; the third request is 40 ms late, the fourth in time again.
	got := evenness([]time.Duration{5 * ms, 15 * ms, 35 * ms, 65 * ms}, Load{Rate: 100})
	assert.Equal(t, Gaps{MedianMs: 20, P99Ms: 30, MaxMs: 30, LateP99Ms: 30}, got)
	assert.Equal(t, Gaps{}, evenness(nil, Load{Rate: 100}))
}
