package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// slowly is a run of some seconds with so many deliveries each, of about 100 ms; one in the sixth second took 1 s.
func slowly(seconds, each int) *runfile.Run {
	r := &runfile.Run{Steps: []runfile.Step{{Name: "hold", Measured: true, DurationS: float64(seconds)}}}
	r.Account.Balanced = true
	for t := range seconds {
		s := runfile.Interval{T: t, Phase: new("hold"), Scheduled: each, Bins: []int64{50, int64(each)},
			Arrival: &runfile.Quantiles{Count: int64(each), Max: 120}}
		if t == 5 {
			s.Bins = []int64{50, int64(each - 2), 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}
			s.Arrival.Max = 1000
		}
		r.Timeline = append(r.Timeline, s)
	}
	return r
}

// Regression: a run below 100 deliveries a second had no p99 over time, only the slowest of each second.
func TestAP99IsTakenOverSeveralSecondsWhereASecondHasTooFewDeliveries(t *testing.T) {
	t.Parallel()
	r := slowly(15, 20)
	over := p99Over(r)
	require.NotNil(t, over)
	assert.Equal(t, 5, over.WindowS)
	require.Len(t, over.MS, 15)
	assert.InDelta(t, 120, *over.MS[0], 10)
	assert.InDelta(t, 1000, *over.MS[5], 250, "two of a hundred are beyond p99")
	assert.Equal(t, over.MS[5], over.MS[9])
	assert.Less(t, *over.MS[10], 130.0)
	assert.Regexp(t, `^p99 of each 5 s was at or above the limit of 250 ms for 5 s: at most ≈ .* ms \(0:05\)$`,
		p99OverTitle(r, over, new(250.0)))
	assert.Regexp(t, `^p99 of each 5 s was at most ≈ `, p99OverTitle(r, over, nil))
	assert.Equal(t, 10, p99Over(slowly(20, 10)).WindowS, "five seconds have too few as well")
	assert.Nil(t, p99Over(slowly(20, 9)), "ten seconds have too few as well")
	r = slowly(15, 200)
	for i := range r.Timeline {
		r.Timeline[i].Arrival.P99 = new(110.0)
	}
	assert.Nil(t, p99Over(r), "each second has its own")
}

// Regression: a run of which only the warm-up had a p99 over 5 s was said to have no delivery in a measured phase.
func TestAP99OverSeveralSecondsIsThatOfAMeasuredPhase(t *testing.T) {
	t.Parallel()
	r := slowly(9, 20)
	r.Steps = []runfile.Step{{Name: "warm-up", DurationS: 6}, {Name: "hold", StartS: 6, Measured: true, DurationS: 3}}
	for i := range 6 {
		r.Timeline[i].Phase = new("warm-up")
	}
	assert.Nil(t, p99Over(r), "the three measured seconds have 60 deliveries, which the warm-up does not add to")
	assert.Equal(t, "The slowest delivery took 120 ms (0:06): a second has no p99 of its own",
		p99Title(arrivalSeconds(r), new(250.0)))
	r = slowly(16, 20)
	r.Steps = []runfile.Step{{Name: "warm-up", DurationS: 6}, {Name: "hold", StartS: 6, Measured: true, DurationS: 10}}
	for i := range 6 {
		r.Timeline[i].Phase = new("warm-up")
	}
	over := p99Over(r)
	require.NotNil(t, over)
	assert.NotEqual(t, over.MS[5], over.MS[6], "no window spans the end of the warm-up")
	assert.Contains(t, p99OverTitle(r, over, new(250.0)), "was below the limit")
}
