package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
)

func TestTheSlowestHundredDeliveriesAreKept(t *testing.T) {
	t.Parallel()
	r := newRun(t, 1000, 1, flow(1, 1))
	for n := range 1000 {
		r.post(n, Accepted)
		r.arrive(0, n, r.due(n)+int64((n*7)%1000)) // each latency once
	}
	slowest := r.Messages().Slowest
	assert.Len(t, slowest, SlowestOfAll)
	for i, d := range slowest {
		assert.Equal(t, int64(999-i), d.Arrival)
		assert.Equal(t, int64(d.Seq*7%1000), d.Arrival)
	}
}

func TestASampleIsSpreadEvenlyOverARunOfAnyLength(t *testing.T) {
	t.Parallel()
	for deliveries, want := range map[int]int{3: 3, 10: 10, 11: 6, 1000: 8} {
		s := sample{most: 10}
		for seq := range deliveries {
			s.note(Named{Seq: seq})
		}
		assert.Len(t, s.rows, want)
		for i, d := range s.rows {
			assert.Equal(t, i*(s.mask+1), d.Seq)
		}
	}
	s := sample{most: 2}
	for range 100 {
		s.note(Named{Seq: 0}) // one message to many subscribers
	}
	assert.NotEmpty(t, s.rows)
	var none sample
	none.note(Named{})
	assert.Empty(t, none.rows)
}

func TestAlmostAll(t *testing.T) {
	t.Parallel()
	r := newRun(t, 200, 1, flow(1, 1))
	for n := range 199 {
		r.post(n, Accepted)
		_, ok := r.AlmostAll(0)
		assert.Equal(t, n >= 198, ok, n)
		r.arrive(0, n, r.due(n)+5000)
	}
	at, ok := r.AlmostAll(0)
	assert.True(t, ok)
	assert.Equal(t, r.due(197)+5000-epoch, at)
}

func TestEachBadEndIsNamed(t *testing.T) {
	t.Parallel()
	r := newRun(t, 7, 1, flow(1, 1))
	for n, outcome := range []Outcome{Accepted, Rejected, Unknown, Accepted, Accepted, Accepted} {
		r.post(n, outcome)
	}
	r.Drop(r.pacer.Slot(6))
	r.arrive(0, 0, r.due(0)+5000)
	r.arrive(0, 0, r.due(0)+6000)
	r.Find(3, Queued)
	r.Find(4, DeadLettered)
	ends := map[int]string{}
	found := r.Messages()
	for _, m := range found.Missing {
		ends[m.Seq] = m.End.String()
		assert.Equal(t, r.due(m.Seq)-epoch, m.Due)
	}
	assert.Equal(t, map[int]string{1: "rejected", 2: "unknown", 3: "queued", 4: "dead_lettered", 5: "lost"}, ends)
	assert.Len(t, found.Duplicates, 1)
	assert.Zero(t, found.Duplicates[0].Seq)
	r.Unsought()
	assert.Equal(t, EndUnknown, r.Messages().Missing[4].End, "the queue could not be searched")
}

func TestTheTailHasTheStagesOfTheSlowest(t *testing.T) {
	t.Parallel()
	r := newRun(t, 1000, 1, flow(1, 1))
	for n := range 1000 {
		r.post(n, Accepted)
		due, queue, relay := r.due(n), int64(100), int64(100)
		if n%100 == 0 {
			relay = 50_000
		}
		claimed := due + 200 + queue
		r.Arrive(0, []Arrival{{Seq: n, At: claimed + relay + 100, Stamped: true,
			Stamps: hops.Of(due+100, due+200, claimed, claimed+relay)}}, nil)
	}
	tail := r.Tail(0.01)
	assert.Equal(t, []int64{10, 1000}, []int64{tail.Count, tail.Of})
	assert.InDelta(t, 50_000, tail.Stages[4], 1e-9)
	assert.InDelta(t, 100, tail.Stages[3], 1e-9)
	assert.InDelta(t, 50_400, tail.Arrival, 1e-9)
}

func TestBucketsOfTheTailAreNarrow(t *testing.T) {
	t.Parallel()
	for us := int64(0); us < Highest; us += 1 + us/50 {
		assert.Less(t, bucketOf(us-us/64-1), max(1, bucketOf(us)), us)
	}
	assert.Zero(t, bucketOf(-5))
	assert.Equal(t, bucketOf(Highest), bucketOf(2*Highest))
}

func TestTheNewestOfEveryNthDeliveryAreKept(t *testing.T) {
	t.Parallel()
	none := keeper{}
	none.note(Kept{Seq: 0})
	assert.Empty(t, none.rows)

	k := keeper{every: 10, most: 3, seen: make([]int, 2)}
	for seq := range 60 {
		k.note(Kept{Seq: seq, Phase: seq / 30, Arrived: int64(seq)})
	}
	assert.ElementsMatch(t, []Kept{{Seq: 30, Phase: 1, Arrived: 30}, {Seq: 40, Phase: 1, Arrived: 40},
		{Seq: 50, Phase: 1, Arrived: 50}}, k.rows)
	assert.Equal(t, []int{3, 3}, k.seen)
}
