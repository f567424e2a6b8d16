package facts

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// second is a row of a timeline: the backlog at its end, its deliveries, and their p99, which is their maximum too.
type second struct {
	backlog int
	count   int64
	p99     float64
}

// bursting is a run of a burst of a second from second 2 on, and four seconds after it; further rows have no phase.
func bursting(rows ...second) *runfile.Run {
	r := &runfile.Run{Run: runfile.Identity{Model: runfile.Open}}
	start := 0.0
	for _, s := range []runfile.Step{
		{Name: "before", DurationS: 2, ScheduledPerS: 200},
		{Name: "spike", DurationS: 1, ScheduledPerS: 4000, Arrived99S: new(3.5)},
		{Name: "after", DurationS: 5, ScheduledPerS: 200},
	} {
		s.StartS = start
		start += s.DurationS
		r.Steps = append(r.Steps, s)
	}
	for t, row := range rows {
		i := runfile.Interval{T: t, Backlog: row.backlog}
		for j := range r.Steps {
			if s := &r.Steps[j]; float64(t) >= s.StartS && float64(t) < s.StartS+s.DurationS {
				i.Phase = &s.Name
			}
		}
		if row.count > 0 {
			i.Arrival = &runfile.Quantiles{Count: row.count, P99: &row.p99, Max: row.p99}
		}
		r.Timeline = append(r.Timeline, i)
	}
	return r
}

// usual are the seconds of a burst whose backlog dips to the earlier level before it grows again.
func usual() []second {
	return []second{
		{3, 200, 900}, // while connecting
		{5, 200, 10},
		{400, 500, 50},
		{900, 500, 400},
		{5, 500, 15}, // a dip
		{80, 200, 21},
		{4, 200, 20},
		{2, 200, 11},
		{0, 200, 900}, // after the last phase
	}
}

// Regression: the page took the first dip, and the script the time that the backlog stays low: one screen said both.
func TestTheBacklogHasDrainedOnceItStaysAsLowAsBefore(t *testing.T) {
	t.Parallel()
	found := Recover(bursting(usual()...), 2)
	require.NotNil(t, found)
	assert.Equal(t, 5, *found.CalmBacklog)
	assert.InDelta(t, 4, *found.DrainedS, 0, "the end of second 6, and not of second 4")
	rows := append(usual(), second{backlog: 7})
	assert.Nil(t, Recover(bursting(rows...), 2).DrainedS, "it grew again")
}

func TestABacklogThatTheBurstNeverRaisedHasDrainedAtItsEnd(t *testing.T) {
	t.Parallel()
	rows := usual()
	for i := range rows {
		rows[i].backlog = 5
	}
	assert.InDelta(t, 0, *Recover(bursting(rows...), 2).DrainedS, 0)
}

func TestThePeakOfTheBacklogIsThatSinceTheBurst(t *testing.T) {
	t.Parallel()
	rows := usual()
	rows[0].backlog = 5000 // while connecting
	found := Recover(bursting(rows...), 2)
	assert.Equal(t, 900, found.PeakBacklog)
	assert.InDelta(t, 3, found.PeakS, 0)
	assert.Equal(t, "spike", found.Phase)
	assert.InDelta(t, 3.5, *found.Arrived99S, 0)
}

func TestP99IsBackOnceEachLaterSecondIsNearThatOfBefore(t *testing.T) {
	t.Parallel()
	run := bursting(usual()...)
	found := Recover(run, 2)
	assert.InDelta(t, 10, *found.CalmP99MS, 0, "without the second in which connections are made")
	assert.InDelta(t, 2, found.BackFactor, 0)
	assert.InDelta(t, 3, *found.BackS, 0)
	assert.InDelta(t, 0, *Recover(run, 50).BackS, 0)
	assert.Nil(t, Recover(run, 1).BackS)
}

func TestASecondOfFewDeliveriesIsNoProofThatP99IsBack(t *testing.T) {
	t.Parallel()
	rows := usual()
	rows[6].count = 99
	assert.InDelta(t, 4, *Recover(bursting(rows...), 2).BackS, 0, "the next second shows it")
	for i := 3; i < len(rows); i++ {
		rows[i].count, rows[i].p99 = 99, 5
	}
	assert.Nil(t, Recover(bursting(rows...), 2).BackS)
	rows = usual()
	rows[7] = second{2, 3, 5000}
	assert.Nil(t, Recover(bursting(rows...), 2).BackS, "its slowest delivery shows that it is not back")
}

