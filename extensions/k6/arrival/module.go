// Package arrival is the k6 module k6/x/arrival: it sends messages on a schedule, receives them at the other end of an
// asynchronous pipeline and accounts for every one.
//
//	import { Run } from 'k6/x/arrival';
//	const run = new Run({ profile: open('./profiles/ramp.yml'), ingest: { url }, mqtt: { url }, redis: { url } });
//	export const options = { scenarios: run.scenarios(), thresholds: run.thresholds({ arrival_p99: ['value<250'] }) };
//	export function subscriber() { run.collect(); } // one VU: waits until everything is in
//	export function sender() { run.send(); }        // takes the next request of the schedule
//	export const handleSummary = run.summary;       // run.json, index.html, the summary on the terminal
//
// A process has one run: all VUs share its schedule, its ledger and its clock. The members are documented in
// index.d.ts.
package arrival

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/grafana/sobek"
	"github.com/redis/go-redis/v9/logging"
	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// RootModule is the module of the process. It holds the run that all VUs share.
type RootModule struct {
	args     []string // k6's command line
	registry *metrics.Registry
	metrics  *engine.Metrics
	logger   logrus.FieldLogger
	events   sync.Once
	pumped   atomic.Bool // the scenarios' senders call pump()
	planned  atomic.Bool // the script made its run in the init context
	mu       sync.Mutex
	engine   *engine.Engine
}

var _ modules.Module = &RootModule{}

func New() *RootModule { return &RootModule{args: os.Args} }

// go-redis also logs the errors that it returns.
func init() { logging.Disable() }

func (r *RootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	m := &instance{root: r, vu: vu}
	if env := vu.InitEnv(); env != nil {
		m.metrics = engine.RegisterMetrics(env.Registry)
		m.metrics.Judged = !env.RuntimeOptions.NoThresholds.Bool
		r.events.Do(func() {
			r.registry, r.logger, r.metrics = env.Registry, env.Logger, m.metrics
			r.awaitExit(vu)
		})
	}
	// Built once: k6 asks for the exports at each use of a named import.
	m.exports = modules.Exports{Named: map[string]any{"Run": m.construct}}
	return m
}

// exitEvent is k6's event.Exit: test, thresholds and summary are over. The package that declares it is
// internal, so a test compares the number with its name.
const exitEvent = 6

// awaitExit concludes the run before k6 exits; k6 waits for it.
func (r *RootModule) awaitExit(vu modules.VU) {
	global := vu.Events().Global
	if global == nil {
		return
	}
	_, events := global.Subscribe(exitEvent)
	go func() {
		for event := range events {
			if code := r.conclude(errorOf(event.Data)); code != 0 {
				os.Exit(code)
			}
			event.Done()
		}
	}()
}

type instance struct {
	root     *RootModule
	vu       modules.VU
	metrics  *engine.Metrics
	exports  modules.Exports
	waiter   *schedule.Waiter // run.next() waits with it
	consumer *consumer        // set by run.subscribed()
}

func (m *instance) Exports() modules.Exports { return m.exports }

// construct is new Run(options): it checks the options, and joins or makes the process's run. It does no I/O.
func (m *instance) construct(call sobek.ConstructorCall) *sobek.Object {
	rt := m.vu.Runtime()
	o, err := parseOptions(rt, call.Argument(0))
	if err == nil {
		err = m.root.join(o)
	}
	if m.vu.State() == nil {
		m.root.planned.Store(true)
	}
	if err != nil {
		common.Throw(rt, err)
	}
	return m.object(rt, m.root.engine)
}

func (r *RootModule) join(o *engine.Options) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.engine == nil {
		made, err := engine.Prepare(o, r.args)
		r.engine = made
		return err
	}
	return r.engine.Same(o)
}

// parseOptions reads the options of new Run().
func parseOptions(rt *sobek.Runtime, v sobek.Value) (*engine.Options, error) {
	if v == nil || sobek.IsUndefined(v) || sobek.IsNull(v) {
		return nil, errors.New("new Run() needs its options: { profile, ingest, mqtt, … }")
	}
	text, err := json.Marshal(v.ToObject(rt))
	if err != nil {
		return nil, fmt.Errorf("options of Run: %w", err)
	}
	return engine.ParseOptions(text)
}
