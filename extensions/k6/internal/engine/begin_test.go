package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/executor"
	"go.k6.io/k6/v2/lib/types"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// sendingFrom is the context of a test's subscriber, whose other scenario begins after a time.
func sendingFrom(t *testing.T, start, most time.Duration) context.Context {
	t.Helper()
	subscriber, sender := executor.NewPerVUIterationsConfig("subscriber"), executor.NewPerVUIterationsConfig("sender")
	subscriber.MaxDuration = types.NullDurationFrom(most)
	sender.StartTime = types.NullDurationFrom(start)
	whole, err := lib.NewExecutionTuple(nil, nil)
	require.NoError(t, err)
	before := &lib.TestPreInitState{TestStatus: lib.NewTestStatus()}
	state := lib.NewExecutionState(&lib.TestRunState{TestPreInitState: before, Options: lib.Options{
		Scenarios: lib.ScenarioConfigs{"subscriber": subscriber, "sender": sender},
	}}, whole, 2, 2)
	state.MarkStarted()
	ctx := lib.WithExecutionState(t.Context(), state)
	return lib.WithScenarioState(ctx, &lib.ScenarioState{Name: "subscriber"})
}

// Regression: "more senders are needed" before one had begun.
func TestTheLoadBeginsWithTheSendersScenario(t *testing.T) {
	t.Parallel()
	const start = 3 * time.Second
	s := newScript(t, &fake.Pipeline{}, thirty, "")
	e, ctx := s.engine, sendingFrom(t, start, time.Minute)
	go func() {
		time.Sleep(start)
		e.attendance.note() // as run.send() does
		sendAll(s)(t.Context(), e)
	}()
	require.NoError(t, e.collect(ctx, s.state, s.metrics))
	r := s.written()
	assert.Equal(t, 30, r.Account.Arrived)
	assert.Less(t, *r.Health.Lateness.Max, float64((start - time.Second).Milliseconds()))
}

func TestALoadThatOutlastsItsSubscriberIsRefused(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, thirty, "")
	err := s.engine.collect(sendingFrom(t, time.Minute, 20*time.Second), s.state, s.metrics)
	assert.ErrorContains(t, err, `scenario "sender" begins after 60 s (startTime)`)
	assert.ErrorContains(t, err, "maxDuration")
}
