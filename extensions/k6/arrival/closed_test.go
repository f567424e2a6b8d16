package arrival

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

const sweep = `
phases: [{name: two, duration: 1, vus: 2}, {pause: 1}, {name: four, duration: 1, vus: 4}]
flows: [{name: direct, weight: 3}, {name: room, target: room, deliveries: 2}]`

func TestTheClosedModelUsesK6sExecutors(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, sweep, "")
	out, err := s.runtime.VU.Runtime().RunString(`JSON.stringify(run.scenarios())`)
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"subscriber": {"executor": "per-vu-iterations", "exec": "subscriber", "vus": 1, "iterations": 1, "maxDuration": "133s", "gracefulStop": "0s"},
		"sender_1": {"executor": "constant-vus", "exec": "sender", "vus": 2, "startTime": "2000ms", "duration": "1000ms", "gracefulStop": "10s"},
		"sender_3": {"executor": "constant-vus", "exec": "sender", "vus": 4, "startTime": "4000ms", "duration": "1000ms", "gracefulStop": "10s"}
	}`, out.String())
}

// runClosed plays k6's part: VUs of each phase's scenario that send until their time is over.
func (s *script) runClosed() *report.Run {
	s.t.Helper()
	e := s.module.root.engine
	var vus sync.WaitGroup
	vus.Go(func() {
		<-e.started
		for i, p := range e.options.profile.Phases {
			end := e.epoch
			for _, before := range e.options.profile.Phases[:i+1] {
				end = end.Add(before.Duration)
			}
			ctx := lib.WithScenarioState(s.t.Context(), &lib.ScenarioState{Name: fmt.Sprintf("sender_%d", i+1)})
			var senders sync.WaitGroup
			for range p.VUs {
				senders.Go(func() {
					for vu := newSender(e, s.state); time.Now().Before(end) && vu.send(ctx); {
					}
				})
			}
			senders.Wait()
			time.Sleep(time.Until(end))
		}
	})
	require.NoError(s.t, e.collect(s.t.Context(), s.state, s.module.metrics))
	vus.Wait()
	return s.written()
}

func TestTheClosedModelHasOneLedgerToo(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{}, sweep, "").runClosed()
	result, reasons, _ := verdict(r)
	assert.Equal(t, report.Pass, result, reasons)
	assert.Equal(t, report.Closed, r.Run.Model)
	assert.Positive(t, r.Account.Scheduled)
	assert.Equal(t, r.Account.Scheduled, r.Account.Arrived)
	assert.True(t, r.Account.Balanced)
	assert.Equal(t, r.Account.Deliveries.Due, r.Account.Deliveries.Arrived)
	assert.Equal(t, r.Account.Scheduled, r.Steps[0].Scheduled+r.Steps[2].Scheduled)
	assert.Equal(t, []int{2, 0, 4}, []int{*r.Steps[0].VUs, *r.Steps[1].VUs, *r.Steps[2].VUs})
	assert.Positive(t, r.Steps[0].Scheduled)
	assert.Positive(t, r.Steps[2].Scheduled)
	assert.Nil(t, r.Run.Profile.Phases[0].ArrivalRate)
	assert.Equal(t, int64(0), int64(*r.Latency.Stages["schedule"].Max), "a message is due when it is sent")
	assert.Equal(t, r.Latency.FromSend.Mean, r.Latency.Arrival.Mean)
	sent := 0
	for _, second := range r.Timeline {
		sent += second.Sent
		assert.Equal(t, second.Sent, second.Scheduled)
	}
	assert.Equal(t, r.Account.Scheduled, sent)
	assert.InDelta(t, 3, float64(r.Flows[0].Scheduled)/float64(r.Flows[1].Scheduled), 0.5, "weights hold over any window")
}

func TestTheClosedModelCannotBePumped(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, sweep, "")
	_, err := s.runtime.VU.Runtime().RunString(`run.scenarios({ pump: true })`)
	assert.ErrorContains(t, err, "scenarios({ pump: true }) is for the open model")
}

// A VU in k6's graceful stop went on, and its requests were added to the next phase's.
func TestAPhaseOfTheClosedModelEndsOnTime(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 60, vus: 2}, {pause: 60}, {duration: 60, vus: 4}]\nflows: [{name: direct}]", "")
	e := s.module.root.engine
	e.epoch = time.Now().Add(-90 * time.Second) // phase 1 is over, phase 3 has not begun
	close(e.started)
	ctx := lib.WithScenarioState(t.Context(), &lib.ScenarioState{Name: "sender_1"})
	_, ok := e.takeNow(ctx)
	assert.False(t, ok)
	_, ok = e.takeNow(lib.WithScenarioState(t.Context(), &lib.ScenarioState{Name: "sender_3"}))
	assert.True(t, ok)
}

func TestTheClosedModelWantsItsOwnScenarios(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, sweep, "")
	e := s.module.root.engine
	ctx := lib.WithScenarioState(t.Context(), &lib.ScenarioState{Name: "mine"})
	e.epoch = time.Now().Add(-time.Hour) // or it would wait for the end, so that its executor does not spin
	close(e.started)
	assert.False(t, newSender(e, s.state).send(ctx))
	require.Len(t, e.errorClasses(), 1)
	assert.Contains(t, e.errorClasses()[0].Example, `scenario "mine" is not one of run.scenarios()`)
}
