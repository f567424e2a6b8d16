package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

func TestTheSecondsOfARunAddUpToItsDeliveries(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{}, steady, "").run()
	due, late := int64(0), 0.0
	for _, second := range r.Timeline {
		due += second.Due
		if second.LateMaxMS != nil {
			late = max(late, *second.LateMaxMS)
		}
	}
	assert.EqualValues(t, r.Account.Deliveries.Due, due)
	assert.GreaterOrEqual(t, late, *r.Health.Lateness.Max, "the measured phases are a part of all")
	assert.Zero(t, r.Timeline[len(r.Timeline)-1].InFlight, "every request was answered")
}

func TestLatenessIsThatOfTheSecondInWhichARequestWasDue(t *testing.T) {
	t.Parallel()
	e, _, dir := inProgress(t, 4)
	slot := e.Pacer.Slot(5) // of 10 a second
	due := e.Clock.At(e.Epoch) + slot.Due.Microseconds()
	e.Ledger.Sent(slot, due+2_100_000)

	atOnce, err := runfile.ReadTimeline(dir)
	require.NoError(t, err)
	assert.Nil(t, atOnce[0].LateMaxMS, "it was sent after the second was written")
	timeline := e.report(false).Timeline
	require.NotNil(t, timeline[0].LateMaxMS)
	assert.InDelta(t, 2100, *timeline[0].LateMaxMS, 0.1)
	assert.Nil(t, timeline[1].LateMaxMS, "nothing due in it was sent")
}

func TestARequestThatIsNotAnsweredIsInFlight(t *testing.T) {
	t.Parallel()
	e, rec, _ := inProgress(t, 1)
	for i := range 3 {
		e.Ledger.Sent(e.Pacer.Slot(i), e.Clock.At(e.Epoch))
	}
	rec.cut()
	rec.cut()
	e.Ledger.Settle(e.Pacer.Slot(0), ledger.Unknown)
	rec.cut()
	timeline := e.report(false).Timeline
	inFlight := []int{}
	for _, second := range timeline {
		inFlight = append(inFlight, second.InFlight)
	}
	assert.Equal(t, []int{0, 3, 3, 2}, inFlight)
}

func TestInTheClosedModelNoSecondHasALateness(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{}, `
phases: [{name: two, duration: 60, vus: 2, requests: 20}]
flows: [{name: direct}]`, "").runClosed()
	require.NotEmpty(t, r.Timeline)
	for _, second := range r.Timeline {
		assert.Nil(t, second.LateMaxMS)
	}
}
