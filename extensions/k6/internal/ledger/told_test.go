package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// toldLedger is a started ledger of messages that are told, and their schedule.
func toldLedger(t *testing.T, flows string) (*Ledger, *pacer.Pacer) {
	t.Helper()
	p, err := profile.Parse("told", "phases: [{duration: 60, arrivalRate: 1}]\nflows: "+flows)
	require.NoError(t, err)
	schedule, err := pacer.NewTold(p)
	require.NoError(t, err)
	l := New(p, schedule)
	l.AwaitSending()
	l.Start(0)
	return l, schedule
}

// Messages that are told have numbers with holes, due times of their own, and are only those that were told.
func TestTheAccountOfWhatIsTold(t *testing.T) {
	t.Parallel()
	l, schedule := toldLedger(t, "[{name: one}, {name: two}]")
	const told = 20_000 // several pages
	number := func(k int) int {
		if k < told/2 {
			return k
		}
		return k + k%3*7_000 // three callers of their own
	}
	seen, lost := map[int]bool{}, 0
	for k := range told {
		n := number(k)
		if seen[n] {
			continue
		}
		seen[n] = true
		s, err := schedule.Tell(n, time.Duration(k)*time.Millisecond, k%2)
		require.NoError(t, err)
		if k%5 == 1 { // it arrives before the recorder hears that it was sent
			l.Arrive(0, []Arrival{{Seq: n, At: s.Due.Microseconds() + 3000}}, nil)
		}
		if k%1000 == 17 {
			l.Drop(s)
			continue
		}
		l.Sent(s, s.Due.Microseconds()+1000)
		l.Settle(s, Accepted)
		switch {
		case k%5 == 1:
		case k%1000 == 18:
			lost++
		default:
			l.Arrive(0, []Arrival{{Seq: n, At: s.Due.Microseconds() + 3000}}, nil)
		}
		if k%100 == 0 {
			l.Cut()
		}
	}
	l.Arrive(0, []Arrival{{Seq: 5_000_000}}, nil) // nobody has told it
	assert.False(t, l.Settled())
	l.End()
	assert.True(t, l.Settled())
	a := l.Final()
	assert.True(t, a.Balanced)
	assert.Equal(t, [5]int{len(seen), len(seen) - 20 - lost, lost, 20, 1},
		[5]int{a.Scheduled, a.Arrived, a.Lost, a.Dropped, a.Foreign})
	assert.Equal(t, a.Arrived+lost, a.Deliveries.Due)
	times := l.Times(0)
	assert.Equal(t, int64(a.Arrived), times.Arrival.Count)
	assert.InDelta(t, 3000, times.Arrival.Histogram.Mean(), 5, "from due")
	assert.InDelta(t, 1000, l.Lateness().Histogram.Mean(), 5)
}

// Only its arrival says for which target a message was that a caller sent.
func TestWhatIsToldIsForTheTargetWhereItComes(t *testing.T) {
	t.Parallel()
	l, schedule := toldLedger(t, "[{name: one, targets: [a, b, c]}]")
	for n := range 7 {
		s, err := schedule.Tell(n, time.Millisecond, 0)
		require.NoError(t, err)
		l.Sent(s, 1000)
		l.Settle(s, Accepted)
		if n < 6 {
			l.Arrive(0, []Arrival{{Seq: n, At: 3000, Target: 1 + n%2*2}}, nil)
		}
	}
	l.End()
	assert.Equal(t, [3]int{6, 1, 0}, [3]int{l.Final().Arrived, l.Final().Lost, l.Final().Misdelivered})
	rows, _ := l.Targets()
	require.Len(t, rows, 3)
	for i, came := range []int64{3, 0, 3} {
		assert.Equal(t, came, rows[i].Arrival.Count, rows[i].Name)
		assert.Zero(t, rows[i].Lost, "it may have been for any")
	}
}

// Regression: a message that came at another flow's target counted as never told, or broke the numbers of the targets.
func TestWhatIsToldAndComesAtAnotherFlowsTargetIsMisdelivered(t *testing.T) {
	t.Parallel()
	l, schedule := toldLedger(t, "[{name: one, targets: [a, b]}, {name: two, targets: [c, d]}]")
	const a, b, c = 1, 2, 3 // as of an Arrival
	for n, at := range []struct{ flow, target int }{{0, b}, {1, c}, {1, b}, {1, a}, {0, c}} {
		s, err := schedule.Tell(n, time.Millisecond, at.flow)
		require.NoError(t, err)
		l.Sent(s, 1000)
		l.Settle(s, Accepted)
		l.Arrive(0, []Arrival{{Seq: n, At: 3000, Target: at.target}}, nil)
		_, err = schedule.Tell(n, time.Millisecond, at.flow)
		require.ErrorContains(t, err, "told already")
	}
	l.End()
	final := l.Final()
	assert.Equal(t, [3]int{2, 3, 5}, [3]int{final.Arrived, final.Misdelivered, final.Scheduled})
	rows, _ := l.Targets()
	for i, came := range []int64{0, 1, 1, 0} {
		assert.Equal(t, came, rows[i].Arrival.Count, rows[i].Name)
	}
}

// Regression: the threads of a caller count for themselves, and one that was ahead made all others' messages reordered.
func TestWhatIsToldIsInTheOrderInWhichItWasSent(t *testing.T) {
	t.Parallel()
	l, schedule := toldLedger(t, "[{name: one}]")
	for i, n := range []int{0, 3, 1, 6, 4} { // of three threads
		s, err := schedule.Tell(n, time.Millisecond, 0)
		require.NoError(t, err)
		l.Sent(s, int64(1000*(i+1)))
		l.Settle(s, Accepted)
	}
	for _, n := range []int{0, 3, 1, 4, 6} { // the last one overtakes
		l.Arrive(0, []Arrival{{Seq: n, At: 9000}}, nil)
	}
	l.End()
	rows, _ := l.Targets()
	assert.Equal(t, []int{5, 1}, []int{l.Final().Arrived, rows[0].Reordered})
}

// What a message was sent with need be known only until it has arrived in full.
func TestWhatIsComparedIsOverWhenItHasArrivedInFull(t *testing.T) {
	t.Parallel()
	l, schedule := toldLedger(t, "[{name: one, deliveries: 2}]")
	var over []int
	l.Compare(func(_ int, sum uint64) bool { return sum == 1 }, func(seq int) { over = append(over, seq) })
	for n := range 3 {
		s, err := schedule.Tell(n, time.Millisecond, 0)
		require.NoError(t, err)
		l.Arrive(0, []Arrival{{Seq: n, At: 3000, Sum: 1}}, nil) // before it is reported as sent
		l.Sent(s, 1000)
		l.Settle(s, Accepted)
	}
	assert.Empty(t, over)
	l.Arrive(1, []Arrival{{Seq: 0, At: 3000, Sum: 1}, {Seq: 1, At: 3000, Sum: 2}}, nil)
	l.Arrive(1, []Arrival{{Seq: 0, At: 3000, Sum: 2}}, nil) // a duplicate
	assert.Equal(t, []int{0}, over, "message 1 came altered, message 2 once")
}
