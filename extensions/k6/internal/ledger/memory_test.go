package ledger

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// skipUnderRace skips a test that the race detector makes too slow. Tests that call it measure the
// heap, so they are not parallel.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if raced {
		t.Skip("npm test runs it without the race detector")
	}
}

// liveHeap returns the bytes in use after a garbage collection.
func liveHeap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// allocate gives each series its histogram, which comes with the first time and is no memory of messages.
func allocate(l *Ledger) {
	all := []*Series{&l.lateness, &l.reading.Waits, &l.targets.others}
	for _, i := range []*Interval{l.interval, l.spare} {
		all = append(all, &i.Arrival, &i.FromSend, &i.HTTP)
	}
	for _, t := range l.times {
		all = append(all, &t.Arrival, &t.FromSend, &t.HTTP)
		for i := range t.Stages {
			all = append(all, &t.Stages[i])
		}
	}
	for _, list := range [][]Series{l.flowTimes, l.targets.followed} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	for _, s := range all {
		s.extend(0, 0)
	}
}

// bound returns the bytes that the package doc promises, plus a page for the run's last messages.
func bound(messages, unresolved int) int {
	pages := messages/pageSize + 1
	return 32*unresolved + messages/8 + 72*pages + 16*pageSize + 20_000
}

// Regression: one lost message in 1,000 kept the records of all, 160 MB for 10 million messages.
func TestMemoryIsThatOfUnresolvedMessages(t *testing.T) {
	skipUnderRace(t)
	const messages, lag, second = 10_000_000, 2000, 20_000 // lag and second in requests
	requests := messages * 10 / 19
	flows := []profile.Flow{
		{Name: "direct", Weight: 7, Target: "user", Targets: 100, Messages: 1, Deliveries: 1},
		{Name: "room", Weight: 2, Target: "room", Targets: 20, Messages: 1, Deliveries: 2},
		{Name: "batch", Weight: 1, Target: "user", Targets: 100, Messages: 10, Deliveries: 1},
	}
	r := newRun(t, float64(requests)/100, 100, flows...)
	require.Equal(t, requests, r.pacer.Requests())
	allocate(r.Ledger)
	before := liveHeap()

	lost, rejected, unanswered, arrived := 0, 0, 0, 0
	arrivals := make([]Arrival, 0, 10)
	arrive := func(n int) {
		s := r.pacer.Slot(n)
		switch {
		case n%101 == 0:
			rejected += s.Messages
			return
		case n%4999 == 0:
			unanswered += s.Messages
			return
		}
		arrivals = arrivals[:0]
		for seq := s.FirstSeq; seq < s.FirstSeq+s.Messages; seq++ {
			if seq%1000 == 7 {
				lost++
				continue
			}
			arrived++
			arrivals = append(arrivals, Arrival{Seq: seq, At: r.due(n) + 9000})
		}
		for subscriber := range flows[s.Flow].Deliveries {
			r.Arrive(subscriber, arrivals, nil)
		}
	}
	for n := range requests + lag {
		if n < requests {
			s := r.pacer.Slot(n)
			r.Sent(s, r.due(n))
			switch {
			case n%101 == 0:
				r.Settle(s, Rejected)
			case n%4999 != 0:
				r.Settle(s, Accepted)
			}
		}
		if n >= lag {
			arrive(n - lag)
		}
		if n%second == 0 {
			r.Cut()
		}
	}
	r.Cut()
	grown, most := liveHeap()-before, bound(messages, lost+unanswered)
	t.Logf("%d messages, %d unresolved: %d bytes of at most %d", messages, lost+unanswered, grown, most)
	assert.LessOrEqual(t, grown, most)

	began := time.Now()
	a := r.balanced()
	t.Logf("the account took %s", time.Since(began))
	assert.Equal(t, []int{lost, rejected, unanswered, arrived, 0},
		[]int{a.Lost, a.Rejected, a.Unknown, a.Arrived, a.Dropped})
	assert.InDelta(t, 0.001*messages, lost, 0.0001*messages)
	assert.InDelta(t, 0.01*messages, rejected, 0.001*messages)
}

