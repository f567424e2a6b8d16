package receive

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

const flows = "\nflows: [{name: direct, targets: 3}, {name: room, deliveries: 2, messages: 3, target: room}]"

// unnoted ignores errors and doubts.
type unnoted struct{}

func (unnoted) Count(_, _, _ string)    {}
func (unnoted) Distrust(string, ...any) {}

// taking makes a Taker of a run whose requests have been sent, all but the last.
func taking(t testing.TB, phases string, form body.Form, of func(*pacer.Pacer) *pacer.Pacer) *Taker {
	t.Helper()
	plan, err := profile.Parse("p", phases+flows)
	require.NoError(t, err)
	due := of(pacer.New(plan))
	bodies := body.New(body.Format{ID: "id", Form: form}, plan.Flows, due, "run.1.", true)
	parts := &run.Parts{
		ID: "run", Name: "run", Profile: plan, Course: schedule.New(due), Bodies: bodies, Notes: unnoted{},
	}
	parts.Messages = run.NewMessages(parts.Course, bodies, run.Comparison{Every: 1})
	parts.Ledger = ledger.New(plan, due)
	parts.Ledger.Pass(stages.Default())
	parts.Ledger.AwaitSending()
	parts.Ledger.Start(0)
	for n := range max(10, due.Requests()) - 1 {
		slot := due.Slot(n)
		slot.Phase = 0
		parts.Ledger.Sent(slot, 1)
	}
	return NewSink(parts, true, func([]int64) {}).Subscriber(1)
}

func whole(p *pacer.Pacer) *pacer.Pacer { return p }

// Anybody may send what arrives: it is counted, whatever its bytes are. go test -fuzz FuzzTake ./internal/receive goes
// on from those here.
func FuzzTake(f *testing.F) {
	for _, payload := range []string{
		`{"id":"run.1.0"}`, `{"id":"run.1.19"}`, `{"id":"run.1.999999999999"}`, `"run.1.-1"`, `"run.2.1"`, `run.1.3`,
		`[{"id":"run.1.1"},{"id":"run.1.2"}]`, `{"id": "run.1.1", "prev": "run.1.4095"}`, `"run.1.99999999999999999999"`, ``,
	} {
		f.Add([]byte(payload), []byte("1763700000123456,35,812,40"), int64(5))
		f.Add([]byte(payload), []byte("9999999999999999,-999999999999999"), int64(-1))
	}
	open, closed := "phases: [{duration: 1, arrivalRate: 20}]", "phases: [{duration: 1, vus: 4}]"
	shared := func(p *pacer.Pacer) *pacer.Pacer { return p.Share([]int{1}, 3) }
	var takers []*Taker
	for _, form := range []body.Form{body.Text, body.Number, body.UUID} {
		takers = append(takers, taking(f, open, form, whole), taking(f, open, form, shared),
			taking(f, closed, form, whole), taking(f, closed, form, (*pacer.Pacer).ByFlow))
	}
	f.Fuzz(func(_ *testing.T, payload, stamps []byte, waited int64) {
		for _, taker := range takers {
			taker.Take(payload, stamps, socket.Arrival{At: time.Now(), Waited: time.Duration(waited)})
			taker.Flush()
		}
	})
}

// Regression: the index was out of range, and k6 panicked.
func TestAnArrivalAtASubscriberThatTheRunDoesNotHaveIsForeign(t *testing.T) {
	t.Parallel()
	taker := taking(t, "phases: [{duration: 1, arrivalRate: 20}]", body.Text, whole)
	for _, subscriber := range []int{-1, 2, 31, 32, 1 << 40} {
		taker.subscriber = subscriber
		taker.Take([]byte("run.1.0"), nil, socket.Arrival{At: time.Now()})
		taker.Flush()
	}
	a := taker.parts.Ledger.Final()
	assert.Equal(t, [2]int{5, 0}, [2]int{a.Foreign, a.Deliveries.Arrived})
}
