package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

func TestTheCanaryIsMeasuredApartFromTheLoad(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{Delay: 100 * time.Millisecond},
		"phases: [{duration: 3, arrivalRate: 50}]\nflows: [{name: direct}]", "canary: true, id: 'meta.id'")
	r := s.run()
	require.NotNil(t, r.Canary)
	assert.Equal(t, [2]int{3, 3}, [2]int{r.Canary.Sent, r.Canary.Arrived})
	assert.GreaterOrEqual(t, *r.Canary.Latency.Min, 100.0)
	assert.Equal(t, 150, r.Account.Arrived, "the canary is not part of the account")
	assert.Zero(t, r.Account.Foreign)
	assert.Equal(t, int64(150), r.Latency.Arrival.Count)
	for second := range 3 {
		require.NotNil(t, r.Timeline[second].CanaryMS, second)
		assert.GreaterOrEqual(t, *r.Timeline[second].CanaryMS, 100.0)
	}
}

func TestARefusedCanaryIsLeftOutOfTheAccount(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Status: func(int) int { return http.StatusTooManyRequests }}
	r := newScript(t, f, "phases: [{duration: 2, arrivalRate: 5}]\nflows: [{name: direct}]",
		"canary: true, greet: false").run()
	assert.Equal(t, [2]int{2, 0}, [2]int{r.Canary.Sent, r.Canary.Arrived})
	assert.Nil(t, r.Canary.Latency.P50)
	assert.Nil(t, r.Timeline[0].CanaryMS)
	assert.Equal(t, 10, r.Account.Rejected)
	stages := map[string]int{}
	for _, e := range r.Errors {
		stages[e.Stage] += e.Count
	}
	assert.Equal(t, map[string]int{"request": 10, "canary": 2}, stages)
}

// Regression: a wrong path, token or topic cost the whole load on somebody's ingest.
func TestOneMessageGoesRoundBeforeTheLoad(t *testing.T) {
	t.Parallel()
	changed := func(_ int, body []byte) []byte { return bytes.ReplaceAll(body, []byte("canary."), []byte("changed.")) }
	status := func(is int) *fake.Pipeline { return &fake.Pipeline{Status: func(int) int { return is }} }
	rewrites := func(how func(int, []byte) []byte) *fake.Pipeline { return &fake.Pipeline{Rewrite: how} }
	none := &fake.Pipeline{Copies: func(int) int { return 0 }}
	const ofUsers = "canary: false, greet: true, verify: 5, mqtt: { url: 'BROKER', filter: 'messages/user/0' }"
	for want, c := range map[string]struct {
		f       *fake.Pipeline
		options string
	}{
		"/messages refuses messages: HTTP 404": {status(404), "canary: true"},
		"refuses messages: HTTP 401":           {status(401), "canary: false, greet: true"},
		// Regression: "can't be reached", where it was, and did not answer.
		"took the connection, and a first message had no answer (timeout)": {status(0), "canary: true, timeout: '2s'"},
		"and did not arrive on messages/canary/":                           {none, "canary: true, drain: 1"},
		"without its id as it was sent":                                    {rewrites(changed), "canary: true, drain: 3"},
		`does not hold its id as it was sent (ID_KEY, ID_FORMAT, ID_FROM, BODY): {"event":"{\"id\"`: {
			rewrites(escaped), "canary: true, drain: 3, verify: 'off'",
		},
		`VERIFY=off`:                  {rewrites(wrapped), "canary: true"},
		`It came as {"event":{"id":"`: {rewrites(wrapped), ofUsers},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, c.f, "phases: [{duration: 2, arrivalRate: 50}]\nflows: [{name: direct}]", c.options)
			err := s.engine.collect(t.Context(), s.state, s.metrics)
			require.ErrorContains(t, err, want)
			assert.Less(t, c.f.Requests(), 20, "nothing of the load is sent")
		})
	}
}

// wrapped and escaped are what two kinds of envelopes make of a message.
func wrapped(_ int, body []byte) []byte { return fmt.Appendf(nil, `{"event":%s}`, body) }

func escaped(_ int, body []byte) []byte {
	inner, _ := json.Marshal(string(body))
	return fmt.Appendf(nil, `{"event":%s}`, inner)
}

// Regression: the whole load of a pipeline that wraps messages was sent, and counted as altered.
func TestAPipelineThatWrapsMessagesIsGreetedWithoutComparing(t *testing.T) {
	t.Parallel()
	r := newScript(t, &fake.Pipeline{Rewrite: wrapped},
		"phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]", "canary: true, verify: 'off'").run()
	assert.Equal(t, []int{20, 0}, []int{r.Account.Arrived, r.Account.Altered})
}

// A script that calls next() may send other bodies, so the run does not compare them.
func TestOtherBodiesOfAScriptAreNotCompared(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Rewrite: wrapped}
	s := newScript(t, f, "phases: [{duration: 60, vus: 1, requests: 4}]\nflows: [{name: direct}]", "canary: true")
	r := s.scripted(f, "", 10, func(*Handle) {})
	assert.Equal(t, []int{4, 0}, []int{r.Account.Arrived, r.Account.Altered})
}

// Regression: the messages of chosen flows were compared with those of other flows.
func TestMessagesOfChosenFlowsAreCompared(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Rewrite: func(nth int, body []byte) []byte {
		if nth == 5 {
			return body[:len(body)-3]
		}
		return body
	}}
	s := newScript(t, f, "phases: [{duration: 60, vus: 1, requests: 4}]\nflows: [{name: often, payloadBytes: 9}, {name: seldom, target: pair, messages: 3}]", "verify: 1, idle: '2s'")
	r := s.scripted(f, "seldom", 4, func(*Handle) {})
	assert.Equal(t, []int{11, 1}, []int{r.Account.Arrived, r.Account.Altered})
}

// A run with a custom filter has no canary beside the load.
func TestOneMessageGoesRoundOnAFilterOfTheUsers(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	r := newScript(t, f, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct, target: user, targets: 1}]",
		"canary: false, greet: true, mqtt: { url: 'BROKER', filter: 'messages/user/0' }").run()
	assert.GreaterOrEqual(t, f.Requests(), 21, "the greeting, and the load")
	assert.Equal(t, []int{20, 0}, []int{r.Account.Arrived, r.Account.Foreign})
	assert.Nil(t, r.Canary)
}

func TestAnIngestThatIsBusyIsAskedAgain(t *testing.T) {
	t.Parallel()
	busy := func(nth int) int {
		if nth == 1 {
			return http.StatusServiceUnavailable
		}
		return http.StatusAccepted
	}
	r := newScript(t, &fake.Pipeline{Status: busy}, "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]",
		"canary: true").run()
	assert.Equal(t, 20, r.Account.Arrived)
}
