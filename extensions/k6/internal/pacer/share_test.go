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
