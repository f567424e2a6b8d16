package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// newWarmed returns a run of two requests a second: for a second a warm-up, then two seconds that are measured.
func newWarmed(t *testing.T) run {
	t.Helper()
	p := &profile.Profile{
		Phases: []profile.Phase{
			{Name: "warm-up", Duration: time.Second, Rate: 2, RampTo: 2},
			{Name: "steady", Duration: 2 * time.Second, Rate: 2, RampTo: 2, Measured: true},
		},
		Flows: []profile.Flow{flow(1, 1)},
	}
	schedule := pacer.New(p)
	l := New(p, schedule)
	l.Start(epoch)
	return run{l, t, schedule}
}

// sentLate sends request n so many µs after it was due.
func (r run) sentLate(n int, late int64) { r.Sent(r.pacer.Slot(n), r.due(n)+late) }

// mostLate is MostLate, or -1 where none was sent.
func (r run) mostLate(second int) int64 {
	if us, ok := r.MostLate(second); ok {
		return us
	}
	return -1
}

func TestTheLargestLatenessOfASecondIsOfWhatWasDueInIt(t *testing.T) {
	t.Parallel()
	r := newWarmed(t)
	r.sentLate(0, 300)
	r.sentLate(1, 200)
	r.sentLate(2, 2_500_000) // in the second after the next
	r.sentLate(3, 100)
	assert.EqualValues(t, 300, r.mostLate(0), "of a phase that is not measured")
	assert.EqualValues(t, 2_500_000, r.mostLate(1))
	assert.EqualValues(t, -1, r.mostLate(2), "nothing due in it was sent")
	assert.EqualValues(t, -1, r.mostLate(99), "after the last second")
}

func TestARequestThatIsSentBeforeItIsDueIsNotLate(t *testing.T) {
	t.Parallel()
	r := newWarmed(t)
	r.sentLate(0, -50)
	assert.Zero(t, r.mostLate(0))
}

func TestALatenessBeyondTheLongestTimeIsTheLongest(t *testing.T) {
	t.Parallel()
	r := newWarmed(t)
	r.sentLate(0, 2*Highest)
	assert.Equal(t, Highest, r.mostLate(0))
}

func TestADroppedRequestHasNoLateness(t *testing.T) {
	t.Parallel()
	r := newWarmed(t)
	r.Drop(r.pacer.Slot(0))
	assert.EqualValues(t, -1, r.mostLate(0))
}

func TestInAClosedRunNothingIsLate(t *testing.T) {
	t.Parallel()
	r := newClosed(t)
	r.Sent(r.in(1, 0), epoch+777_000)
	assert.EqualValues(t, -1, r.mostLate(0))
}

func TestTheDeliveriesOfADueSecondAreCountedByBin(t *testing.T) {
	t.Parallel()
	var d dueSeconds
	d.add(2_500_000, 1000)
	d.add(2_999_999, 1_000_000) // arrived in a later second
	d.add(2_000_000, 10)        // a lower bin than the first
	d.add(2_000_000, 0)
	d.add(2_000_000, -5)
	d.add(-1, 1000) // due before the start
	l := &Ledger{dues: d}
	assert.Nil(t, l.DueBins(0))
	assert.Nil(t, l.DueBins(7))
	bins := l.DueBins(2)
	counts := map[int64]int64{}
	for i, n := range bins[1:] {
		if n > 0 {
			counts[bins[0]+int64(i)] = n
		}
	}
	assert.Equal(t, map[int64]int64{0: 2, 10: 1, 30: 1, 60: 1}, counts)
}
