package pacer

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

func oneFlow() []profile.Flow {
	return []profile.Flow{{Name: "only", Weight: 1, Targets: 1, Messages: 1, Deliveries: 1}}
}

func phase(seconds, from, to float64) profile.Phase {
	return profile.Phase{Duration: time.Duration(seconds * float64(time.Second)), Rate: from, RampTo: to}
}

func TestCountIsTheIntegralOfTheRate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		phases []profile.Phase
		want   int
	}{
		"constant":                     {[]profile.Phase{phase(10, 100, 100)}, 1000},
		"ramp up":                      {[]profile.Phase{phase(20, 100, 1500)}, 16000},
		"ramp down to 0":               {[]profile.Phase{phase(10, 10, 0)}, 50},
		"ramp up from 0":               {[]profile.Phase{phase(10, 0, 10)}, 50},
		"the default profile":          {[]profile.Phase{phase(10, 100, 100), phase(20, 100, 1500), phase(20, 1500, 1500)}, 47000},
		"half a request counts as one": {[]profile.Phase{phase(1, 0.5, 0.5)}, 1},
		"fractions add up over phases": {[]profile.Phase{phase(1, 0.5, 0.5), phase(1, 0.5, 0.5)}, 1},
		"three thirds":                 {[]profile.Phase{phase(1, 1./3, 1./3), phase(1, 1./3, 1./3), phase(1, 1./3, 1./3)}, 1},
		// Regression: the rounding tolerance grew to a whole request.
		"a billion requests": {[]profile.Phase{phase(1000, 1_000_000, 1_000_000)}, 1_000_000_000},
		"10,000 phases":      {slices.Repeat([]profile.Phase{phase(0.1, 0.1, 0.1)}, 10_000), 100},
		"with a pause":       {[]profile.Phase{phase(1, 10, 10), phase(5, 0, 0), phase(1, 10, 10)}, 20},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := New(&profile.Profile{Phases: c.phases, Flows: oneFlow()})
			assert.Equal(t, c.want, p.Requests())
			assert.Equal(t, c.want, p.Due(time.Hour))
		})
	}
}

func TestSlotsAreDueWhereTheIntegralReachesThem(t *testing.T) {
	t.Parallel()
	phases := []profile.Phase{phase(2, 10, 10), phase(4, 10, 50), phase(3, 0, 0), phase(2, 50, 0.5)}
	p := New(&profile.Profile{Phases: phases, Flows: oneFlow()})
	integral := func(at time.Duration) float64 {
		s, sum := at.Seconds(), 0.0
		for _, ph := range phases {
			d := ph.Duration.Seconds()
			into := math.Min(math.Max(s, 0), d)
			sum += ph.Rate*into + (ph.RampTo-ph.Rate)*into*into/(2*d)
			s -= d
		}
		return sum
	}
	last := time.Duration(-1)
	for n := range p.Requests() {
		s := p.Slot(n)
		assert.InDelta(t, float64(n), integral(s.Due), 1e-6, "request %d", n)
		assert.Greater(t, s.Due, last, "request %d", n)
		assert.Equal(t, n, p.Due(s.Due), "before request %d, %d are due", n, n)
		last = s.Due
	}
}

func TestAFirstRequestIsDueAtTheStartOfItsPhase(t *testing.T) {
	t.Parallel()
	p := New(&profile.Profile{Phases: []profile.Phase{phase(10, 100, 100), phase(20, 100, 1500)}, Flows: oneFlow()})
	s := p.Slot(1000)
	assert.Equal(t, 1, s.Phase)
	assert.Equal(t, 10*time.Second, s.Due)
	from, to := p.PhaseRequests(1)
	assert.Equal(t, [2]int{1000, 17000}, [2]int{from, to})
}

func TestWeightsAreExactOverEveryCycle(t *testing.T) {
	t.Parallel()
	flows := []profile.Flow{
		{Name: "direct", Weight: 7, Targets: 3, Messages: 1, Deliveries: 1},
		{Name: "room", Weight: 2, Targets: 3, Messages: 1, Deliveries: 5},
		{Name: "batch", Weight: 1, Targets: 3, Messages: 10, Deliveries: 1},
		{Name: "off", Weight: 0, Targets: 3, Messages: 1, Deliveries: 1},
	}
	p := New(&profile.Profile{Phases: []profile.Phase{phase(10, 100, 100)}, Flows: flows})
	for start := range 990 {
		seen := make([]int, len(flows))
		for n := start; n < start+10; n++ {
			seen[p.Slot(n).Flow]++
		}
		require.Equal(t, []int{7, 2, 1, 0}, seen, "ten in a row from %d", start)
	}
	assert.Equal(t, 1900, p.Messages(1000))
}

func TestMessagesAreNumberedDenselyAndFoundAgain(t *testing.T) {
	t.Parallel()
	flows := []profile.Flow{
		{Weight: 3, Targets: 2, Messages: 1, Deliveries: 1},
		{Weight: 2, Targets: 2, Messages: 4, Deliveries: 1},
	}
	p := New(&profile.Profile{Phases: []profile.Phase{phase(1, 57, 57)}, Flows: flows})
	seq, ofFlow := 0, make([]int, len(flows))
	for n := range p.Requests() {
		s := p.Slot(n)
		require.Equal(t, seq, s.FirstSeq)
		require.Equal(t, ofFlow[s.Flow], s.OfFlow)
		for range s.Messages {
			require.Equal(t, s, p.SlotOf(seq))
			seq++
		}
		ofFlow[s.Flow] += s.Messages
	}
	assert.Equal(t, seq, p.Messages(p.Requests()))
}

