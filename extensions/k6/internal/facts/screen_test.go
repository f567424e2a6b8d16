package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachPhaseHasItsRequestsAndItsLargestStage(t *testing.T) {
	t.Parallel()
	r := golden(t, "failing")
	Conclude(r, "")
	require.Len(t, r.Facts.Phases, len(r.Steps))
	last := r.Facts.Phases[len(r.Steps)-1]
	assert.InDelta(t, 1500, last.RequestsPerS, 1)
	assert.Equal(t, "queue", last.LargestStage)
	assert.InDelta(t, 1, *last.LargestShare, 0.01)
}

func TestTheShapeAndTheLengthOfARunAreFacts(t *testing.T) {
	t.Parallel()
	r := golden(t, "spike")
	Conclude(r, "")
	assert.Equal(t, "spike", r.Facts.Shape)
	assert.InDelta(t, 51.279, *r.Facts.DurationS, 1e-6)
	require.NotNil(t, r.Facts.Recovery)
	r.Run.Ended = nil
	Conclude(r, "")
	assert.Nil(t, r.Facts.DurationS)
}

func TestRequestsThatTakeLongerThanArrivalsAreExplained(t *testing.T) {
	t.Parallel()
	r := golden(t, "passing")
	Conclude(r, "")
	assert.Empty(t, r.Facts.SlowerRequests)
	r.Latency.HTTP.P99 = new(100.0)
	Conclude(r, "")
	assert.Contains(t, r.Facts.SlowerRequests, "after Redis has confirmed")
	r.Run.Protocol = "MQTT"
	Conclude(r, "")
	assert.Empty(t, r.Facts.SlowerRequests)
}
