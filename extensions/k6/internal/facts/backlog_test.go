package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// growing is a run of a step of ten seconds at 100 deliveries/s, whose backlog grows by so many a second, up and down
// by 20.
func growing(perS int) (*runfile.Run, *runfile.Step) {
	r := offered(100)
	r.Steps[0].Name, r.Steps[0].Due = "hold", 1000
	for t := range 12 { // two seconds after it too
		r.Timeline = append(r.Timeline, runfile.Interval{T: t, Backlog: 500 + perS*t + []int{20, -20, -20, 20}[t%4]})
	}
	r.Timeline[10].Backlog = 9000
	return r, &r.Steps[0]
}

func TestTheBacklogGrowsByTheSlopeOfItsSeconds(t *testing.T) {
	t.Parallel()
	r, hold := growing(10)
	g := NewBacklogGrowth(r, hold, nil)
	require.NotNil(t, g)
	assert.InDelta(t, 10, g.PerS, 1)
	assert.InDelta(t, g.PerS/100, *g.ShareOfRate, 1e-12)
	assert.Equal(t, 10, g.Seconds)
	assert.Equal(t, "hold", g.Phase)
	assert.True(t, g.Grows)
	assert.Nil(t, g.InFlight)
	r, hold = growing(-10)
	assert.False(t, NewBacklogGrowth(r, hold, nil).Grows)
}

func TestABacklogNoGreaterThanWhatIsInFlightAtTheLimitDoesNotGrow(t *testing.T) {
	t.Parallel()
	r, hold := growing(10)
	assert.False(t, NewBacklogGrowth(r, hold, new(2000.0)).Grows, "100/s are 200 deliveries in flight for 2 s")
	g := NewBacklogGrowth(r, hold, new(250.0))
	assert.True(t, g.Grows)
	assert.InDelta(t, 25, *g.InFlight, 1e-9)
}

func TestAPhaseOfOneSecondHasNoGrowth(t *testing.T) {
	t.Parallel()
	r, hold := growing(10)
	r.Timeline = r.Timeline[:1]
	assert.Nil(t, NewBacklogGrowth(r, hold, nil))
	r, hold = growing(10)
	hold.Due = 0
	assert.Nil(t, NewBacklogGrowth(r, hold, nil).ShareOfRate, "nothing was due")
}

func TestOnlyTheOneMeasuredPhaseOfASteadyLoadHasAGrowingBacklog(t *testing.T) {
	t.Parallel()
	r := golden(t, "capacity")
	require.NotNil(t, backlogOf(r))
	assert.Equal(t, "hold", backlogOf(r).Phase)
	assert.Zero(t, backlogOf(r).CountedShare)
	for i := range r.Timeline {
		r.Timeline[i].Backlog = 30 * i
	}
	assert.InDelta(t, 0.1, backlogOf(r).CountedShare, 0.001, "30 of 300 deliveries/s")
	r.Run.Profile.Phases[0].Measured = true
	assert.Nil(t, backlogOf(r), "the load ramps")
}
