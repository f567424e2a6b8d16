package arrival

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

func TestTheCanaryIsMeasuredApartFromTheLoad(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{Delay: 100 * time.Millisecond},
		"phases: [{duration: 3, arrivalRate: 50}]\nflows: [{name: direct}]", "canary: true, id: 'meta.id'")
	r := s.run()
	require.NotNil(t, r.Canary)
	assert.Equal(t, [2]int{3, 3}, [2]int{r.Canary.Sent, r.Canary.Arrived})
	assert.GreaterOrEqual(t, *r.Canary.Latency.Min, 100.0)
	assert.Equal(t, 150, r.Account.Arrived, "the canary is no part of the account")
	assert.Zero(t, r.Account.Foreign)
	assert.Equal(t, int64(150), r.Latency.Arrival.Count)
	for second := range 3 {
		require.NotNil(t, r.Timeline[second].CanaryMS, second)
		assert.GreaterOrEqual(t, *r.Timeline[second].CanaryMS, 100.0)
	}
}

func TestARefusedCanaryIsLeftOutOfTheAccount(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Status: func(int) int { return http.StatusTooManyRequests }}
	r := newScript(t, f, "phases: [{duration: 2, arrivalRate: 5}]\nflows: [{name: direct}]", "canary: true").run()
	assert.Equal(t, [2]int{2, 0}, [2]int{r.Canary.Sent, r.Canary.Arrived})
	assert.Nil(t, r.Canary.Latency.P50)
	assert.Nil(t, r.Timeline[0].CanaryMS)
	assert.Equal(t, 10, r.Account.Rejected)
	stages := map[string]int{}
	for _, e := range r.Errors {
		stages[e.Stage] += e.Count
	}
	assert.Equal(t, map[string]int{"request": 10, "canary": 2}, stages)
}
