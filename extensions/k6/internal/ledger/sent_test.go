package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// Regression: when another process sends, a delivery may come before the report of its sending. It
// counted as foreign, and its message as lost.
func TestADeliveryMayPrecedeTheReportOfItsSending(t *testing.T) {
	t.Parallel()
	for name, awaits := range map[string]bool{"k6 sends": false, "another process sends": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newRun(t, 1, 1, flow(1, 1))
			if awaits {
				l.AwaitSending()
			}
			s := l.pacer.Slot(0)
			assert.Empty(t, l.Arrive(0, []Arrival{{Seq: 0, At: epoch + 700}}, nil))
			assert.Equal(t, 1, l.Final().Foreign, "until its sending is reported")
			l.Sent(s, epoch+100)
			l.Settle(s, Accepted)
			a := l.Final()
			if !awaits {
				assert.Equal(t, [3]int{1, 0, 1}, [3]int{a.Foreign, a.Arrived, a.Lost})
				return
			}
			assert.Equal(t, [3]int{0, 1, 0}, [3]int{a.Foreign, a.Arrived, a.Lost})
			assert.Equal(t, []int64{700}, l.Arrive(0, nil, nil), "its latency comes with the next arrivals")
			assert.Empty(t, l.Arrive(0, nil, nil))
			l.arrive(0, 1, epoch+800)
			assert.Equal(t, 1, l.Final().Foreign, "the schedule has no such message")
		})
	}
}

// Regression: a request was stamped before it was written, so that the generator's own time counted as the pipeline's.
func TestARequestIsSentWhenItLeft(t *testing.T) {
	t.Parallel()
	r := newRun(t, 4, 1, flow(1, 1))
	s := r.pacer.Slot(0)
	r.Leaving(s)
	running := r.Running(func() int { return 1 })
	assert.Equal(t, [3]int{1, 1, 0}, [3]int{running.Requests.Sent, r.InFlight(), int(r.Lateness().Count)})
	r.LeftAndWritten(s, epoch+300, epoch+900)
	r.arrive(0, 0, epoch+1500)
	r.Settle(s, Accepted)
	assert.Equal(t, [3]int64{300, 1200, 1500}, [3]int64{r.Lateness().Max, r.Times(0).FromSend.Max, r.Times(0).Arrival.Max})
	assert.EqualValues(t, 900, r.mostLate(0), "the most by which it can have been late")
}

func TestWhatArrivesBeforeItsRequestIsKnownToHaveLeftWaitsForThat(t *testing.T) {
	t.Parallel()
	for name, settles := range map[string]bool{"answered after that": false, "answered before that": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, 4, 1, flow(1, 1))
			s := r.pacer.Slot(0)
			r.Leaving(s)
			r.Leaving(r.pacer.Slot(1))
			assert.Empty(t, r.Arrive(0, []Arrival{{Seq: 0, At: epoch + 700}}, nil))
			r.Left(r.pacer.Slot(1), epoch+250_000)
			r.arrive(0, 1, epoch+250_900) // its own sender was faster
			if settles {
				r.Settle(s, Accepted)
			}
			r.Left(s, epoch+300)
			if !settles {
				r.Settle(s, Accepted)
			}
			r.Settle(r.pacer.Slot(1), Accepted)
			assert.Equal(t, []int64{700}, r.Arrive(0, nil, nil), "its latency comes with the next arrivals")
			a := r.balanced()
			assert.Equal(t, [4]int{2, 0, 0, 0}, [4]int{a.Arrived, a.Foreign, a.Reordered, r.Owed()})
			assert.EqualValues(t, 400, r.Times(0).FromSend.Min)
		})
	}
}

func TestARefusedRequestMayBeSettledBeforeItIsKnownToHaveLeft(t *testing.T) {
	t.Parallel()
	r := newRun(t, pageSize, 1, flow(1, 1))
	for n := range pageSize {
		r.Leaving(r.pacer.Slot(n))
		r.Settle(r.pacer.Slot(n), Rejected)
	}
	r.Cut() // forgets their records
	for n := range pageSize {
		r.Left(r.pacer.Slot(n), r.due(n))
	}
	assert.Equal(t, pageSize, r.balanced().Rejected)
}

// BenchmarkLeaving compares what it costs to enter a request by when it left with one that is stamped before.
func BenchmarkLeaving(b *testing.B) {
	for name, enter := range map[string]func(r run, s pacer.Slot, now func() int64){
		"before": func(r run, s pacer.Slot, now func() int64) {
			r.Sent(s, now())
			r.Written(s, now())
		},
		"leaving": func(r run, s pacer.Slot, now func() int64) {
			r.Leaving(s)
			at := now()
			r.LeftAndWritten(s, at, now())
		},
	} {
		b.Run(name, func(b *testing.B) {
			p := &profile.Profile{
				Phases: []profile.Phase{{Name: "only", Duration: 1000 * time.Second, Rate: 1e5, RampTo: 1e5, Measured: true}},
				Flows:  []profile.Flow{flow(1, 1)},
			}
			r := run{New(p, pacer.New(p)), nil, pacer.New(p)}
			began := time.Now()
			n := 0
			for b.Loop() {
				s := r.pacer.Slot(n)
				enter(r, s, func() int64 { return time.Since(began).Microseconds() })
				r.Settle(s, Rejected)
				if n++; n%pageSize == 0 {
					r.Cut()
				}
			}
		})
	}
}

// Regression: in the closed model, ids that somebody made up took memory without a limit.
func TestNotMoreThanSoManyDeliveriesWaitForTheReportOfTheirRequest(t *testing.T) {
	t.Parallel()
	r := newClosed(t)
	r.AwaitSending()
	for seq := range earlyMost + 10 {
		r.arrive(0, 1_000_000+seq, epoch)
	}
	assert.Len(t, r.early, earlyMost)
	assert.Equal(t, earlyMost+10, r.Final().Foreign)
}
