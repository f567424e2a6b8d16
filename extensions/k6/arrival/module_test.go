package arrival

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modulestest"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// A k6 that numbers its events otherwise would never end a run, or end it too early.
func TestTheNumberOfTheEventIsThatOfK6(t *testing.T) {
	t.Parallel()
	global, _ := reflect.TypeFor[common.Events]().FieldByName("Global")
	subscribe, ok := global.Type.MethodByName("Subscribe")
	require.True(t, ok)
	event := reflect.New(subscribe.Type.In(0).Elem()).Elem()
	event.SetUint(exitEvent)
	assert.Equal(t, "Exit", fmt.Sprint(event.Interface()))
}

func TestAProcessHasOneRun(t *testing.T) {
	t.Parallel()
	rt := modulestest.NewRuntime(t)
	require.NoError(t, rt.VU.Runtime().Set("Run", New().NewModuleInstance(rt.VU).Exports().Named["Run"]))
	_, err := rt.VU.Runtime().RunString("new Run()")
	assert.ErrorContains(t, err, "new Run() needs its options")
	const good = `profile: 'phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a}]', ingest: {url: 'http://h'}, mqtt: {url: 'mqtt://h'}`
	_, err = rt.VU.Runtime().RunString("new Run({" + good + ", sendrs: 3})")
	assert.ErrorContains(t, err, `unknown option "sendrs"`)
	_, err = rt.VU.Runtime().RunString("new Run({" + good + "}); new Run({" + good + "}); new Run({" + good +
		", senders: 3})")
	assert.ErrorContains(t, err, "a second Run with other options")
}

// Several VUs make the same Run.
func TestEachVUMakesTheSameRun(t *testing.T) {
	t.Parallel()
	for _, options := range append([]string{"webhook: {}"}, "websocket: { url: 'ws://h/{{target}}' }",
		"sse: { url: 'http://h/{{target}}' }") {
		f := &fake.Pipeline{}
		s := newScript(t, f, fifty, "mqtt: {}, "+options)
		rt := s.runtime.VU.Runtime()
		_, err := rt.RunString(
			fmt.Sprintf("new Run({ profile: %q, ingest: { url: %q, token: 'secret' }, mqtt: {}, dir: %q, canary: false, %s })",
				fifty, f.IngestURL(), s.dir, options))
		assert.NoError(t, err, options)
	}
}
