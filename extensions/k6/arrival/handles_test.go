package arrival

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

func TestAScriptCanSendRequestsItself(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	s := newScript(t, f, "phases: [{duration: 1, arrivalRate: 5}]\nflows: [{name: pair, messages: 2}]", "id: 'meta.id'")
	e := s.module.root.engine
	done := make(chan error)
	go func() { done <- e.Collect(t.Context(), s.state, s.module.metrics) }()
	rt := s.runtime.VU.Runtime()
	require.NoError(t, rt.Set("post", func(path, body string) int {
		answer, err := http.Post(f.IngestURL()+path, "application/json", strings.NewReader(body))
		if err != nil {
			return 0
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}))
	v, err := rt.RunString(`
		var slot, ids = [];
		while ((slot = run.next())) {
			ids.push(...slot.ids);
			if (JSON.parse(slot.body)[1].meta.id !== slot.ids[1]) throw new Error(slot.body);
			run.settle(slot, post(slot.path, slot.body));
		}
		ids.map((id) => id.split('.')[2]).join()`)
	require.NoError(t, err)
	assert.Equal(t, "0,1,2,3,4,5,6,7,8,9", v.String())
	require.NoError(t, <-done)
	assert.Equal(t, 10, e.Ledger.Final().Arrived)
	for _, wrong := range []string{"null", "{ ids, flow: 'pair' }"} {
		_, err = rt.RunString(`run.settle(` + wrong + `, 200)`)
		assert.ErrorContains(t, err, "run.settle() takes what run.next() returned, once", wrong)
	}
}

// Regression: an unsettled request stayed in flight, so the run waited for k6's maxDuration and was
// incomplete.
func TestAnUnsettledRequestIsUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		phases, options, reason string
		endIteration            bool
	}{
		"the iteration ends": {"{duration: 1, arrivalRate: 3}", "timeout: '1h'",
			"the iteration ended without run.settle(): did it throw? k6's log says it", true},
		"timeout": {"{duration: 1, arrivalRate: 3}", "timeout: '1ms'", "not settled within 1.001s", false},
		"closed model": {"{duration: 60, vus: 1, requests: 3, drain: 60}", "timeout: '1h'",
			"the iteration ended without run.settle(): did it throw? k6's log says it", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, &fake.Pipeline{}, "phases: ["+c.phases+"]\nflows: [{name: direct}]",
				"idle: '100ms', "+c.options)
			ctx, cancel := context.WithTimeout(inScenario(t.Context()), time.Minute)
			defer cancel()
			e := s.module.root.engine
			done := make(chan error)
			go func() { done <- e.Collect(ctx, s.state, s.module.metrics) }()
			rt := s.runtime.VU.Runtime()
			iteration, end := context.WithCancel(ctx)
			defer end()
			s.runtime.VU.CtxField = iteration
			_, err := rt.RunString(`var forgotten = run.next()`)
			require.NoError(t, err)
			if c.endIteration {
				end()
			}
			s.runtime.VU.CtxField = ctx
			_, err = rt.RunString(`for (let i = 0; i < 2; i++) run.settle(run.next(), 503)`)
			require.NoError(t, err)
			require.NoError(t, <-done)
			_, err = rt.RunString(`run.settle(forgotten, 202); run.summary()`)
			require.NoError(t, err, "settling too late has no effect")
			r := s.written()
			assert.Equal(t, [3]int{3, 2, 1}, [3]int{r.Account.Scheduled, r.Account.Rejected, r.Account.Unknown})
			assert.True(t, r.Account.Balanced)
			assert.NotNil(t, r.Run.Ended)
			assert.Contains(t, r.Errors, runfile.ErrorClass{Stage: "request", Class: "not settled", Count: 1,
				Example: c.reason})
		})
	}
}

// Regression: calls with and without a flow drew overlapping numbers, so one message overwrote
// another in the ledger.
func TestAFlowIsChosenInEachCallOrInNone(t *testing.T) {
	t.Parallel()
	const profile = "phases: [{duration: 60, vus: 1, requests: 6}]\nflows: [{name: often}, {name: seldom, weight: 5, messages: 3}, {name: off, weight: 0}]"
	for name, c := range map[string]struct {
		first, other string
		messages     int
	}{
		"in each call": {"run.next(i < 4 ? 'often' : 'seldom')", "run.next()", 4*1 + 2*3},
		"in no call":   {"run.next()", "run.next('often')", 1*1 + 5*3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, &fake.Pipeline{}, profile, "idle: '100ms'")
			e := s.module.root.engine
			done := make(chan error)
			go func() { done <- e.Collect(t.Context(), s.state, s.module.metrics) }()
			rt := s.runtime.VU.Runtime()
			v, err := rt.RunString(`
				const ids = new Set();
				for (let i = 0; i < 6; i++) {
					const slot = ` + c.first + `;
					slot.ids.forEach((id) => ids.add(id));
					run.settle(slot, 503);
				}
				ids.size`)
			require.NoError(t, err)
			assert.Equal(t, int64(c.messages), v.ToInteger())
			_, err = rt.RunString(c.other)
			require.ErrorContains(t, err, "a flow is chosen in each call of a run, or in none")
			_, err = rt.RunString(`run.next('off')`)
			require.ErrorContains(t, err, "if the profile has it with a weight above 0")
			require.NoError(t, <-done)
			a := e.Ledger.Final()
			assert.True(t, a.Balanced)
			assert.Equal(t, []int{c.messages, c.messages}, []int{a.Scheduled, a.Rejected})
		})
	}
}

func TestPumpSendsEveryRequest(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, steady, "senders: 4, inFlight: 4")
	rt := s.runtime.VU.Runtime()
	_, err := rt.RunString(
		`var how = run.scenarios({ pump: true }).sender; how.executor + ' ' + how.vus + ' ' + how.iterations`)
	require.NoError(t, err)
	_, err = rt.RunString(`run.send()`)
	require.ErrorContains(t, err, "the sender calls run.pump()")
	e := s.module.root.engine
	done := make(chan error)
	go func() { done <- e.Collect(t.Context(), s.state, s.module.metrics) }()
	_, err = rt.RunString(`run.pump()`)
	require.NoError(t, err)
	require.NoError(t, <-done)
	assert.Equal(t, 570, e.Ledger.Final().Arrived)

	_, err = newScript(t, &fake.Pipeline{}, steady, "").runtime.VU.Runtime().RunString(`run.pump()`)
	require.ErrorContains(t, err, "run.pump() is for the sender of scenarios({ pump: true })")
}
