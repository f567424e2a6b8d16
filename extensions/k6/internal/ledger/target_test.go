package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

func TestATargetHasItsDeliveries(t *testing.T) {
	t.Parallel()
	r := newRun(t, 12, 1,
		profile.Flow{Name: "direct", Weight: 2, Target: "user", Targets: 3, Messages: 1, Deliveries: 1},
		profile.Flow{Name: "batch", Weight: 1, Target: "user", Targets: 3, Messages: 3, Deliveries: 1},
		profile.Flow{Name: "off", Weight: 0, Target: "room", Targets: 1, Messages: 1, Deliveries: 2})
	at := int64(0)
	for n := range r.pacer.Requests() {
		r.post(n, Accepted)
		at = max(at, r.due(n)+1000)
	}
	arrivals := map[string]int64{}
	for seq := r.pacer.Messages(r.pacer.Requests()) - 1; seq > 0; seq-- { // backwards, without message 0
		r.arrive(0, seq, at)
		slot := r.pacer.SlotOf(seq)
		arrivals[fmt.Sprintf("user/%d", (slot.OfFlow+seq-slot.FirstSeq)%3)]++
	}
	a := r.balanced()
	targets, others := r.Targets()
	assert.Nil(t, others)
	require.Len(t, targets, 4)
	reordered, lost := 0, 0
	for _, target := range targets {
		assert.Equal(t, arrivals[target.Name], target.Arrival.Count, target.Name)
		reordered += target.Reordered
		lost += target.Lost
	}
	assert.Equal(t, []int{a.Reordered, a.Lost}, []int{reordered, lost})
	assert.Equal(t, 1, targets[0].Lost, "message 0 goes to user/0")
	assert.Zero(t, targets[3].Arrival.Count, "room/0")
}

func TestManyTargetsAreSampledAndTheOthersSummed(t *testing.T) {
	t.Parallel()
	const number = 2*mostFollowed + 1
	p := &profile.Profile{
		Phases: []profile.Phase{
			{Name: "warm-up", Duration: time.Second, Rate: number, RampTo: number},
			{Name: "measured", Duration: time.Second, Rate: number, RampTo: number, Measured: true},
		},
		Flows: []profile.Flow{{Name: "f", Weight: 1, Target: "user", Targets: number, Messages: 1, Deliveries: 1}},
	}
	schedule := pacer.New(p)
	r := run{New(p, schedule), t, schedule}
	r.Start(epoch)
	for n := range schedule.Requests() {
		r.post(n, Accepted)
		if n%number != 3 { // user/3 gets nothing
			r.arrive(0, n, r.due(n)+1000)
		}
	}
	targets, others := r.Targets()
	require.NotNil(t, others)
	assert.LessOrEqual(t, len(targets), mostFollowed)
	assert.Equal(t, number, len(targets)+others.Targets)
	lost := others.Lost
	for _, target := range targets {
		others.Arrival.Merge(&target.Arrival)
		lost += target.Lost
	}
	assert.Equal(t, int64(number-1), others.Arrival.Count, "the warm-up is not measured")
	assert.Equal(t, 2, lost)
	assert.Equal(t, "user/3", targets[1].Name)
	assert.Equal(t, 2, targets[1].Lost)
}
