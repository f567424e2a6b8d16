package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestARepeatedRequestIsOneMessage(t *testing.T) {
	t.Parallel()
	r := newRun(t, 1, 1, flow(1, 1))
	s, due := r.pacer.Slot(0), r.due(0)
	r.Sent(s, due+10)
	r.Retried() // no answer in time
	r.arrive(0, 0, due+5000)
	r.Answered(0, 700)
	r.Settle(s, Accepted)
	r.arrive(0, 0, due+9000) // the second attempt was accepted too

	a := r.balanced()
	assert.Equal(t, []int{1, 1, 1, 1, 1}, []int{a.Requests.Scheduled, a.Requests.Sent, a.Requests.Retried, a.Arrived,
		a.Duplicates})
	m := r.Times(0)
	assert.Equal(t, []int64{1, 5000, 4990, 700}, []int64{m.Arrival.Count, m.Arrival.Sum, m.FromSend.Sum, m.HTTP.Sum},
		"measured once, from the first attempt to the first arrival")
	assert.Zero(t, r.Open())
	assert.Zero(t, r.Cut().Backlog)
}

func TestEachAnsweredAttemptHasAnHTTPTime(t *testing.T) {
	t.Parallel()
	r := newRun(t, 1, 1, flow(3, 1))
	r.Sent(r.pacer.Slot(0), r.due(0))
	r.Answered(0, 200) // 503
	r.Retried()
	r.Answered(0, 400)
	assert.False(t, r.Settled())
	r.Settle(r.pacer.Slot(0), Accepted)
	assert.True(t, r.Settled())
	assert.Equal(t, []int64{2, 600}, []int64{r.Times(0).HTTP.Count, r.Times(0).HTTP.Sum})
	i := r.Cut()
	assert.Equal(t, []int{1, 3, 3, 0, 0}, []int{i.Requests, i.Sent, i.Accepted, i.Rejected, i.Failed})
	assert.Equal(t, int64(2), i.HTTP.Count)
}
