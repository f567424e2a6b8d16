package merge

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

func TestWhatIsDueAndInFlightInASecondIsTheSumOfTheInstances(t *testing.T) {
	t.Parallel()
	all := second(3, []*runfile.Interval{{Due: 30, InFlight: 4}, {Due: 12, InFlight: 1}}, nil)
	assert.EqualValues(t, 42, all.Due)
	assert.Equal(t, 5, all.InFlight)
}

func TestTheLargestLatenessOfASecondIsThatOfTheLatestInstance(t *testing.T) {
	t.Parallel()
	sentNone := runfile.Interval{}
	all := second(3, []*runfile.Interval{{LateMaxMS: new(0.2)}, &sentNone, {LateMaxMS: new(7.5)}}, nil)
	assert.Equal(t, new(7.5), all.LateMaxMS)
	assert.Nil(t, second(3, []*runfile.Interval{&sentNone, &sentNone}, nil).LateMaxMS)
	unknown := runfile.Interval{Requests: 5}
	assert.Nil(t, second(3, []*runfile.Interval{{LateMaxMS: new(0.2)}, &unknown}, nil).LateMaxMS, "it may be larger")
}

func TestWhatIsDueInTheSecondsIsWhatIsDueInAll(t *testing.T) {
	t.Parallel()
	_, r, err := Directories([]string{"testdata/whole"}, filepath.Join(t.TempDir(), "merged"))
	require.NoError(t, err)
	due := int64(0)
	for _, s := range r.Timeline {
		due += s.Due
	}
	assert.EqualValues(t, r.Account.Deliveries.Due, due)
	assert.Positive(t, due)
}
