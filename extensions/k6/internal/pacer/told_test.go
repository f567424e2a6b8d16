package pacer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

func newTold(t *testing.T, text string) (*Pacer, error) {
	t.Helper()
	p, err := profile.Parse("told", text)
	require.NoError(t, err)
	return NewTold(p)
}

const toldPhases = "phases: [{duration: 2, arrivalRate: 1}, {duration: 3, arrivalRate: 1}]\n"

func TestToldRequestsAreWhatTheCallerSays(t *testing.T) {
	t.Parallel()
	p, err := newTold(t, toldPhases+"flows: [{name: one, deliveries: 2}, {name: two, deliveries: 2}]")
	require.NoError(t, err)
	assert.False(t, p.Planned())
	assert.False(t, p.Closed())
	for _, one := range []struct {
		n, flow, phase int
		due            time.Duration
	}{
		{0, 1, 0, 0},
		{9000, 0, 0, 1999 * time.Millisecond}, // numbers may be left out
		{3, 1, 1, 2 * time.Second},
		{4, 0, 1, 7 * time.Second}, // after the last phase
	} {
		s, err := p.Tell(one.n, one.due, one.flow)
		require.NoError(t, err)
		assert.Equal(t, Slot{N: one.n, Due: one.due, Phase: one.phase, Flow: one.flow, FirstSeq: one.n, FirstID: one.n,
			Messages: 1}, s)
		assert.Equal(t, s, p.SlotOf(one.n))
		assert.Equal(t, one.flow, p.FlowOf(p.RequestOf(one.n)))
	}
	assert.Equal(t, []int{1, 1, 1, 0, 0, 0, 0, 1, 0}, []int{
		p.ToldIn(0), p.ToldIn(1), p.ToldIn(2), p.ToldIn(3), p.ToldIn(4), p.ToldIn(5), p.ToldIn(6), p.ToldIn(7), p.ToldIn(8),
	})
	assert.Equal(t, 7*time.Second, p.LastTold())
	assert.Equal(t, 8, p.Deliveries(4))
	assert.Equal(t, 12345, p.SlotOf(12345).FirstSeq, "nobody has told it")

	_, err = p.Tell(3, 0, 0)
	require.ErrorContains(t, err, "request 3 was told already")
	_, err = p.Tell(-1, 0, 0)
	require.ErrorContains(t, err, "allowed: 0 to 1000000000")
}

func TestProfilesThatCannotBeTold(t *testing.T) {
	t.Parallel()
	for text, wrong := range map[string]string{
		"phases: [{duration: 1, vus: 1}]\nflows: [{name: one}]":                    "the phases have vus",
		toldPhases + "flows: [{name: one, messages: 2}]":                           `flow "one" has 2 messages`,
		toldPhases + "flows: [{name: one}, {name: two, target: b, deliveries: 2}]": `flow "two" has 1 messages a request and 2 deliveries`,
	} {
		_, err := newTold(t, text)
		require.ErrorContains(t, err, wrong)
	}
}
