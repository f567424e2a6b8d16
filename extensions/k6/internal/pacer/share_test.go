package pacer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// whole returns a schedule whose flows repeat every 10 requests. Its phases end within a cycle.
func whole() *Pacer {
	return New(&profile.Profile{
		Phases: []profile.Phase{phase(3, 10, 33), phase(1, 0, 0), phase(2, 33, 7)},
		Flows: []profile.Flow{
			{Name: "direct", Weight: 7, Targets: 3, Messages: 1, Deliveries: 1},
			{Name: "room", Weight: 2, Targets: 2, Messages: 1, Deliveries: 5},
			{Name: "batch", Weight: 1, Targets: 4, Messages: 10, Deliveries: 2},
		},
	})
}

// shares are a half, a third and a sixth, as k6 stripes them.
var shares = [][]int{{0, 2, 4}, {1, 3}, {5}}

func TestSharesTogetherAreTheWholeSchedule(t *testing.T) {
	t.Parallel()
	p := whole()
	seen, ids := map[int]int{}, map[int]bool{}
	deliveries := 0
	for i, own := range shares {
		s := p.Share(own, 6)
		seq := 0
		for n := range s.Requests() {
			got, number := s.Slot(n), s.number(n)
			want := p.Slot(number)
			assert.Equal(t, seq, got.FirstSeq, "numbers of a share have no gaps")
			got.N, got.FirstSeq = want.N, want.FirstSeq
			assert.Equal(t, want, got)
			assert.Equal(t, want.Flow, s.FlowOf(n))
			seen[number]++
			for m := range got.Messages {
				id := got.FirstID + m
				ids[id] = true
				back, ok := s.SeqOf(id)
				require.True(t, ok)
				assert.Equal(t, seq+m, back)
				assert.Equal(t, n, s.RequestOf(back))
				_, other := p.Share(shares[(i+1)%len(shares)], 6).SeqOf(id)
				assert.False(t, other, "an id belongs to one generator")
			}
			seq += got.Messages
		}
		assert.Equal(t, seq, s.Messages(s.Requests()))
		deliveries += s.Deliveries(seq)
	}
	assert.Len(t, seen, p.Requests())
	assert.Len(t, ids, p.Messages(p.Requests()))
	for number, times := range seen {
		assert.Equal(t, 1, times, "request %d", number)
	}
	assert.Equal(t, p.Deliveries(p.Messages(p.Requests())), deliveries)
}

func TestSharesAddUpAtAnyTimeInEachPhaseAndEachFlow(t *testing.T) {
	t.Parallel()
	p := whole()
	for at := time.Duration(0); at < 7*time.Second; at += 37 * time.Millisecond {
		due := 0
		for _, own := range shares {
			due += p.Share(own, 6).Due(at)
		}
		assert.Equal(t, p.Due(at), due, at)
	}
	for i := range 3 {
		requests, flows := 0, make([]int, 3)
		for _, own := range shares {
			s := p.Share(own, 6)
			from, to := s.PhaseRequests(i)
			requests += to - from
			for n := from; n < to; n++ {
				assert.Equal(t, i, s.Slot(n).Phase)
			}
			for f, messages := range s.FlowMessages(from, to) {
				flows[f] += messages
			}
		}
		from, to := p.PhaseRequests(i)
		assert.Equal(t, to-from, requests)
		assert.Equal(t, p.FlowMessages(from, to), flows)
	}
}

// Regression: of flows with the weights 5, 4 and 1 the last one never fell to the second and fourth of four
// generators, since 10 and 4 have a common divisor: 295 messages here, 826 there.
func TestSharesHaveTheirPartOfEachFlow(t *testing.T) {
	t.Parallel()
	for _, weights := range [][]int{{5, 4, 1}, {7, 2, 1}, {1}, {1, 1}, {3, 3, 3, 1}, {100, 1}} {
		of := &profile.Profile{Phases: []profile.Phase{phase(60, 100, 100)}}
		for i, weight := range weights {
			flow := profile.Flow{Name: string(rune('a' + i)), Weight: weight, Targets: 1, Messages: 1 + 9*i,
				Deliveries: 1}
			of.Flows = append(of.Flows, flow)
		}
		p := New(of)
		for _, every := range []int{2, 3, 4, 5, 10} {
			least, most := make([]int, len(weights)), make([]int, len(weights))
			fewest, largest := p.Requests(), 0
			for g := range every {
				s := p.Share([]int{g}, every)
				fewest, largest = min(fewest, s.Requests()), max(largest, s.Requests())
				for f, messages := range s.FlowMessages(0, s.Requests()) {
					requests := messages / of.Flows[f].Messages
					if g == 0 || requests < least[f] {
						least[f] = requests
					}
					most[f] = max(most[f], requests)
				}
			}
			for f := range weights {
				assert.LessOrEqual(t, most[f]-least[f], 1, "flow %d of %v among %d", f, weights, every)
			}
			assert.LessOrEqual(t, largest-fewest, len(weights), "%v among %d", weights, every)
		}
	}
}
