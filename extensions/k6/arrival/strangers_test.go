package arrival

import (
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// Regression: the whole load was sent before the run said that it could read none of the ids.
func TestUnreadableIDsHaltTheLoad(t *testing.T) {
	t.Parallel()
	encode := func(_ int, b []byte) []byte { return []byte(`{"data":"` + base64.StdEncoding.EncodeToString(b) + `"}`) }
	f := &fake.Pipeline{Rewrite: encode}
	const minute = "phases: [{duration: 60, arrivalRate: 20}]\nflows: [{name: direct}]"
	began := time.Now()
	r := newScript(t, f, minute, "idFrom: 'json:$.meta.id', idle: '300ms'").run()
	_, reasons, _ := verdict(r)
	all := fmt.Sprint(reasons)
	assert.Contains(t, all, "none has an id of this run")
	assert.Contains(t, all, `at json:$.meta.id (ID_FROM); the first message: {"data":"`)
	assert.Less(t, time.Since(began), 50*time.Second, "not after the whole load")
	assert.Equal(t, report.Invalid, r.Verdict.Result)
	assert.Less(t, r.Account.Requests.Sent, r.Account.Requests.Scheduled)
}

// Messages that another run left in a queue come before the run's own.
func TestLeftoversOfAnotherRunDoNotHaltTheLoad(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, twenty, "")
	e := s.module.root.engine
	var unknown strangers
	look := func(payload string, after time.Duration) int {
		e.foreign.Store(new([]byte(payload)))
		n, _ := unknown.look(e, time.Now().Add(after))
		return n
	}
	e.Ledger.Foreign(strangersLeast)
	assert.Zero(t, look(`{"id":7}`, 0))
	assert.Zero(t, look(`{"id":7}`, strangersPatience-time.Second))
	assert.Equal(t, strangersLeast, look(`{"id":7}`, strangersPatience+time.Second))
	assert.Zero(t, look(`{"id":"0f3k9z2a.1.17"}`, 2*strangersPatience))
	assert.NotZero(t, look(`{"event":"{\\"id\\":\\"`+e.ID+`.1.17\\"}"}`, 2*strangersPatience),
		"this run's, but unreadable")
	for n := range e.Pacer.Requests() {
		e.Ledger.Drop(e.Ledger.SlotOf(n))
	}
	assert.Zero(t, look(`{"id":7}`, 2*strangersPatience), "nothing of the load is left")
	e.greeted = true
	assert.Zero(t, look(`{"id":7}`, 2*strangersPatience))
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
	s := newScript(t, &fake.Pipeline{}, twenty, "")
	for options, want := range map[string]string{
		"idFormat: 'int'": `idFormat (ID_FORMAT) "int"; allowed`,
		"idFrom: 'xml'":   `idFrom (ID_FROM) "xml"`,
		"idFrom: 'header:x-id', mqtt: { url: 'mqtt://h', version: '3.1.1' }": "no header fields",
		"idFrom: 'header:x-id', arrived: {}, canary: false, mqtt: undefined": "no header fields",
	} {
		_, err := s.runtime.VU.Runtime().RunString(fmt.Sprintf(
			"new Run({ ingest: {url: 'http://h'}, mqtt: { url: 'mqtt://h' }, profile: %q, %s })", twenty, options))
		require.ErrorContains(t, err, want, options)
	}
}
