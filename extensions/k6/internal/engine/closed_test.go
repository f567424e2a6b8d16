package engine

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const sweep = `
phases: [{name: two, duration: 1, vus: 2}, {pause: 1}, {name: four, duration: 1, vus: 4}]
flows: [{name: direct, weight: 3}, {name: room, target: room, deliveries: 2}]`

func TestTheClosedModelHasTheVUsOfItsLargestPhase(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, sweep, "")
	out, err := json.Marshal(s.engine.Scenarios(false))
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"subscriber": {"executor": "per-vu-iterations", "exec": "subscriber", "vus": 1, "iterations": 1, "maxDuration": "133s", "gracefulStop": "0s"},
		"sender": {"executor": "per-vu-iterations", "exec": "sender", "vus": 4, "iterations": 1, "maxDuration": "43s", "gracefulStop": "10s"}
	}`, string(out))
}

// runClosed runs the script as k6 does: each VU sends until the load ends.
func (s *script) runClosed() *runfile.Run {
	s.t.Helper()
	e := s.engine
	var vus sync.WaitGroup
	for range e.options.profile.Most() {
		vus.Go(func() {
			for vu := NewSender(e, s.state); vu.Send(s.t.Context()); {
			}
		})
	}
	require.NoError(s.t, e.collect(s.t.Context(), s.state, s.metrics))
	vus.Wait()
	return s.written()
}

func TestTheClosedModelAccountsForEveryMessage(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{}, `
phases: [{name: two, duration: 60, vus: 2, requests: 200}, {pause: 1}, {name: four, duration: 60, vus: 4, requests: 400}]
flows: [{name: direct, weight: 3}, {name: room, target: room, deliveries: 2}]`, "").runClosed()
	result, reasons, _ := verdict(r)
	assert.Equal(t, runfile.Pass, result, reasons)
	assert.Equal(t, runfile.Closed, r.Run.Model)
	assert.Equal(t, 600, r.Account.Scheduled)
	assert.Equal(t, r.Account.Scheduled, r.Account.Arrived)
	assert.True(t, r.Account.Balanced)
	assert.Equal(t, r.Account.Deliveries.Due, r.Account.Deliveries.Arrived)
	assert.Equal(t, []int{2, 0, 4}, []int{*r.Steps[0].VUs, *r.Steps[1].VUs, *r.Steps[2].VUs})
	assert.Equal(t, []int{200, 0, 400}, []int{r.Steps[0].Scheduled, r.Steps[1].Scheduled, r.Steps[2].Scheduled})
	assert.Nil(t, r.Run.Profile.Phases[0].ArrivalRate)
	assert.Equal(t, int64(0), int64(*r.Latency.Stages["schedule"].Max), "a message is due when it is sent")
	assert.Equal(t, r.Latency.FromSend.Mean, r.Latency.Arrival.Mean)
	sent := 0
	for _, second := range r.Timeline {
		sent += second.Sent
		assert.Equal(t, second.Sent, second.Scheduled)
	}
	assert.Equal(t, r.Account.Scheduled, sent)
	assert.InDelta(t, 3, float64(r.Flows[0].Scheduled)/float64(r.Flows[1].Scheduled), 0.5, "the flows' weights hold")
}

// Regression: senders whose iterations had ended left the rest of the load out, and the run passed.
func TestSendersThatEndBeforeTheirPhaseAreTheCause(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{},
		`{phases: [{name: one, duration: 6, vus: 1}, {name: two, duration: 60, vus: 1}], flows: [{name: direct}]}`,
		"idle: '300ms'")
	e := s.engine
	var vu sync.WaitGroup
	vu.Go(func() {
		sender := NewSender(e, s.state)
		for range 5 {
			sender.Send(t.Context())
		}
	})
	require.NoError(t, e.collect(t.Context(), s.state, s.metrics))
	vu.Wait()
	r := s.written()
	result, reasons, _ := verdict(r)
	assert.Equal(t, runfile.Invalid, result)
	assert.Contains(t, reasons, `the senders ended after 5 requests, before the end of phase "one"`)
	assert.Contains(t, r.Answer.Sentence, "after 5 requests")
	assert.Contains(t, r.Answer.Sentence, "run.scenarios()")
	assert.True(t, r.Account.Balanced)
	assert.Less(t, r.Steps[len(r.Steps)-1].DurationS, 30.0, "the other phases are not waited for")
}

func TestInFlightDividesTheVUs(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, sweep, "inFlight: 3")
	assert.Equal(t, 2, vusOf(s.engine.Scenarios(true), "sender"))
}

// Regression: a first phase whose senders started a second late counted that second in its rate.
func TestTheFirstPhaseBeginsWithTheFirstSender(t *testing.T) {
	t.Parallel()
	const late = 100 * time.Millisecond
	s := newScript(t, &fake.Pipeline{},
		`{phases: [{name: one, duration: 60, vus: 1, requests: 10}], flows: [{name: direct}]}`, "")
	e := s.engine
	var vu sync.WaitGroup
	vu.Go(func() {
		<-e.Started
		clock.SleepUntil(t.Context(), nil, e.Epoch.Add(late))
		for vu := NewSender(e, s.state); vu.Send(t.Context()); {
		}
	})
	require.NoError(t, e.collect(t.Context(), s.state, s.metrics))
	vu.Wait()
	step := s.written().Steps[0]
	assert.Equal(t, 10, step.Requests)
	assert.GreaterOrEqual(t, step.StartS, late.Seconds())
}

func TestAPhaseEndsAfterItsNumberOfRequests(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{}, `
phases: [{name: some, duration: 60, vus: 3, requests: 100, drain: 10}, {name: more, duration: 60, vus: 2, requests: 31}]
flows: [{name: direct}]`, "").runClosed()
	assert.True(t, r.Account.Balanced)
	assert.Equal(t, []int{100, 31}, []int{r.Steps[0].Requests, r.Steps[1].Requests})
	assert.Less(t, r.Steps[0].DurationS, 59.0, "the phase ends before its duration")
	assert.Equal(t, 131, r.Account.Arrived)
}

// Otherwise a phase also measures the backlog of the previous one.
func TestDrainWaitsForThePhasesBacklog(t *testing.T) {
	t.Parallel()
	const late = 3 * time.Second
	p := &fake.Pipeline{Delay: late}
	r := newScript(t, p, `
phases: [{name: one, duration: 60, vus: 1, requests: 10, drain: 60}, {name: two, duration: 60, vus: 2, requests: 10}]
flows: [{name: direct}]`, "").runClosed()
	one, two := r.Steps[0], r.Steps[1]
	require.NotNil(t, one.DrainedS)
	assert.GreaterOrEqual(t, one.DurationS+*one.DrainedS, late.Seconds())
	if one.DurationS < late.Seconds() { // nothing can have arrived
		assert.Equal(t, 10, *one.Backlog)
	}
	assert.GreaterOrEqual(t, two.StartS, one.StartS+one.DurationS+*one.DrainedS)
	assert.Nil(t, two.DrainedS)
	assert.Equal(t, r.Account.Scheduled, r.Account.Arrived)
}

// vusOf are the VUs of a scenario.
func vusOf(scenarios map[string]any, name string) any { return scenarios[name].(map[string]any)["vus"] }
