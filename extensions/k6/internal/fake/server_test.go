package fake

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOneServerServesInOrderAndNeverTwoAtOnce(t *testing.T) {
	t.Parallel()
	const service = 30 * time.Millisecond
	f := &Pipeline{Service: func(nth int) time.Duration { return time.Duration(nth) * service }}
	r := startReader(t, f, "messages/a")
	began := time.Now()
	r.post("1@a", "2@a", "3@a")
	r.expect("messages/a 1", "messages/a 2", "messages/a 3")
	log := f.Log()
	require.Len(t, log, 3)
	for i, busy := range []time.Duration{service, 3 * service, 6 * service} {
		assert.GreaterOrEqual(t, log[i].Written.Sub(began), busy, "message %d", i+1)
	}
}

func TestALateAnswerHoldsNoMessage(t *testing.T) {
	t.Parallel()
	const late = 300 * time.Millisecond
	f := &Pipeline{Answer: func(nth int) time.Duration { return map[int]time.Duration{2: late}[nth] }}
	r := startReader(t, f, "messages/a")
	r.post("1@a")
	asked := time.Now()
	r.post("2@a")
	answered := time.Now()
	r.expect("messages/a 1", "messages/a 2")
	assert.GreaterOrEqual(t, answered.Sub(asked), late)
	assert.True(t, f.Log()[1].Written.Before(answered))
}
