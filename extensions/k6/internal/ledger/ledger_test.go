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

const epoch = 1_700_000_000_000_000

// run is a ledger with its schedule.
type run struct {
	*Ledger
	t     *testing.T
	pacer *pacer.Pacer
}

func newRun(t *testing.T, rate float64, seconds int, flows ...profile.Flow) run {
	t.Helper()
	p := &profile.Profile{
		Phases: []profile.Phase{{Name: "only", Duration: time.Duration(seconds) * time.Second, Rate: rate, RampTo: rate,
			Measured: true}},
		Flows: flows,
	}
	schedule := pacer.New(p)
	l := New(p, schedule)
	l.Start(epoch)
	return run{l, t, schedule}
}

func flow(messages, deliveries int) profile.Flow {
	return profile.Flow{Name: "f", Weight: 1, Target: "user", Targets: 1, Messages: messages, Deliveries: deliveries}
}

// due returns when request n is due, in µs of the own clock.
func (r run) due(n int) int64 { return epoch + r.pacer.Slot(n).Due.Microseconds() }

func (r run) post(n int, outcome Outcome) {
	r.Sent(r.pacer.Slot(n), r.due(n))
	if outcome != Unknown {
		r.Answered(0, 1000)
	}
	r.Settle(r.pacer.Slot(n), outcome)
}

func (r run) arrive(subscriber, seq int, at int64) {
	r.Arrive(subscriber, []Arrival{{Seq: seq, At: at}}, nil)
}

func (r run) balanced() Account {
	r.t.Helper()
	a := r.Final()
	require.True(r.t, a.Balanced, "%+v", a)
	return a
}

func TestEveryMessageHasOneEnd(t *testing.T) {
	t.Parallel()
	r := newRun(t, 8, 1, flow(1, 1))
	r.post(0, Accepted)
	r.arrive(0, 0, r.due(0)+5000)
	r.post(1, Rejected)
	r.post(2, Unknown)
	r.post(3, Unknown)
	r.arrive(0, 3, r.due(3)+5000)
	r.post(4, Accepted)
	r.post(5, Accepted)
	r.Find(5, Queued)
	r.post(6, Accepted)
	r.Find(6, DeadLettered)
	r.Drop(r.pacer.Slot(7))

	running := r.Running(r.pacer.Requests)
	assert.Equal(t, Account{
		Scheduled: 8, Arrived: 2, Rejected: 1, Dropped: 1, Pending: 4, Balanced: true,
		Requests: Requests{Scheduled: 8, Sent: 7, Failed: 3}, Deliveries: Deliveries{Due: 5, Arrived: 2, Missing: 3},
	}, running.Account)

	a := r.balanced()
	assert.Equal(t, Account{
		Scheduled: 8, Arrived: 2, Rejected: 1, Unknown: 1, Lost: 1, Queued: 1, DeadLettered: 1, Dropped: 1,
		Balanced: true, Requests: Requests{Scheduled: 8, Sent: 7, Failed: 3},
		Deliveries: Deliveries{Due: 5, Arrived: 2, Missing: 3},
	}, a)
	assert.True(t, r.Settled())
}

// Regression: lateness was taken from the stages, so messages that did not arrive were never late.
func TestLatenessCoversAllSentMessages(t *testing.T) {
	t.Parallel()
	r := newRun(t, 3, 1, flow(10, 2))
	for n, outcome := range []Outcome{Accepted, Rejected, Unknown} {
		r.Sent(r.pacer.Slot(n), r.due(n)+int64(n)*1000)
		r.Settle(r.pacer.Slot(n), outcome)
	}
	late := r.Lateness()
	assert.Equal(t, []int64{60, 20 * 3000, 0, 2000}, []int64{late.Count, late.Sum, late.Min, late.Max},
		"once for each delivery that is due")
	assert.Zero(t, r.Times(0).Stages[0].Count)
	assert.NotSame(t, late.Histogram, r.Lateness().Histogram)
}

func TestAnArrivalMayOvertakeTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRun(t, 1, 1, flow(1, 1))
	r.Sent(r.pacer.Slot(0), r.due(0))
	r.arrive(0, 0, r.due(0)+300)
	assert.False(t, r.Settled())
	r.Settle(r.pacer.Slot(0), Accepted)
	assert.Equal(t, 1, r.balanced().Arrived)
	assert.Zero(t, r.Open())
	assert.Zero(t, r.Cut().Backlog)
}

func TestARejectedMessageThatArrivesHasArrived(t *testing.T) {
	t.Parallel()
	r := newRun(t, 1, 1, flow(1, 1))
	r.post(0, Rejected)
	r.arrive(0, 0, r.due(0)+300)
	a := r.balanced()
	assert.Equal(t, [2]int{1, 0}, [2]int{a.Arrived, a.Rejected})
	assert.True(t, r.Running(r.pacer.Requests).Balanced)
}

