package schedule

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTheGateReleasesSendersNotBeforeTheyAreDue(t *testing.T) {
	t.Parallel()
	g := newGate()
	go g.tend(t.Context())
	began := time.Now()
	var senders sync.WaitGroup
	for s := range 20 {
		senders.Go(func() {
			w := NewWaiter()
			for n := range 50 {
				due := began.Add(time.Duration(20*n+s) * 100 * time.Microsecond)
				assert.True(t, g.wait(t.Context(), nil, w, due))
				assert.False(t, time.Now().Before(due))
			}
		})
	}
	senders.Wait()
}

func TestTheGateKeepsTheOrderOfRequests(t *testing.T) {
	t.Parallel()
	g := newGate()
	now := time.Now()
	first, second, third := NewWaiter(), NewWaiter(), NewWaiter()
	first.due, second.due, third.due = now, now.Add(time.Second), now.Add(time.Millisecond)
	assert.True(t, g.join(first))
	assert.True(t, g.join(second))
	assert.False(t, g.join(third), "due before the last one, so it waits outside the gate")
	g.open(now.Add(-time.Nanosecond))
	assert.Empty(t, first.turn)
	g.open(now)
	assert.Len(t, first.turn, 1)
	assert.Empty(t, second.turn)
	g.open(now.Add(time.Second))
	assert.Len(t, second.turn, 1)
	assert.Empty(t, g.waiting)
}

func TestASenderLeavesTheGateWithTheVUOrTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		vu, stop := context.WithCancel(t.Context())
		halted := make(chan struct{})
		var left sync.WaitGroup
		hour := time.Now().Add(time.Hour)
		left.Go(func() { assert.False(t, g.wait(vu, nil, NewWaiter(), hour)) })
		left.Go(func() { assert.False(t, g.wait(t.Context(), halted, NewWaiter(), hour)) })
		synctest.Wait()
		assert.Len(t, g.waiting, 2)
		stop()
		close(halted)
		left.Wait()
		assert.False(t, g.wait(t.Context(), halted, NewWaiter(), time.Now()), "a due request is not sent either")
	})
}

// Regression: a sender of a halted run came back, and its second token blocked the gate for all.
func TestASenderThatHasLeftMayWaitAgain(t *testing.T) {
	t.Parallel()
	g := newGate()
	halted := make(chan struct{})
	close(halted)
	w, due := NewWaiter(), time.Now().Add(time.Hour)
	assert.False(t, g.wait(t.Context(), halted, w, due))
	assert.False(t, g.wait(t.Context(), halted, w, due))
	assert.Empty(t, g.waiting)
	assert.True(t, g.join(w))
	g.open(due)
	g.remove(w)
	assert.Empty(t, w.turn, "an old token is not its next turn")
}