// The bound holds at any backlog and in any order of arrivals.
func TestMemoryFollowsABacklogThatDrains(t *testing.T) {
	skipUnderRace(t)
	const messages = 100 * pageSize
	r := newRun(t, messages, 1, flow(1, 1))
	order := rand.New(rand.NewPCG(1, 2)).Perm(messages)
	allocate(r.Ledger)
	before := liveHeap()
	for n := range messages {
		r.Sent(r.pacer.Slot(n), r.due(n))
		r.Settle(r.pacer.Slot(n), Accepted)
	}
	for i, seq := range order {
		if i%(messages/40) == 0 {
			r.Cut()
			require.LessOrEqual(t, liveHeap()-before, bound(messages, messages-i), "%d of %d unresolved", messages-i,
				messages)
		}
		r.arrive(0, seq, r.due(seq)+1000)
	}
	r.Cut()
	assert.LessOrEqual(t, liveHeap()-before, 8*len(r.pages)+26_000, "arrived messages take no memory")
	assert.Equal(t, messages, r.balanced().Arrived)
	runtime.KeepAlive(order)
}

// Regression: ids followed the weights, not the flows that were chosen. Pages of a rarely sent flow
// were never freed.
func TestMemoryOfFlowsChosenAgainstTheirWeights(t *testing.T) {
	skipUnderRace(t)
	const requests, lag, second = 1_000_000, 2000, 20_000
	flows := []profile.Flow{
		{Name: "often", Weight: 1, Target: "user", Targets: 100, Messages: 1, Deliveries: 1},
		{Name: "seldom", Weight: 7, Target: "user", Targets: 100, Messages: 1, Deliveries: 1},
		{Name: "batch", Weight: 2, Target: "room", Targets: 20, Messages: 10, Deliveries: 2},
	}
	p := &profile.Profile{Phases: []profile.Phase{{Name: "only", Duration: time.Minute, VUs: 10, Measured: true}},
		Flows: flows}
	schedule := pacer.New(p)
	byFlow := schedule.ByFlow()
	r := run{New(p, schedule), t, byFlow}
	r.ByFlow(byFlow)
	r.Start(epoch)
	allocate(r.Ledger)
	before := liveHeap()

	taken, messages, lost := make([]int, len(flows)), 0, 0
	take := func(n int) pacer.Slot {
		flow := 0
		switch {
		case n%5000 == 0:
			flow = 1
		case n%5000 == 1:
			flow = 2
		}
		taken[flow]++
		return byFlow.Slot(byFlow.Turn(flow, taken[flow]-1))
	}
	inFlight := make([]pacer.Slot, lag)
	for n := range requests + lag {
		if n >= lag {
			s := inFlight[n%lag]
			for i := range s.Messages {
				if (n-lag)%1009 == 7 {
					lost++
					continue
				}
				for subscriber := range flows[s.Flow].Deliveries {
					r.arrive(subscriber, s.FirstSeq+i, epoch+int64(n)*100)
				}
			}
		}
		if n < requests {
			s := take(n)
			s.Phase = 0
			messages += s.Messages
			r.Sent(s, epoch+int64(n)*100)
			r.Settle(s, Accepted)
			inFlight[n%lag] = s
		}
		if n%second == 0 {
			r.Cut()
		}
	}
	r.Cut()
	inFlight = nil
	most := bound(messages, lost) + len(flows)*16*pageSize // a partial page per flow
	grown := liveHeap() - before
	t.Logf("%d messages, %d lost: %d bytes of at most %d", messages, lost, grown, most)
	assert.LessOrEqual(t, grown, most)
	a := r.balanced()
	assert.Equal(t, []int{messages, lost, messages - lost, 0, 0},
		[]int{a.Scheduled, a.Lost, a.Arrived, a.Reordered, a.Unmeasured})
	assert.LessOrEqual(t, len(r.watched), len(flows)+1, "a cut visits only pages that may change")
}
