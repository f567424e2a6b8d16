package engine

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Regression: the whole load was sent before the run said that it could read none of the ids.
func TestUnreadableIDsHaltTheLoad(t *testing.T) {
	t.Parallel()
	encode := func(_ int, b []byte) []byte { return []byte(`{"data":"` + base64.StdEncoding.EncodeToString(b) + `"}`) }
	f := &fake.Pipeline{Rewrite: encode}
	const minute = "phases: [{duration: 60, arrivalRate: 20}]\nflows: [{name: direct}]"
	began := time.Now()
	r := newScript(t, f, minute, "idFrom: 'json:$.meta.id', idle: '300ms', drain: 5").run()
	_, reasons, _ := verdict(r)
	all := fmt.Sprint(reasons)
	assert.Contains(t, all, "none has an id of this run")
	assert.Contains(t, all, `at json:$.meta.id (ID_FROM); the first message: {"data":"`)
	assert.Less(t, time.Since(began), 50*time.Second, "not after the whole load")
	assert.Equal(t, runfile.Invalid, r.Verdict.Result)
	assert.Less(t, r.Account.Requests.Sent, r.Account.Requests.Scheduled)
}

// begun is an engine whose first message was accepted a while ago, and to which strangers have come since.
func begun(t *testing.T, options string) (e *Engine, since time.Time) {
	t.Helper()
	e = newScript(t, &fake.Pipeline{}, twenty, options).engine
	since = time.Now()
	e.Ledger.Start(e.Clock.At(since))
	slot := e.Ledger.SlotOf(0)
	e.Ledger.Sent(slot, e.Clock.At(since))
	e.Ledger.Settle(slot, ledger.Accepted)
	e.Ledger.Foreign(strangersLeast)
	return e, since
}

// came is how many strangers halt the load a while after its first message, if the first of them was a payload.
func (e *Engine) came(payload string, at time.Time) int {
	e.parts.Messages = run.NewMessages(e.Course, e.parts.Bodies, run.Comparison{}) // forgets the first one
	e.parts.Sample([]byte(payload))
	n, _, _ := e.strangers(at)
	return n
}

// Regression: heartbeats stopped the load of a pipeline that takes 8 s, and all of it would have arrived.
func TestHeartbeatsDoNotHaltTheLoadOfASlowPipeline(t *testing.T) {
	t.Parallel()
	e, since := begun(t, "drain: 20")
	assert.Zero(t, e.came(`{"type":"heartbeat"}`, since.Add(19*time.Second)))
	assert.Equal(t, strangersLeast, e.came(`{"type":"heartbeat"}`, since.Add(21*time.Second)))
	e, since = begun(t, "drain: 1")
	assert.Zero(t, e.came(`{"type":"heartbeat"}`, since.Add(strangersPatience-time.Second)))
}

// Messages that came before the first one was accepted say nothing about the load.
func TestStrangersBeforeTheFirstMessageDoNotHaltTheLoad(t *testing.T) {
	t.Parallel()
	e := newScript(t, &fake.Pipeline{}, twenty, "drain: 1").engine
	e.Ledger.Start(e.Clock.At(time.Now()))
	e.Ledger.Foreign(100)
	assert.Zero(t, e.came(`{"type":"heartbeat"}`, time.Now().Add(time.Hour)))
	slot := e.Ledger.SlotOf(0)
	e.Ledger.Sent(slot, e.Clock.At(time.Now()))
	assert.Zero(t, e.came(`{"type":"heartbeat"}`, time.Now().Add(time.Hour)), "it is not accepted yet")
	e.Ledger.Settle(slot, ledger.Rejected)
	assert.Zero(t, e.came(`{"type":"heartbeat"}`, time.Now().Add(time.Hour)), "it is not under way")
}

// Messages that another run left in a queue come before the run's own.
func TestLeftoversOfAnotherRunDoNotHaltTheLoad(t *testing.T) {
	t.Parallel()
	e, since := begun(t, "")
	late := since.Add(time.Hour)
	assert.Zero(t, e.came(`{"id":"0f3k9z2a.1.17"}`, late))
	assert.NotZero(t, e.came(`{"event":"{\"id\":\"`+e.parts.ID+`.1.17\"}"}`, since.Add(strangersPatience+time.Second)),
		"this run's, but unreadable")
	for n := 1; n < e.Pacer.Requests(); n++ {
		e.Ledger.Drop(e.Ledger.SlotOf(n))
	}
	assert.Zero(t, e.came(`{"id":7}`, late), "nothing of the load is left")
}

func TestStrangersAfterAGreetingDoNotHaltTheLoad(t *testing.T) {
	t.Parallel()
	e, since := begun(t, "")
	assert.NotZero(t, e.came(`{"id":7}`, since.Add(time.Hour)))
	e.greeted = true
	assert.Zero(t, e.came(`{"id":7}`, since.Add(time.Hour)))
}

// Numeric ids, an envelope, an encoding: the pipeline makes of a message what the run is told.
func TestIDsOfRealPipelinesAreFound(t *testing.T) {
	t.Parallel()
	envelope := func(_ int, b []byte) []byte { return []byte(`{"data":"` + base64.StdEncoding.EncodeToString(b) + `"}`) }
	for options, rewrite := range map[string]func(int, []byte) []byte{
		"idFormat: 'number'": nil,
		"idFormat: 'uuid'":   nil,
		"idFormat: 'number', body: '{\"event\":{{id}},\"target\":\"{{target}}\"}'": nil,
		"idFrom: 'json:$.data:base64:json:$.id'":                                   envelope,
		"idFrom: 'json:$.data:base64', idFormat: 'number'":                         envelope,
		"idFrom: 'json:$.event:json:$.id', idFormat: 'uuid'":                       escaped,
		"idFrom: 'percent'": func(_ int, b []byte) []byte { return fmt.Appendf(nil, "%%22%s", b) },
	} {
		r := newScript(t, &fake.Pipeline{Rewrite: rewrite},
			"phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}, {name: batch, messages: 3}]",
			options+", canary: true").run()
		assert.Equal(t, []int{r.Account.Scheduled, 0, 0},
			[]int{r.Account.Arrived, r.Account.Foreign, r.Account.Altered}, options)
		assert.NotZero(t, r.Account.Arrived)
	}
}

func TestWrongPlacesOfIDsAreRefused(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		"idFormat: 'int'": `idFormat (ID_FORMAT) "int"; allowed`,
		"idFrom: 'xml'":   `idFrom (ID_FROM) "xml"`,
		"idFrom: 'header:x-id', mqtt: { url: 'mqtt://h', version: '3.1.1' }": "no header fields",
		"idFrom: 'header:x-id', arrived: {}, canary: false, mqtt: undefined": "no header fields",
	} {
		_, err := made(t,
			fmt.Sprintf("{ ingest: {url: 'http://h'}, mqtt: { url: 'mqtt://h' }, profile: %q, %s }", twenty, options))
		require.ErrorContains(t, err, want, options)
	}
}
