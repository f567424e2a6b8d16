package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fill returns a run of one full, folded page. Every message has arrived, except those in others.
func fill(t *testing.T, deliveries int, others map[int]func(r run, n int)) run {
	t.Helper()
	r := newRun(t, pageSize, 1, flow(1, deliveries))
	for n := range pageSize {
		if other := others[n]; other != nil {
			other(r, n)
			continue
		}
		r.post(n, Accepted)
		for s := range deliveries {
			r.arrive(s, n, r.due(n)+1000)
		}
	}
	r.Cut()
	require.Nil(t, r.pages[0].young, "the page is folded")
	return r
}

func reject(r run, n int) { r.post(n, Rejected) }
func drop(r run, n int)   { r.Drop(r.pacer.Slot(n)) }
func lose(r run, n int)   { r.post(n, Accepted) }
func send(r run, n int)   { r.Sent(r.pacer.Slot(n), r.due(n)) }

func TestAFoldedPageKnowsTheEndOfEachMessage(t *testing.T) {
	t.Parallel()
	r := fill(t, 1, map[int]func(run, int){0: reject, 1: drop, 2: lose, 3: send, 4095: lose})
	assert.Len(t, r.pages[0].open, 3)
	r.arrive(0, 4, r.due(4)+2000)
	r.arrive(0, 1, r.due(1)+2000)
	r.Settle(r.pacer.Slot(3), Unknown)
	r.Find(4095, Queued)
	a := r.balanced()
	assert.Equal(t, []int{1, 1, 1, 1, 1, pageSize - 5},
		[]int{a.Rejected, a.Dropped, a.Lost, a.Unknown, a.Queued, a.Arrived})
	assert.Equal(t, []int{1, 1}, []int{a.Duplicates, a.Foreign}, "a second arrival; a message never sent")
	assert.Equal(t, pageSize-3, a.Deliveries.Due)

	r.arrive(0, 2, r.due(2)+2000)
	r.arrive(0, 3, r.due(3)+2000)
	r.Cut()
	assert.Len(t, r.pages[0].open, 1)
	assert.Equal(t, pageSize-3, r.balanced().Arrived)
}

func TestARejectedMessageThatArrivesAfterItsRecordIsGone(t *testing.T) {
	t.Parallel()
	r := fill(t, 1, map[int]func(run, int){7: reject})
	r.arrive(0, 7, r.due(7)+250_000)
	r.arrive(0, 7, r.due(7)+250_000)
	a := r.balanced()
	assert.Equal(t, []int{pageSize, 0, 1}, []int{a.Arrived, a.Rejected, a.Duplicates})
	m := r.Times(0)
	assert.Equal(t, []int64{pageSize, 250_000}, []int64{m.Arrival.Count, m.Arrival.Max}, "the due time can be computed")
	assert.Equal(t, []int64{pageSize - 1, 1000}, []int64{m.FromSend.Count, m.FromSend.Max},
		"the send time is Forgotten")
	assert.Equal(t, int64(pageSize-1), m.Stages[0].Count)
	assert.Same(t, arrivedInFull, r.pages[0])
}

func TestARejectedMessageThatArrivesInPartIsLost(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]map[int]func(run, int){
		"before the rejection": {7: func(r run, n int) {
			send(r, n)
			r.arrive(1, n, r.due(n)+1000)
			r.Settle(r.pacer.Slot(n), Rejected)
		}},
		"after the rejection": {7: func(r run, n int) {
			r.post(n, Rejected)
			r.arrive(1, n, r.due(n)+1000)
		}},
		"after its record is gone": {7: reject},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := fill(t, 3, others)
			if name == "after its record is gone" {
				r.arrive(1, 7, r.due(7)+1000)
			}
			r.Cut()
			a := r.balanced()
			assert.Equal(t, []int{pageSize - 1, 0, 1}, []int{a.Arrived, a.Rejected, a.Lost})
			assert.Equal(t, []int{3 * pageSize, 3*pageSize - 2}, []int{a.Deliveries.Due, a.Deliveries.Arrived})
			assert.Equal(t, 1, r.Open())
			r.arrive(0, 7, r.due(7)+2000)
			r.arrive(2, 7, r.due(7)+2000)
			assert.Equal(t, pageSize, r.balanced().Arrived)
			assert.Zero(t, r.Open())
		})
	}
}

// Regression: the fate of such a message was dropped with its record, and it counted as rejected.
func TestAMessageFoundInTheQueueIsQueuedWhateverItsAnswer(t *testing.T) {
	t.Parallel()
	find := func(r run, n int) { require.True(r.t, r.Find(n, Queued)) }
	r := fill(t, 1, map[int]func(run, int){
		1: func(r run, n int) { send(r, n); find(r, n); r.Settle(r.pacer.Slot(n), Rejected) },
		2: func(r run, n int) { reject(r, n); find(r, n) },
		3: reject,
		4: drop,
	})
	find(r, 3)
	r.Cut()
	a := r.balanced()
	assert.Equal(t, []int{3, 0, 1}, []int{a.Queued, a.Rejected, a.Dropped})
	assert.False(t, r.Find(4, Queued), "it was never sent")
	assert.False(t, r.Find(pageSize, Queued))
	assert.False(t, r.Find(-1, Queued))
	r.arrive(0, 3, r.due(3)+9000)
	assert.Equal(t, 2, r.balanced().Queued, "it has left the queue")
}

func TestAPageOfOneKindTakesNoRecords(t *testing.T) {
	t.Parallel()
	r := newRun(t, 2*pageSize, 1, flow(1, 5))
	for n := range pageSize {
		r.post(n, Rejected)
		r.Drop(r.pacer.Slot(pageSize + n))
	}
	r.Cut()
	for _, pg := range r.pages {
		assert.Nil(t, pg.young)
		assert.Empty(t, pg.open)
	}
	a := r.balanced()
	assert.Equal(t, []int{pageSize, pageSize, 0}, []int{a.Rejected, a.Dropped, a.Deliveries.Due})
}

func TestAPageWithUnsentMessagesIsNotFolded(t *testing.T) {
	t.Parallel()
	r := newRun(t, pageSize, 1, flow(1, 1))
	for n := 1; n < pageSize; n++ {
		r.post(n, Rejected)
	}
	r.Cut()
	require.NotNil(t, r.pages[0].young)
	r.post(0, Accepted)
	r.arrive(0, 0, r.due(0)+5000)
	r.Cut()
	assert.Nil(t, r.pages[0].young)
	a := r.balanced()
	assert.Equal(t, []int{1, pageSize - 1}, []int{a.Arrived, a.Rejected})
}
