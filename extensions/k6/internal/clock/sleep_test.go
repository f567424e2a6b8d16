package clock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSleepUntilReturnsNotBeforeTheTime(t *testing.T) {
	t.Parallel()
	for range 200 {
		at := time.Now().Add(300 * time.Microsecond)
		assert.True(t, SleepUntil(t.Context(), nil, at))
		assert.False(t, time.Now().Before(at))
	}
	at := time.Now().Add(5 * time.Millisecond) // mostly the runtime's timer
	assert.True(t, SleepUntil(t.Context(), nil, at))
	assert.False(t, time.Now().Before(at))
}

func TestSleepUntilEndsWithTheVUOrTheRun(t *testing.T) {
	t.Parallel()
	stopped, stop := context.WithCancel(t.Context())
	stop()
	halted := make(chan struct{})
	close(halted)
	hour := time.Now().Add(time.Hour)
	assert.False(t, SleepUntil(stopped, nil, hour))
	assert.False(t, SleepUntil(t.Context(), halted, hour))
	assert.False(t, SleepUntil(t.Context(), halted, time.Now()), "a due request is not sent either")
}