// Regression: a stalled pipeline has no slow deliveries.
func TestASecondWithoutADeliveryIsNotBackWhileSomeAreOwed(t *testing.T) {
	t.Parallel()
	rows := usual()
	rows[7] = second{backlog: 2}
	assert.Nil(t, Recover(bursting(rows...), 2).BackS)
	rows[7] = second{}
	assert.InDelta(t, 3, *Recover(bursting(rows...), 2).BackS, 0, "nothing was due")
}

// Regression: a burst at a low rate had failed whatever happened.
func TestAtALowRateTheLargestLatenciesAreCompared(t *testing.T) {
	t.Parallel()
	rows := usual()
	for i := range rows {
		rows[i].count = min(rows[i].count, 50)
	}
	found := Recover(bursting(rows...), 2)
	assert.InDelta(t, 10, *found.CalmP99MS, 0)
	assert.InDelta(t, 3, *found.BackS, 0)
	assert.Nil(t, Recover(bursting(rows...), 1).BackS)
}

func TestWithoutALatencyBeforeTheBurstItIsNotKnownWhetherItIsBack(t *testing.T) {
	t.Parallel()
	rows := usual()
	rows[1].count = 0
	found := Recover(bursting(rows...), 2)
	assert.Nil(t, found.CalmP99MS)
	assert.Nil(t, found.BackS)
	assert.NotNil(t, found.DrainedS)
}

func TestOnlyTheOneBurstOfAnOpenLoadIsRecoveredFrom(t *testing.T) {
	t.Parallel()
	assert.Nil(t, Recover(golden(t, "passing"), 2))
	run := bursting(usual()...)
	run.Timeline = run.Timeline[:2]
	assert.Nil(t, Recover(run, 2), "it was killed before the burst")
	found := Recover(golden(t, "spike"), 2)
	require.NotNil(t, found)
	assert.Positive(t, *found.DrainedS)
}

func TestARecoveryTakesLongerThanItSeemsWhereTheGeneratorWasLateBeforeTheBurst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ late, drain, back float64 }{
		{0, 4, 3}, {2, 4, 4}, {10, 6, math.Inf(1)},
	} {
		r := bursting(usual()...)
		r.Steps[0].Due = 400
		r.Timeline[1].LateMaxMS, r.Timeline[3].LateMaxMS = &c.late, new(500.0)
		drain, is := LongestS(r, drainRule)
		require.True(t, is)
		back, _ := LongestS(r, backRule)
		assert.Equal(t, [2]float64{c.drain, c.back}, [2]float64{drain, back}, "late by %v ms", c.late)
	}
	_, is := LongestS(bursting(usual()...), runfile.P99Rule)
	assert.False(t, is)
}

// Regression: a message in flight as the last second ended failed a run for "spike_drain_s 7, limit < 6", beside "there
// was no backlog behind the ingest".
func TestARequestInFlightIsNoBacklog(t *testing.T) {
	t.Parallel()
	rows := []second{{0, 200, 10}, {0, 200, 10}, {0, 4000, 12}, {0, 200, 10}, {0, 200, 10}, {1, 200, 10}, {0, 200, 10}}
	r := bursting(rows...)
	assert.InDelta(t, 4, *Recover(r, 2).DrainedS, 0, "no flow says how much a request is")
	r.Run.Profile.Flows = []runfile.Flow{{Messages: 1, Deliveries: 1}}
	assert.InDelta(t, 0, *Recover(r, 2).DrainedS, 0)
	rows[5].backlog = 2
	r = bursting(rows...)
	r.Run.Profile.Flows = []runfile.Flow{{Messages: 1, Deliveries: 1}}
	assert.InDelta(t, 4, *Recover(r, 2).DrainedS, 0)
	r.Run.Profile.Flows = []runfile.Flow{{Messages: 1, Deliveries: 2}}
	assert.InDelta(t, 0, *Recover(r, 2).DrainedS, 0)
}
