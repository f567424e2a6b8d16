package arrival

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// The report said how slow the slowest message was, and nobody could say which it was, nor which three were lost.
func TestTheSlowestAndTheLostAreNamed(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{
		Hops: stamps,
		Swap: func(nth int) bool { return nth == 5 }, // delivered after the next one, a third of a second later
		Copies: func(nth int) int {
			if nth > 8 && nth <= 11 {
				return 0
			}
			return 1
		},
	}
	r := newScript(t, f, "phases: [{name: hold, duration: 4, arrivalRate: 3}]\nflows: [{name: direct, targets: 1}]",
		fmt.Sprintf("idle: '1s', redis: { url: %q }", test.Redis(t))).run()
	require.NotNil(t, r.Messages)
	require.Len(t, r.Messages.Slowest, 9)
	slow := r.Messages.Slowest[0]
	assert.True(t, strings.HasPrefix(slow.ID, r.Run.ID+".") && strings.HasSuffix(slow.ID, ".4"), slow.ID)
	assert.Equal(t, []string{"hold", "direct"}, []string{slow.Phase, slow.Flow})
	assert.GreaterOrEqual(t, slow.StagesMS["delivery"], 300.0, "the stage that held it")
	sum := 0.0
	for _, ms := range slow.StagesMS {
		sum += ms
	}
	assert.InDelta(t, slow.ArrivalMS, sum, 0.001)
	for i, s := range r.Messages.Slowest[1:] {
		assert.LessOrEqual(t, s.ArrivalMS, r.Messages.Slowest[i].ArrivalMS)
	}
	var lost []string
	for _, n := range r.Messages.Named {
		if n.End == "lost" { // a stamp of now and 90 µs may lie after the arrival: negative
			assert.Equal(t, 0, *n.Delivered)
			lost = append(lost, n.ID[strings.LastIndex(n.ID, "."):])
		}
	}
	assert.Equal(t, []string{".8", ".9", ".10"}, lost)
	assert.Nil(t, r.Tail, "of nine deliveries there is no slowest hundredth")
}