func TestFanOutIsDueAtEverySubscriber(t *testing.T) {
	t.Parallel()
	r := newRun(t, 2, 1, flow(1, 5))
	r.post(0, Accepted)
	r.post(1, Accepted)
	for s := range 5 {
		r.arrive(s, 0, r.due(0)+5000)
	}
	for s := range 4 {
		r.arrive(s, 1, r.due(1)+5000)
	}
	assert.Equal(t, 1, r.Open())
	a := r.balanced()
	assert.Equal(t, 1, a.Arrived)
	assert.Equal(t, 1, a.Lost, "four deliveries of five are not an arrival")
	assert.Equal(t, [2]int{10, 9}, [2]int{a.Deliveries.Due, a.Deliveries.Arrived})
}

func TestDuplicatesAreCountedAndAreNoSample(t *testing.T) {
	t.Parallel()
	r := newRun(t, 1, 1, flow(1, 2))
	r.post(0, Accepted)
	r.arrive(0, 0, r.due(0)+1000)
	r.arrive(0, 0, r.due(0)+9000)
	r.arrive(1, 0, r.due(0)+1000)
	r.arrive(1, 0, r.due(0)+9000)
	assert.Equal(t, 2, r.balanced().Duplicates)
	assert.Equal(t, int64(2), r.Times(0).Arrival.Count)
	assert.Equal(t, int64(1000), r.Times(0).Arrival.Max)
}

func TestReorderingsAreCountedPerTopic(t *testing.T) {
	t.Parallel()
	f := flow(1, 1)
	f.Targets = 2 // even messages go to one target, odd ones to the other
	r := newRun(t, 6, 1, f)
	for n := range 6 {
		r.post(n, Accepted)
	}
	for _, seq := range []int{1, 0, 4, 2, 3, 5} {
		r.arrive(0, seq, r.due(5)+1000)
	}
	assert.Equal(t, 1, r.balanced().Reordered, "only message 2 came after a later one of its target")
}

func TestForeignMessagesAreOnlyCounted(t *testing.T) {
	t.Parallel()
	r := newRun(t, 2, 1, flow(1, 1))
	r.post(0, Accepted)
	r.arrive(0, 1, r.due(1)) // not sent yet
	r.arrive(0, 2, r.due(1)) // beyond the schedule
	r.arrive(0, -1, r.due(1))
	r.Foreign(4)
	assert.Equal(t, 7, r.balanced().Foreign)
	assert.Zero(t, r.Times(0).Arrival.Count)
}

func TestStagesSumToTheArrivalLatency(t *testing.T) {
	t.Parallel()
	r := newRun(t, 100, 1, flow(1, 1))
	for n := range 100 {
		sent := r.due(n) + int64(n*13)
		s := hops.Of(sent+100, sent+150, sent+600+int64(n), sent+700+int64(n))
		r.Sent(r.pacer.Slot(n), sent)
		r.Settle(r.pacer.Slot(n), Accepted)
		r.Arrive(0, []Arrival{{Seq: n, At: sent + 1000 + int64(n), Stamps: s, Stamped: true}}, nil)
	}
	times := r.Times(0)
	sum := int64(0)
	for i := range times.Stages {
		require.Equal(t, int64(100), times.Stages[i].Count, stages.Default()[i].Name)
		sum += times.Stages[i].Sum
	}
	assert.Equal(t, times.Arrival.Sum, sum)
	assert.Equal(t, int64(99*13), times.Stages[0].Max)
	assert.Equal(t, times.Arrival.Sum-times.Stages[0].Sum, times.FromSend.Sum)
	assert.Zero(t, r.balanced().Negative)
}

// Regression: each message of a read had the longest wait, even if its stage was shorter.
func TestAWaitIsNeverAboveTheDelivery(t *testing.T) {
	t.Parallel()
	r := newRun(t, 10, 1, flow(1, 1))
	for n, c := range []struct {
		waited  int64
		stamped bool
		want    int64 // below 0: not counted
	}{{50, true, 50}, {700, true, 300}, {700, false, 700}, {-1, true, -1}, {0, true, 0}} {
		r.post(n, Accepted)
		d, before := r.due(n), r.Reading().Waits
		s := hops.Of(d+100, d+200, d+300, d+600)
		r.Arrive(0, []Arrival{{Seq: n, At: d + 900, Kernel: n%2 == 0, Waited: c.waited, Stamps: s, Stamped: c.stamped}},
			nil)
		after := r.Reading().Waits
		if c.want < 0 {
			assert.Equal(t, before.Count, after.Count, n)
			continue
		}
		assert.Equal(t, []int64{before.Count + 1, before.Sum + c.want}, []int64{after.Count, after.Sum}, n)
	}
	reading := r.Reading()
	assert.Equal(t, []int64{3, 2}, []int64{reading.Kernel, reading.Read})
}

