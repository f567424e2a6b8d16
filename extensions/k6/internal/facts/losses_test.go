package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// lossesOf are the places of losses by their end; "?" is an unknown place.
func lossesOf(r *runfile.Run) map[string]string {
	Conclude(r, "")
	places := map[string]string{}
	for _, l := range r.Facts.Losses {
		places[l.End] = "?"
		if l.Stage != nil {
			places[l.End] = *l.Stage
		}
	}
	return places
}

// withEach is a golden in which ten messages have each end.
func withEach(t *testing.T, name string) *runfile.Run {
	t.Helper()
	r := golden(t, name)
	a := &r.Account
	a.Dropped, a.Rejected, a.Unknown, a.Altered = 10, 10, 10, 10
	a.Misdelivered, a.DeadLettered, a.Queued, a.Lost = 10, 10, 10, 10
	a.Arrived = a.Scheduled - 80
	return r
}

// Regression: a message that was lost in a killed relay was drawn as lost at delivery, which blames the broker.
func TestTheEndOfALostMessageDoesNotSayWhereItWasLost(t *testing.T) {
	t.Parallel()
	assert.Equal(t, map[string]string{"lost": "?"}, lossesOf(golden(t, "failing")))
}

func TestALostMessageThatReachedAnotherSubscriberWasLostAtDelivery(t *testing.T) {
	t.Parallel()
	r := golden(t, "failing")
	r.Messages = &runfile.Messages{Named: []runfile.Named{
		{ID: "r.1.1", End: "lost", Delivered: new(1)}, {ID: "r.1.2", End: "lost", Delivered: new(0)},
	}}
	Conclude(r, "")
	require.Len(t, r.Facts.Losses, 2)
	first, rest := r.Facts.Losses[0], r.Facts.Losses[1]
	assert.Equal(t, "delivery", *first.Stage)
	assert.Equal(t, 1, first.Count)
	assert.Nil(t, rest.Stage)
	assert.Equal(t, 191, rest.Count)
	assert.InDelta(t, 191.0/89_300, rest.Share, 1e-9)
}

func TestEachEndHasItsPlaceInOurPipeline(t *testing.T) {
	t.Parallel()
	assert.Equal(t, map[string]string{"dropped": "schedule", "rejected": "request", "unknown": "request",
		"queued": "queue", "dead_lettered": "relay", "altered": "delivery", "misdelivered": "?", "lost": "?"},
		lossesOf(withEach(t, "passing")))
}

func TestLossesAreInTheOrderOfTheWay(t *testing.T) {
	t.Parallel()
	r := withEach(t, "passing")
	Conclude(r, "")
	var ends []string
	for _, l := range r.Facts.Losses {
		ends = append(ends, l.End)
	}
	assert.Equal(t,
		[]string{"dropped", "rejected", "unknown", "queued", "dead_lettered", "altered", "misdelivered", "lost"}, ends)
}

func TestBetweenTheStagesOfAnotherPipelineNoPlaceIsGuessed(t *testing.T) {
	t.Parallel()
	assert.Equal(t, map[string]string{"dropped": "schedule", "rejected": "request", "unknown": "request",
		"queued": "?", "dead_lettered": "?", "altered": "push", "misdelivered": "?", "lost": "?"},
		lossesOf(withEach(t, "own-stages")))
}

func TestWithoutStagesEverythingIsLostAfterTheSchedule(t *testing.T) {
	t.Parallel()
	places := lossesOf(withEach(t, "without-stages"))
	require.Len(t, places, len(ledger.MissedEnds()))
	for end, place := range places {
		if end == "dropped" {
			assert.Equal(t, "schedule", place)
		} else {
			assert.Equal(t, "request to delivery", place, end)
		}
	}
}

func TestTargetsWithoutPercentilesHaveNoSlowestOne(t *testing.T) {
	t.Parallel()
	r := golden(t, "three")
	assert.Regexp(t, "The slowest is direct/0: its p99 is ", targets(r))
	for i := range r.Targets.Rows {
		if a := r.Targets.Rows[i].Arrival; a != nil {
			a.P50, a.P95, a.P99 = nil, nil, nil
		}
	}
	assert.Regexp(t, "^No target lost a message. Targets of several generators have no percentiles.$", targets(r))
	r.Targets.Rows[0].Lost = 3
	assert.Regexp(t, "^1 target lost messages", targets(r))
}

func TestTheBalanceIsSaidWithTheSumOfTheEnds(t *testing.T) {
	t.Parallel()
	assert.Regexp(t, "^It balances: .* 89,300, as many", balance(golden(t, "passing").Account))
	assert.Regexp(t, "does not balance: the ends add up to 2,433, 37 fewer", balance(golden(t, "unbalanced").Account))
	denied := golden(t, "passing").Account
	denied.Balanced = false
	assert.Regexp(t, "does not balance: .* 89,300, as many .* but", balance(denied))
}

// Regression: the history said "lost 0" of a run that refused 61 % of its messages.
func TestWhatDidNotArriveIsSaidByItsEnd(t *testing.T) {
	t.Parallel()
	r := golden(t, "refusing")
	Conclude(r, "")
	require.NotNil(t, r.Facts.NotArrived)
	assert.Equal(t, r.Account.Rejected, r.Facts.NotArrived.Messages)
	assert.InDelta(t, 0.88, r.Facts.NotArrived.Share, 0.01)
	assert.Equal(t, "88 % rejected", r.Facts.NotArrived.Text)
}

func TestFewMissingMessagesAreCounted(t *testing.T) {
	t.Parallel()
	r := &runfile.Run{Account: runfile.Account{Scheduled: 1000, Arrived: 397, DeadLettered: 3, Rejected: 600}}
	assert.Equal(t, &runfile.NotArrived{Messages: 603, Share: 0.603, Text: "60 % rejected, 3 dead-lettered"},
		notArrived(r))
}

func TestNothingIsMissingOfARunWhoseMessagesArrivedOrMayStill(t *testing.T) {
	t.Parallel()
	assert.Nil(t, notArrived(&runfile.Run{Account: runfile.Account{Scheduled: 10, Arrived: 8, Pending: 2}}))
	assert.Nil(t, notArrived(&runfile.Run{}))
}
