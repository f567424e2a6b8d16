package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"
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
