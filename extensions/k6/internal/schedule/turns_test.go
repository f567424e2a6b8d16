package schedule

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// begun returns a run of one phase that begins now.
func begun(t *testing.T, phase string) *Course {
	t.Helper()
	p, err := profile.Parse("profile", "phases: ["+phase+"]\nflows: [{name: direct}]")
	require.NoError(t, err)
	c := New(pacer.New(p))
	c.Ledger = ledger.New(p, c.Pacer)
	c.Epoch = time.Now()
	c.Start()
	return c
}

// Senders beyond a phase's VUs wait, and no sender takes a request after its end.
func TestAPhaseOfTheClosedModelHasItsOwnSenders(t *testing.T) {
	t.Parallel()
	now := time.Now()
	two := Turn{VUs: 2, End: now.Add(time.Second)}
	assert.True(t, two.take(1, now))
	assert.True(t, two.take(2, now))
	assert.False(t, two.take(3, now))
	assert.False(t, two.take(1, now.Add(time.Second)))
	assert.False(t, (&Turn{}).take(1, now), "no sender sends between phases")
}

// A taken request is not in the ledger yet while its body is built. The phase waits for it.
func TestAPhaseEndsWhenItsLastRequestHasBeenSentAndAnswered(t *testing.T) {
	t.Parallel()
	turns := NewTurns(begun(t, "{duration: 60, vus: 1, requests: 1, drain: 60}"), 1)
	left := new(atomic.Int64)
	left.Store(1)
	now := turns.To(Turn{VUs: 1, End: time.Now().Add(time.Minute), Left: left})
	slot, ok := turns.Take(t.Context(), NewWaiter())
	require.True(t, ok)

	ended, drained := make(chan time.Time, 1), make(chan bool, 1)
	go func() { ended <- turns.Last(t.Context(), now) }()
	go func() { drained <- turns.Drained(t.Context(), time.Now().Add(time.Minute)) }()
	time.Sleep(20 * Ending)
	assert.Empty(t, ended)
	assert.Empty(t, drained)
	turns.Ledger.Sent(slot, turns.Clock.Now())
	turns.Taken()
	time.Sleep(20 * Ending)
	assert.Empty(t, ended)
	turns.Ledger.Settle(slot, ledger.Rejected)
	assert.True(t, (<-ended).Before(now.End))
	assert.True(t, <-drained)
}

// Regression: a script whose senders threw waited until k6's limit, which exceeds the schedule.
func TestAScheduleWithoutSendersIsAbandoned(t *testing.T) {
	t.Parallel()
	o := NewOpen(begun(t, "{duration: 100, arrivalRate: 1}"))
	slot := o.Pacer.Slot(0)
	due := o.Epoch.Add(slot.Due)
	assert.False(t, o.Abandoned(due.Add(LateLimit)), "it may still be sent")
	assert.True(t, o.Abandoned(due.Add(LateLimit+1)))
	o.next.Add(1)
	assert.False(t, o.Abandoned(due.Add(LateLimit+1)), "the next one is due later")
	o.Ledger.Sent(slot, 0)
	hour := due.Add(time.Hour)
	assert.False(t, o.Abandoned(hour), "a sender waits for an answer")
	o.Ledger.Settle(slot, ledger.Accepted)
	assert.True(t, o.Abandoned(hour))
	o.next.Store(int64(o.Pacer.Requests()))
	assert.False(t, o.Abandoned(hour), "all requests are taken")
}

func TestAHaltedRunHandsOutNoRequests(t *testing.T) {
	t.Parallel()
	o := NewOpen(begun(t, "{duration: 100, arrivalRate: 1}"))
	close(o.Halted)
	for range 3 {
		_, ok := o.Take(t.Context(), NewWaiter())
		assert.False(t, ok)
	}
	assert.Zero(t, o.Drawn())
	assert.Empty(t, o.left)
}
