// Package engine is a run of k6/x/arrival. One VU of k6 collects, step by step, and each step has its file: it
// prepares, greets, begins, watches, drains, searches, closes and records. Meanwhile other VUs send, or another program
// does.
package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/webhook"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// reconnectLeast is the shortest broker outage that the run tolerates before it halts the load. Where drain is
// longer, the run tolerates an outage of that length.
const reconnectLeast = 30 * time.Second

// Engine is the run of this process. Each part that changes has an owner with its own lock.
type Engine struct {
	*schedule.Course           // what is due when, the ledger, and the clock
	parts            run.Parts // shared with sending, receiving and searching
	notes            *notes    // errors, doubts and figures for the report

	options   *Options
	segment   segment.Segment // this instance's part of the run
	instance  *instance       // this process among those of the run
	trust     *network.Trust
	reconnect time.Duration // how long a subscriber tries to reconnect

	sending    *sending         // what is sent
	attendance *attendance      // who has come
	consumers  *Consumers       // VUs of a script that receives
	external   *External        // the caller that sends in place of k6; nil: k6 sends
	phases     *schedule.Phases // with their actual times
	pending    pending          // samples for k6
	judging    *judging         // its thresholds, and its figures for them
	life       life             // how far the run has come
	dir        directory        // its files

	receiver atomic.Pointer[receive.Receiver]
	opened   chan struct{}           // closed when it is there
	canary   *receive.Canary         // nil: none
	spans    *spanSource             // nil: none
	greeted  bool                    // one message has gone round
	greeting time.Duration           // how long that may take; 0: as the options say
	step     func(step, what string) // gets what it comes through; nil: there is a load

	quarters *facts.Quarters // latencies, for the drift; nil: it has no meaning
}

// Prepare makes the run of this process. args are k6's command line, which says which instance of the run this is.
func Prepare(o *Options, args []string) (*Engine, error) {
	part, err := segment.Read(args)
	if err != nil {
		return nil, err
	}
	if err := o.divisible(part); err != nil {
		return nil, err
	}
	if err := o.checkFiles(part, openFiles()); err != nil {
		return nil, err
	}
	return New(o, part), nil
}

// New makes a run that has this part of the load.
func New(o *Options, part segment.Segment) *Engine {
	o.profile.Connections = o.from.Connections
	due := o.told
	if due == nil {
		due = part.Share(pacer.New(o.profile))
	}
	e := &Engine{
		options:   o,
		segment:   part,
		trust:     &network.Trust{CA: o.CA},
		reconnect: max(reconnectLeast, o.Drain.duration()),
		consumers: newConsumers(o),
		opened:    make(chan struct{}),
		notes:     &notes{},
	}
	e.dir.options, e.dir.part = o, part
	id, own := cmp.Or(o.RunID, newRunID()), e.levelled()
	course := schedule.New(due)
	bodies := body.New(o.messages(), own.Flows, due, fmt.Sprintf("%s.%d.", id, part.Number()), !part.Alone())
	e.Course = course
	e.parts = run.Parts{
		Course: course, Messages: run.NewMessages(course, bodies, o.comparison()), Notes: e.notes,
		ID: id, Name: part.Name(id), Profile: own, Targets: profile.NewTargets(own.Flows), Bodies: bodies,
	}
	e.attendance = &attendance{Course: course, life: &e.life, come: make(chan struct{})}
	e.instance = &instance{Course: course, run: id, part: part, options: o, notes: e.notes}
	e.judging = newJudging(e)
	e.Ledger = ledger.New(own, due)
	e.Ledger.Pass(o.stages)
	if o.Sampled > 0 {
		e.Ledger.Keep(o.Sampled, store.TraceLength)
	}
	e.Ledger.Sample(o.Traces)
	e.spans = newSpanSource(e)
	deliveries, requests := expected(o.profile, due)
	e.pending.trend, e.pending.http = thin(deliveries), thin(requests)
	e.sending = newSending(e)
	e.phases = schedule.NewPhases(e.Course, o.profile.Phases)
	e.quarters = facts.NewQuarters(o.describeProfile().Phases)
	return e
}

// Receiver returns what reads the messages.
func (e *Engine) Receiver() receive.Receiver {
	if r := e.receiver.Load(); r != nil {
		return *r
	}
	return receive.None{}
}

func newRunID() string {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = alphabet[b[i]&31]
	}
	return string(b)
}

// levelled is the profile with this instance's number between each target and its own number, unless the instances
// share topics. Targets by name stay: each instance receives what comes to all of them.
func (e *Engine) levelled() *profile.Profile {
	p := *e.options.profile
	p.Flows = slices.Clone(p.Flows)
	if !e.segment.Alone() && !e.options.from.Common { // a script's own filter has no such level
		for i := range p.Flows {
			if f := &p.Flows[i]; f.Names == nil {
				f.Target += fmt.Sprintf("/%d", e.segment.Number())
			}
		}
	}
	return &p
}

// life guards the progress of a run.
type life struct {
	mu sync.Mutex
	progress
}

type progress struct {
	begun    bool      // collect has begun; it runs once
	ended    time.Time // or stopped; zero: in progress
	finished bool      // collect completed
	cause    string    // why k6 ended the test before the run was over; empty: it did not, or not known
	full     error     // the write error of a file that ended the run; nil: none
	result   string    // the last report's; empty: there is none yet
	tried    bool      // one message goes round, without a load
	reported bool      // the last report has been written
}

func (l *life) now() progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.progress
}

func (l *life) change(edit func(p *progress)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	edit(&l.progress)
}

// Publishes reports whether the run sends by MQTT.
func (e *Engine) Publishes() bool { return e.options.Publishers != nil }

// Arrives reports whether the script receives the messages.
func (e *Engine) Arrives() bool { return e.options.Arrived != nil }

// Stamped reports whether the clock of the pipeline's stamps is known.
func (e *Engine) Stamped() bool { return e.options.Redis.URL != "" }

// Webhook is the webhook that receives the messages; nil: the run has none.
func (e *Engine) Webhook() *webhook.Options { return e.options.Webhook }

// Collect runs the whole run in a VU of k6. A file that can't be written ends the run, and its exit code says so.
func (e *Engine) Collect(ctx context.Context, state *lib.State, m *Metrics) error {
	err := e.collect(ctx, state, m)
	if unwritten(err) {
		e.life.change(func(p *progress) { p.full = err })
	}
	return err
}

// collect runs the whole run in this VU, step by step. It returns an error if the run could not begin or was stopped.
func (e *Engine) collect(ctx context.Context, state *lib.State, m *Metrics) error {
	first := false
	if e.life.change(func(p *progress) { first, p.begun = !p.begun, true }); !first {
		return errors.New("collect() runs once in a run: give its scenario one VU and one iteration")
	}
	defer e.consumers.release()
	e.sending.crew.ctx = ctx
	v := e.attach(ctx, state, m)
	p, err := e.prepare(ctx, v)
	if err != nil {
		return err
	}
	defer p.close(ctx)
	if err := e.greet(ctx, p); err != nil {
		return err
	}
	l, err := e.begin(ctx, p)
	if err != nil {
		return err
	}
	defer l.close()
	if err := e.watch(ctx, v, l.recorder); err != nil { // and drain
		return e.cutOff(ctx, m, l.recorder, err)
	}
	e.awaitLast(ctx, l)
	e.search(ctx, p)
	e.close(ctx, p, l)
	return e.record(ctx, p, l.recorder)
}

// Name is the name of this instance's own things, as run.id has it.
func (e *Engine) Name() string { return e.parts.Name }
