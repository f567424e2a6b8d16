package arrival

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/js/modulestest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// Loads: 570 messages, 20, and 50.
const (
	steady = test.Steady
	twenty = "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]"
	fifty  = "phases: [{duration: 1, arrivalRate: 50}]\nflows: [{name: direct}]"
)

// script is a VU whose script created a Run against a fake pipeline.
type script struct {
	t       *testing.T
	runtime *modulestest.Runtime
	module  *instance
	state   *lib.State
	samples chan metrics.SampleContainer
	dir     string
}

// newScript starts f and returns a script for it. options are further options in JavaScript.
func newScript(t *testing.T, f *fake.Pipeline, profile, options string) *script {
	t.Helper()
	test.Start(t, f)
	return newScriptAt(t, f, profile, options)
}

// newScriptAt is newScript for a pipeline that runs already. PIPELINE, BROKER and REDIS in options
// stand for the URLs of its ingest, broker and Redis. flags are k6's.
func newScriptAt(t *testing.T, f *fake.Pipeline, profile, options string, flags ...string) *script {
	t.Helper()
	options = strings.NewReplacer("PIPELINE", f.IngestURL(), "BROKER", f.MQTTURL()).Replace(options)
	if f.Redis != nil {
		options = strings.ReplaceAll(options, "REDIS", f.Redis.URL())
	}
	s := &script{t: t, runtime: modulestest.NewRuntime(t), samples: make(chan metrics.SampleContainer, 100_000),
		dir: t.TempDir()}
	root := New()
	root.args = flags
	m, ok := root.NewModuleInstance(s.runtime.VU).(*instance)
	require.True(t, ok)
	s.module = m
	rt := s.runtime.VU.Runtime()
	require.NoError(t, rt.Set("Run", m.Exports().Named["Run"]))
	_, err := rt.RunString(fmt.Sprintf(
		`var run = new Run({ profile: %q, ingest: { url: %q, token: 'secret' }, mqtt: { url: %q },
		 dir: %q, canary: false, %s });`,
		profile, f.IngestURL(), f.MQTTURL(), s.dir, options))
	require.NoError(t, err)

	s.state = test.VU(s.runtime.VU.InitEnv().Registry, s.samples)
	s.runtime.MoveToVUContext(s.state)
	s.runtime.VU.CtxField = inScenario(s.runtime.VU.CtxField)
	return s
}

// inScenario is the context of a scenario's iteration.
func inScenario(ctx context.Context) context.Context {
	return lib.WithScenarioState(ctx, &lib.ScenarioState{})
}

// runIn collects while 16 senders send, as k6's scenarios do.
func (s *script) runIn(ctx context.Context) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var senders sync.WaitGroup
	for range 16 {
		senders.Go(func() { s.send(ctx) })
	}
	require.NoError(s.t, s.module.root.engine.Collect(ctx, s.state, s.module.metrics))
	senders.Wait()
}

// send sends as a VU of the scenario sender does.
func (s *script) send(ctx context.Context) {
	for vu := engine.NewSender(s.module.root.engine, s.state); vu.Send(ctx); {
	}
}

// scripted runs a script's own sender, which has a function post(path, body), and returns the report.
func (s *script) scripted(f *fake.Pipeline, sender string) *runfile.Run {
	s.t.Helper()
	done := make(chan error)
	go func() { done <- s.module.root.engine.Collect(s.t.Context(), s.state, s.module.metrics) }()
	rt := s.runtime.VU.Runtime()
	require.NoError(s.t, rt.Set("post", func(path, body string) int {
		answer, err := http.Post(f.IngestURL()+path, "application/json", strings.NewReader(body))
		if err != nil {
			return 0
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}))
	_, err := rt.RunString(sender)
	require.NoError(s.t, err)
	require.NoError(s.t, <-done)
	return s.written()
}

// written reads run.json from disk.
func (s *script) written() *runfile.Run {
	s.t.Helper()
	return test.Run(s.t, s.dir)
}
