package facts

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
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

func TestAReasonThatTheAnswerHoldsIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer  string
		reasons []string
		further []string
	}{
		{"Not usable: the clock is wrong.", []string{"The clock is wrong.", "late"}, []string{"late"}},
		{"78,751 of 89,300 messages did not arrive (78,751 rejected).", []string{"rejected: 78,751 messages"}, []string{}},
		{"Arrival p99 4,020 ms is above the limit of 250 ms.", []string{"arrival p99 4,020 ms, limit < 250 ms"}, []string{}},
		{"Held 5 messages/s with arrival p99 4,020 ms.", []string{"arrival p99 4,020 ms, limit < 250 ms"},
			[]string{"arrival p99 4,020 ms, limit < 250 ms"}},
		{"6,221 of 24,000 messages did not arrive (6,221 rejected).", []string{"rejected: 6,221 of 24,000 messages"},
			[]string{}},
		{"192 of 89,300 messages did not arrive (192 lost).",
			[]string{"lost: 192 of 89,300 messages were accepted and never arrived"}, []string{}},
		{"3 of 9 messages did not arrive (3 queued).",
			[]string{"queued: 3 of 9 messages wait; those of a relay that died are taken over after RELAY_LEASE_MS"},
			[]string{"queued: 3 of 9 messages wait; those of a relay that died are taken over after RELAY_LEASE_MS"}},
		{"Not usable: 70 messages came to another recipient: by what does the pipeline route?",
			[]string{"no delivery was measured, so there is no latency to judge; 70 messages came to another recipient: " +
				"by what does the pipeline route?",
				"misdelivered: 70 of 70 messages came to another recipient, and not to each of their own",
				"misdeliveries: 70 of 70 deliveries came to a recipient that they were not for",
				"arrival p99 n/a, limit < 250 ms"},
			[]string{"no delivery was measured, so there is no latency to judge"}},
		{"", nil, []string{}},
	} {
		r := &runfile.Run{Verdict: runfile.Verdict{Reasons: c.reasons}, Answer: runfile.Answer{Sentence: c.answer}}
		assert.Equal(t, c.further, furtherReasons(r), c.answer)
	}
}

func TestAReasonThatTheMeaningHoldsIsNotRepeated(t *testing.T) {
	t.Parallel()
	r := &runfile.Run{Verdict: runfile.Verdict{Meaning: "connections_missing 3, limit = 0",
		Reasons: []string{"connections_missing 3, limit = 0", "another"}}}
	assert.Equal(t, []string{"another"}, furtherReasons(r))
}
