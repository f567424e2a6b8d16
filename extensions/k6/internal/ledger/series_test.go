package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestASeriesKeepsTimesUpToAnHour(t *testing.T) {
	t.Parallel()
	for _, long := range []time.Duration{3 * time.Second, 4 * time.Second, time.Minute, time.Hour} {
		s := &Series{}
		s.Add(1000)
		s.Add(long.Microseconds())
		assert.InEpsilon(t, long.Microseconds(), s.Histogram.ValueAtPercentile(100), 0.001, long)
		assert.Equal(t, long.Microseconds()+1000, s.Sum, "the mean is exact")
		assert.Equal(t, []int64{1000, long.Microseconds()}, []int64{s.Min, s.Max})
	}
}

func TestATimeOfMoreThanAnHourIsOneInPercentilesOnly(t *testing.T) {
	t.Parallel()
	s := &Series{}
	s.Add(2 * time.Hour.Microseconds())
	assert.InEpsilon(t, time.Hour.Microseconds(), s.Histogram.ValueAtPercentile(100), 0.001)
	assert.Equal(t, 2*time.Hour.Microseconds(), s.Max)
}
