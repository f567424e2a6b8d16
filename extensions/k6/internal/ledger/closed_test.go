package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// newClosed returns a closed-model run of two phases and two flows.
func newClosed(t *testing.T) run {
	t.Helper()
	p := &profile.Profile{
		Phases: []profile.Phase{
			{Name: "warm-up", Duration: time.Second, VUs: 1},
			{Name: "ten", Duration: time.Second, VUs: 10, Measured: true},
		},
		Flows: []profile.Flow{
			{Name: "direct", Weight: 2, Target: "user", Targets: 3, Messages: 1, Deliveries: 1},
			{Name: "batch", Weight: 1, Target: "room", Targets: 3, Messages: 4, Deliveries: 2},
		},
	}
	schedule := pacer.New(p)
	r := run{New(p, schedule), t, schedule}
	r.Start(epoch)
	return r
}

func (r run) in(phase, n int) pacer.Slot {
	s := r.pacer.Slot(n)
	s.Phase = phase
	return s
}

func TestAClosedRunIsSettledAfterEnd(t *testing.T) {
	t.Parallel()
	r := newClosed(t)
	r.Sent(r.in(0, 0), epoch)
	assert.False(t, r.Settled())
	r.Settle(r.in(0, 0), Accepted)
	assert.False(t, r.Settled(), "a sender may take another request")
	r.Sent(r.in(0, 1), epoch)
	r.End()
	assert.False(t, r.Settled(), "a request is in flight")
	r.Settle(r.in(0, 1), Unknown)
	assert.True(t, r.Settled())
	assert.Panics(t, func() { r.Sent(r.pacer.Slot(2), epoch) }, "a request without a phase")
}

func TestInAClosedRunAMessageIsDueWhenItIsSent(t *testing.T) {
	t.Parallel()
	r := newClosed(t)
	sent := int64(epoch + 777_000)
	r.Sent(r.in(1, 0), sent)
	r.Settle(r.in(1, 0), Accepted)
	stamps := hops.Of(sent+100, sent+200, sent+300, sent+400)
	latencies := r.Arrive(0, []Arrival{{Seq: 0, At: sent + 900, Stamps: stamps, Stamped: true, Bytes: 70}}, nil)
	assert.Equal(t, []int64{900}, latencies)
	assert.Equal(t, int64(1), r.Reading().Read)
	times := r.Times(1)
	assert.Equal(t, []int64{900, 900, 0, 500}, []int64{
		times.Arrival.Sum, times.FromSend.Sum, times.Stages[0].Sum, times.Stages[5].Sum,
	})
	first, sums := r.FlowTimes(0)
	second, none := r.FlowTimes(1)
	assert.Equal(t, []int64{1, 0}, []int64{first.Count, second.Count})
	means := map[string]float64{"schedule": 0, "request": 0.1, "ingest": 0.1, "queue": 0.1, "relay": 0.1,
		"delivery": 0.5}
	assert.Equal(t, means, sums.Means(stages.Default()))
	assert.Nil(t, none.Means(stages.Default()))
	assert.EqualValues(t, 70, r.Cut().Bytes)
	assert.Zero(t, r.Times(0).Arrival.Count)
	assert.Zero(t, r.Lateness().Count)
	assert.Zero(t, r.balanced().Negative)
}

func TestAClosedRunCountsTakenRequests(t *testing.T) {
	t.Parallel()
	r := newClosed(t)
	assert.Equal(t, Account{Balanced: true}, r.balanced())
	for n, outcome := range []Outcome{Accepted, Rejected, Unknown, Accepted, Accepted} {
		s := r.in(n/3, n) // three requests in the first phase
		r.Sent(s, epoch+int64(n))
		r.Settle(s, outcome)
	}
	r.arrive(0, 0, epoch+5000)
	for subscriber := range 2 {
		r.arrive(subscriber, 7, epoch+5000)
	}
	r.Sent(r.in(1, 5), epoch+5)

	a := r.Running(r.pacer.Requests).Account
	assert.Equal(t, []int{12, 6, 2, 4, 6}, []int{a.Scheduled, a.Requests.Scheduled, a.Arrived, a.Rejected, a.Pending})
	assert.True(t, a.Balanced)

	r.Settle(r.in(1, 5), Accepted)
	r.arrive(0, 11, epoch+5000)
	a = r.balanced()
	assert.Equal(t, []int{12, 6, 6}, []int{a.Scheduled, a.Requests.Scheduled, a.Requests.Sent})
	assert.Equal(t, []PhaseCount{{3, 6, 1, 1, 1}, {3, 6, 6, 6, 10}}, r.Ended().Phases)
	assert.Equal(t, []int{2, 4}, r.Ended().Flows, "in the measured phase")
}

func TestAnUnsentNumberIsNoMessage(t *testing.T) {
	t.Parallel()
	r := newClosed(t)
	for _, n := range []int{0, 3*pageSize + 2} { // those in between were never sent
		r.Sent(r.in(0, n), epoch)
		r.Settle(r.in(0, n), Accepted)
	}
	r.arrive(0, 1, epoch)
	a := r.balanced()
	assert.Equal(t, []int{2, 0, 2, 1}, []int{a.Scheduled, a.Dropped, a.Lost, a.Foreign})
}

func TestAClosedDeliveryWithoutItsSendTimeIsUnmeasured(t *testing.T) {
	t.Parallel()
	r := newClosed(t)
	for n := range pageSize {
		r.Sent(r.in(1, n), epoch)
		r.Settle(r.in(1, n), Rejected)
	}
	r.Cut()
	require.Nil(t, r.pages[0].young)
	latencies := r.Arrive(0, []Arrival{{Seq: 0, At: epoch + 1000}}, nil)
	assert.Empty(t, latencies)
	a := r.balanced()
	assert.Equal(t, []int{1, 1, 1}, []int{a.Arrived, a.Deliveries.Arrived, a.Unmeasured})
	assert.Zero(t, r.Times(1).Arrival.Count)
}
