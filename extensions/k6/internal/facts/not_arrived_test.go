package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

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
	assert.Equal(t, &runfile.NotArrived{Messages: 603, Share: 0.603, Text: "60 % rejected, 3 dead-lettered"}, notArrived(r))
}

func TestNothingIsMissingOfARunWhoseMessagesArrivedOrMayStill(t *testing.T) {
	t.Parallel()
	assert.Nil(t, notArrived(&runfile.Run{Account: runfile.Account{Scheduled: 10, Arrived: 8, Pending: 2}}))
	assert.Nil(t, notArrived(&runfile.Run{}))
}