func TestATimeBelowZeroIsCountedAndKept(t *testing.T) {
	t.Parallel()
	r := newRun(t, 1, 1, flow(1, 1))
	r.post(0, Accepted)
	d := r.due(0)
	// The relay's clock is 500 µs behind.
	s := hops.Of(d+100, d+200, d-200, d-100)
	r.Arrive(0, []Arrival{{Seq: 0, At: d + 900, Stamps: s, Stamped: true}}, nil)
	times := r.Times(0)
	assert.Equal(t, 1, r.balanced().Negative)
	assert.Equal(t, int64(-400), times.Stages[3].Sum)
	assert.Equal(t, int64(900), times.Arrival.Sum)
}

// Regression: a publisher's own stamp comes back by a later estimate of the offset, 1 or 2 µs off. At 50 ms to the
// subscriber, 12 % of the deliveries had a request below zero, and the run was invalid.
func TestATimeBelowZeroByLessThanTheClockBoundIsNotNegative(t *testing.T) {
	t.Parallel()
	r := newRun(t, 4, 1, flow(1, 1))
	for n, c := range []struct{ received, published, bound int64 }{
		{-2, 700, 2}, {-3, 700, 2}, // request
		{100, 902, 2}, {100, 903, 2}, // delivery
	} {
		r.post(n, Accepted)
		d := r.due(n)
		s := hops.Of(d+c.received, d+200, d+300, d+c.published)
		r.Arrive(0, []Arrival{{Seq: n, At: d + 900, Stamps: s, Stamped: true, Bound: c.bound}}, nil)
	}
	assert.Equal(t, 2, r.balanced().Negative)
	assert.Equal(t, int64(-2-3+100+100), r.Times(0).Stages[1].Sum, "each counts as it is")
}

func TestAPageIsFreedWhenItsMessagesHaveArrived(t *testing.T) {
	t.Parallel()
	r := newRun(t, 5000, 1, flow(1, 1))
	for n := range 5000 {
		r.post(n, Accepted)
		r.arrive(0, n, r.due(n)+1000)
	}
	assert.Same(t, arrivedInFull, r.pages[0])
	r.arrive(0, 17, r.due(0))
	a := r.balanced()
	assert.Equal(t, 5000, a.Arrived)
	assert.Equal(t, 1, a.Duplicates, "still known as a duplicate after its record is gone")
}

// Regression: a page was freed before the answer to its POST, and the HTTP time was lost.
func TestAnAnswerAfterItsPageIsFreedIsMeasured(t *testing.T) {
	t.Parallel()
	r := newRun(t, pageSize, 1, flow(1, 1))
	for n := range pageSize {
		r.Sent(r.pacer.Slot(n), r.due(n))
		r.arrive(0, n, r.due(n)+200)
	}
	require.Same(t, arrivedInFull, r.pages[0])
	for n := range pageSize {
		r.Answered(0, 300)
		r.Settle(r.pacer.Slot(n), Accepted)
	}
	assert.Equal(t, int64(pageSize), r.Times(0).HTTP.Count)
	assert.True(t, r.Settled())
}

func TestAnIntervalHoldsWhatHappenedInIt(t *testing.T) {
	t.Parallel()
	r := newRun(t, 3, 1, flow(2, 1))
	r.post(0, Accepted)
	r.post(1, Rejected)
	r.arrive(0, 0, r.due(0)+4000)
	i := r.Cut()
	assert.Equal(t, []int{4, 2, 2, 0, 1}, []int{i.Sent, i.Accepted, i.Rejected, i.Failed, i.Backlog})
	assert.Equal(t, int64(1), i.Arrival.Count)
	i = r.Cut()
	assert.Equal(t, []int{0, 0, 1}, []int{i.Sent, i.Accepted, i.Backlog})
	assert.Zero(t, i.Arrival.Count)
}

// Regression: a run in which Redis' clock stepped passed, with a stage whose mean was -29,333 ms.
func TestStagesThatAStepOfAClockCrossesAreNotKnown(t *testing.T) {
	t.Parallel()
	const hour = 3_600_000_000
	for what, s := range map[string]hops.Stamps{
		"ahead, before received": hops.Of(hour+100, hour+200, hour+300, hour+600),
		"ahead, in the queue":    hops.Of(100, 200, hour+300, hour+600),
		"back, in the queue":     hops.Of(100, 200, 300-hour, 600-hour),
		"back, before published": hops.Of(100, 200, 300, 600-hour),
		"ahead and back":         hops.Of(100, hour+200, 300, 600),
	} {
		r := newRun(t, 10, 1, flow(1, 1))
		r.post(0, Accepted)
		d := r.due(0)
		moved := hops.Of(d+s.At[0], d+s.At[1], d+s.At[2], d+s.At[3])
		latencies := r.Arrive(0, []Arrival{{Seq: 0, At: d + 900, Stamps: moved, Stamped: true}}, nil)
		assert.Equal(t, []int64{900}, latencies, what)
		assert.Equal(t, 1, r.balanced().Negative, what)
		assert.Zero(t, r.Times(0).Stages[3].Count, what)
		assert.Equal(t, int64(1), r.Times(0).Stages[0].Count, what)
	}
}