func TestFlowMessagesAndDeliveriesAgreeWithTheSlots(t *testing.T) {
	t.Parallel()
	flows := []profile.Flow{
		{Weight: 3, Messages: 1, Deliveries: 1},
		{Weight: 2, Messages: 4, Deliveries: 5},
		{Weight: 0, Messages: 1, Deliveries: 1},
	}
	p := New(&profile.Profile{Phases: []profile.Phase{phase(1, 57, 57)}, Flows: flows})
	deliveries := 0
	for seq := range p.Messages(57) {
		require.Equal(t, deliveries, p.Deliveries(seq), "of the first %d messages", seq)
		deliveries += flows[p.SlotOf(seq).Flow].Deliveries
	}
	require.Equal(t, deliveries, p.Deliveries(p.Messages(57)))
	for from := range 57 {
		want := make([]int, len(flows))
		for to := from; to <= 57; to++ {
			require.Equal(t, want, p.FlowMessages(from, to), "requests %d to %d", from, to)
			want[p.FlowOf(to)] += flows[p.FlowOf(to)].Messages
		}
	}
}

func TestAClosedLoadHasRequestsButNoSchedule(t *testing.T) {
	t.Parallel()
	flows := []profile.Flow{
		{Weight: 7, Messages: 1, Deliveries: 1},
		{Weight: 2, Messages: 1, Deliveries: 5},
		{Weight: 1, Messages: 10, Deliveries: 1},
	}
	open := New(&profile.Profile{Phases: []profile.Phase{phase(10, 100, 100)}, Flows: flows})
	closed := New(&profile.Profile{Phases: []profile.Phase{{Duration: time.Second, VUs: 3}, phase(1, 0, 0)},
		Flows: flows})
	assert.True(t, closed.Closed())
	assert.False(t, open.Closed())
	assert.Zero(t, closed.Requests())
	assert.Zero(t, closed.Due(time.Hour))
	from, to := closed.PhaseRequests(0)
	assert.Equal(t, [2]int{0, 0}, [2]int{from, to})
	for n := range open.Requests() {
		want := open.Slot(n)
		want.Due, want.Phase = 0, -1
		require.Equal(t, want, closed.Slot(n))
		require.Equal(t, want, closed.SlotOf(want.FirstSeq+want.Messages-1))
	}
	assert.Equal(t, 1_900_000_000_019, closed.Slot(1_000_000_000_010).FirstSeq, "a closed load has no end")
}

func TestTurnsOfAFlowAreItsRequestsInOrder(t *testing.T) {
	t.Parallel()
	p := New(&profile.Profile{
		Phases: []profile.Phase{{Name: "all", Duration: time.Second, VUs: 1, Measured: true}},
		Flows: []profile.Flow{{Name: "a", Weight: 7, Messages: 1, Targets: 1},
			{Name: "b", Weight: 2, Messages: 3, Targets: 1}},
	})
	seen := []int{0, 0}
	for n := range 100 {
		flow := p.FlowOf(n)
		assert.Equal(t, n, p.Turn(flow, seen[flow]))
		seen[flow]++
	}
}

func TestAChosenFlowHasItsOwnConsecutiveNumbers(t *testing.T) {
	t.Parallel()
	flows := []profile.Flow{
		{Weight: 30, Targets: 2, Messages: 1, Deliveries: 2},
		{Weight: 0, Targets: 2, Messages: 1, Deliveries: 1},
		{Weight: 1, Targets: 2, Messages: 3, Deliveries: 1},
	}
	p := New(&profile.Profile{Phases: []profile.Phase{{Duration: time.Second, VUs: 1}}, Flows: flows}).ByFlow()
	const block = 1 << blockBits
	seen := map[int]bool{}
	for _, flow := range []int{0, 2} {
		messages := flows[flow].Messages
		for k := range 3 * block {
			n := p.Turn(flow, k)
			require.False(t, seen[n])
			seen[n] = true
			s := p.Slot(n)
			require.Equal(t, Slot{
				N: n, Phase: -1, Flow: flow, FirstSeq: p.Messages(n), FirstID: p.Messages(n), OfFlow: k * messages,
				Messages: messages,
			}, s)
			require.Equal(t, flow, p.FlowOf(n))
			for i := range messages {
				require.Equal(t, s, p.SlotOf(s.FirstSeq+i))
			}
			if k%block > 0 {
				require.Equal(t, p.Slot(n-1).FirstSeq+messages, s.FirstSeq, "no gap within a block")
			} else {
				require.Zero(t, s.FirstSeq%block)
			}
			require.Equal(t, messages*flows[flow].Deliveries,
				p.Deliveries(s.FirstSeq+messages)-p.Deliveries(s.FirstSeq))
		}
	}
	assert.Equal(t, 2*block*3, len(seen))
	assert.Equal(t, 6*block, p.Turn(2, 3*block-1)+1, "every flow has as many blocks, whatever its weight")
}
