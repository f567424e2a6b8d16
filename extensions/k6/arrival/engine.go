package arrival

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// LateLimit is how late a request may leave. One that would be later is dropped, and counted: a generator that is half a
// minute behind measures nothing but itself.
const LateLimit = 30 * time.Second

// engine is the run of this process.
type engine struct {
	options *options
	segment *segment // what this instance does of the run; nil: all
	id      string   // of the run
	name    string   // of what is this instance's alone
	bodies  *bodies
	pacer   *pacer.Pacer
	ledger  *ledger.Ledger
	clock   *clock.Clock
	trust   trust

	pumped    atomic.Bool // the scenarios' senders call pump()
	pending   pending     // samples for k6
	trend     thinned     // arrival_latency
	httpTrend thinned     // http_req_duration

	choice   sync.Once
	choosing bool           // closed model: senders choose the flow of each request
	byFlow   *pacer.Pacer   // numbers these
	chosen   []atomic.Int64 // them, by flow

	next    atomic.Int64         // the request that is taken next
	turn    atomic.Pointer[turn] // closed model: what is to be done now
	senders atomic.Int64         // closed model: those that have come to send
	taking  atomic.Int64         // closed model: those that take a request, and have not sent it yet

	unattended atomic.Int64 // requests that found no free sender when they were due, and were late by more than lateFloor
	gate       *gate
	handles    handles       // requests that scripts send themselves, or the caller
	external   *External     // who sends in the place of k6; nil: k6 does
	started    chan struct{} // closed when the subscribers hold their topics; epoch is set before
	halted     chan struct{} // closed when there is no use in sending any more
	comeBack   time.Duration // how long a subscriber tries to connect again
	epoch      time.Time
	met        *report.Generator // this instance among those of the run; nil: it is the only one

	canary *canary // nil: none

	mu        sync.Mutex
	left      []pacer.Slot // drawn by senders that were stopped before it was due
	collected bool         // collect has begun; there is one
	ended     time.Time    // or stopped; zero: it goes on
	finished  bool         // collect came to its end
	dir       string
	doubts    []string                      // why the instrument can't be trusted, noted on the way
	asked     map[string]metrics.Thresholds // of k6's options
	limits    limits
	execution *lib.ExecutionState // nil: in tests
	marked    bool                // k6 was told that the test has failed
	errors    map[string]*report.ErrorClass
	gaps      []report.Gap
	spans     []span // the phases as they went
	figures   []report.Figure
	sampled   *sampled // nil: not asked for, or not there yet
	processes []report.ProcessClock
	timeline  []report.Interval
	resources []report.Resource

	failedByScript bool // test.fail() of k6/execution
}

func newEngine(o *options, part *segment) *engine {
	o.profile.Connections = max(o.MQTT.Connections, o.MQTT.brokers())
	schedule := part.share(pacer.New(o.profile))
	id := cmp.Or(o.RunID, newRunID())
	e := &engine{
		options: o,
		segment: part,
		id:      id,
		name:    part.name(id),
		pacer:   schedule,
		clock:   clock.New(),
		trust:   trust{ca: o.CA},
		gate:    newGate(),
		started: make(chan struct{}),
		halted:  make(chan struct{}),

		comeBack: max(comeBackLeast, o.Drain.duration()),
		errors:   map[string]*report.ErrorClass{},
	}
	e.ledger = ledger.New(e.levelled(), schedule)
	if o.Queue != nil {
		e.ledger.EndAt(ledger.Queue)
	}
	deliveries := 0
	for _, p := range o.profile.Phases {
		most := int(p.Duration.Seconds() * closedRate)
		if p.Requests > 0 {
			most = min(most, p.Requests)
		}
		deliveries += most
	}
	requests := deliveries
	if !schedule.Closed() {
		deliveries, requests = 0, schedule.Requests()
		for i, n := range schedule.FlowMessages(0, requests) {
			deliveries += n * o.profile.Flows[i].Deliveries
		}
	}
	if o.Sampled > 0 {
		e.ledger.Keep(o.Sampled, traceLength)
	}
	e.trend, e.httpTrend = thin(deliveries), thin(requests)
	e.chosen = make([]atomic.Int64, len(o.profile.Flows))
	if schedule.Closed() {
		e.byFlow = schedule.ByFlow()
	}
	e.turnTo(turn{})
	e.planSpans()
	e.bodies = newBodies(o, fmt.Sprintf("%s.%d.", e.id, part.generator()), e.targetLevel())
	return e
}

// newRunID names a run: 8 characters that no earlier run is likely to have had (40 bits).
func newRunID() string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = alphabet[b[i]&31]
	}
	return string(b)
}

// start lets the senders go, from the epoch on.
func (e *engine) start() {
	e.ledger.Start(e.clock.At(e.epoch))
	e.clock.Begin()
	close(e.started)
}

// elapsed is the time since the epoch; 0 before it.
func (e *engine) elapsed() time.Duration {
	if !isClosed(e.started) {
		return 0
	}
	return max(0, time.Since(e.epoch))
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// count adds one to a class of errors. The first of a class is kept as its example.
func (e *engine) count(stage, class, example string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := stage + " " + class
	if e.errors[key] == nil {
		e.errors[key] = &report.ErrorClass{Stage: stage, Class: class, Example: example}
	}
	e.errors[key].Count++
}

func (e *engine) errorClasses() []report.ErrorClass {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]report.ErrorClass, 0, len(e.errors))
	for _, c := range e.errors {
		out = append(out, *c)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Count > out[j].Count })
	return out
}

// distrust makes the run invalid, for a reason in plain words. internal/judge knows the rules that are about figures.
func (e *engine) distrust(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.doubts = append(e.doubts, fmt.Sprintf(format, args...))
}

// targetLevel stands between a target and its number where several instances have topics of their own; empty: they have not.
func (e *engine) targetLevel() string {
	if e.segment == nil || e.options.MQTT.Filter != "" { // the script's own filter knows no more levels, so all get everything
		return ""
	}
	return fmt.Sprintf("/%d", e.segment.generator())
}

// levelled is the profile with the targets as they are.
func (e *engine) levelled() *profile.Profile {
	p := *e.options.profile
	p.Flows = slices.Clone(p.Flows)
	for i := range p.Flows {
		p.Flows[i].Target += e.targetLevel()
	}
	return &p
}
