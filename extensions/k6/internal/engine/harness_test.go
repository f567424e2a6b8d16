package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

const steady = test.Steady

var verdict = test.Verdict

// script is a run against a fake pipeline, with the state of a VU of k6.
type script struct {
	t        *testing.T
	engine   *Engine
	metrics  *Metrics
	registry *metrics.Registry
	state    *lib.State
	samples  chan metrics.SampleContainer
	dir      string
}

// made makes a run of options in JavaScript, as new Run(options) does.
func made(t *testing.T, options string, flags ...string) (*Engine, error) {
	t.Helper()
	vm := sobek.New()
	v, err := vm.RunString("(" + options + ")")
	require.NoError(t, err, options)
	text, err := json.Marshal(v.ToObject(vm))
	require.NoError(t, err, options)
	o, err := ParseOptions(text)
	if err != nil {
		return nil, err
	}
	return Prepare(o, flags)
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
	s := &script{t: t, registry: metrics.NewRegistry(), samples: make(chan metrics.SampleContainer, 100_000),
		dir: t.TempDir()}
	var err error
	s.engine, err = made(t, fmt.Sprintf(
		`{ profile: %q, ingest: { url: %q, token: 'secret' }, mqtt: { url: %q }, dir: %q, canary: false, %s }`,
		profile, f.IngestURL(), f.MQTTURL(), s.dir, options), flags...)
	require.NoError(t, err)
	s.metrics = RegisterMetrics(s.registry)
	s.metrics.Judged = true
	s.state = test.VU(s.registry, s.samples)
	return s
}

// inScenario is the context of a scenario's iteration.
func inScenario(ctx context.Context) context.Context {
	return lib.WithScenarioState(ctx, &lib.ScenarioState{})
}

// run collects while 16 senders send, as k6's scenarios do, and returns the report.
func (s *script) run() *runfile.Run {
	s.t.Helper()
	return s.runWith(16, func(ctx context.Context, e *Engine) {
		vu := NewSender(e, s.state)
		for vu.Send(ctx) {
		}
	})
}

// pumped is run with 4 pumps as senders.
func (s *script) pumped() *runfile.Run {
	s.t.Helper()
	return s.runWith(4, func(ctx context.Context, e *Engine) { e.Pump(ctx, s.state) })
}

func (s *script) runWith(vus int, sender func(context.Context, *Engine)) *runfile.Run {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	var senders sync.WaitGroup
	for range vus {
		senders.Go(func() { sender(ctx, s.engine) })
	}
	require.NoError(s.t, s.engine.collect(ctx, s.state, s.metrics))
	senders.Wait()
	assert.Contains(s.t, s.summary(), filepath.Join(s.dir, "index.html"))
	return s.written()
}

// summary writes the last report, and returns what run.summary() prints.
func (s *script) summary() string {
	s.t.Helper()
	r, page, err := s.engine.LastReport(s.registry)
	if err != nil {
		page = "none: " + err.Error()
	}
	return render.Text(r, page, render.Screen{})
}

// scripted sends up to most requests as a script does that makes its own, and returns the report. taken gets each of
// them.
func (s *script) scripted(f *fake.Pipeline, flow string, most int, taken func(*Handle)) *runfile.Run {
	s.t.Helper()
	done := make(chan error)
	go func() { done <- s.engine.collect(s.t.Context(), s.state, s.metrics) }()
	begun, err := s.engine.Join(s.t.Context(), s.state.Options, false)
	require.NoError(s.t, err)
	require.True(s.t, begun)
	w := schedule.NewWaiter()
	w.Flow, err = s.engine.FlowNumber(flow)
	require.NoError(s.t, err)
	for range most {
		h := s.engine.Next(s.t.Context(), w)
		if h == nil {
			break
		}
		taken(h)
		answer, err := http.Post(f.IngestURL()+h.Path, "application/json", bytes.NewReader([]byte(h.Body)))
		require.NoError(s.t, err)
		require.NoError(s.t, answer.Body.Close())
		s.engine.Settle(h, answer.StatusCode)
	}
	require.NoError(s.t, <-done)
	return s.written()
}

// written reads run.json from disk.
func (s *script) written() *runfile.Run {
	s.t.Helper()
	return test.Run(s.t, s.dir)
}
