package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/arrived"
	"github.com/arrival-bench/arrival/extensions/k6/internal/render"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// External is a run whose requests a caller sends. nil: k6 sends them.
type External struct {
	engine   *Engine
	caller   Caller
	pid      int // the process that sends
	registry *metrics.Registry
	metrics  *Metrics
	limits   map[string]metrics.Thresholds
	within   *withins
	logger   logrus.FieldLogger
	samples  chan metrics.SampleContainer
	recent   reservoir // arrival latencies of the current second
}

// Request is one that the caller has taken.
type Request struct {
	N        int
	Due      time.Time
	Phase    string
	Messages int
	Content

	given
}

// externalOptions are the options of new Run() and further ones for another program that sends.
type externalOptions struct {
	Options
	Limits map[string][]string `json:"limits"` // k6's thresholds on this module's metrics
	Tool   *runfile.Tool       `json:"tool"`   // what sends; nil: not given
	PID    int                 `json:"pid"`    // the sending process; 0: the parent
	// the caller tells each request as it sends it, so the profile's rates are only what is expected
	Told bool `json:"told"`
}

// NewExternal makes a run from a caller's options. parent is the id of the sending process, unless the options
// name another.
func NewExternal(text []byte, caller Caller, parent int, logger logrus.FieldLogger) (*External, error) {
	registry := metrics.NewRegistry()
	x := &External{caller: caller, pid: parent, registry: registry, metrics: RegisterMetrics(registry),
		within: &withins{known: map[string]within{}}, logger: logger}
	o := externalOptions{Options: defaults()}
	o.tool = runfile.Tool{Name: "caller", Version: "unknown"}
	if err := Decode(text, &o); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	if err := x.check(&o); err != nil {
		return nil, err
	}
	x.engine = New(&o.Options, segment.Whole())
	x.engine.external, x.engine.judging.within = x, x.within
	x.engine.parts.Scripted.Store(true)
	x.engine.Ledger.AwaitSending()
	if sums := x.engine.parts.Sums(); sums != nil {
		x.engine.Ledger.Compare(x.same, sums.Forget)
	}
	return x, nil
}

func (x *External) check(o *externalOptions) (err error) {
	if o.Publishers != nil {
		return errors.New("options: publishers are k6's own sender; allowed: a caller that sends")
	}
	if t := o.Tool; t != nil {
		if !wordLike.MatchString(t.Name) || len(t.Name) > protocolMax {
			return fmt.Errorf("options: tool.name %q; allowed: up to %d letters, digits, dots and _", t.Name,
				protocolMax)
		}
		o.tool = *t
	}
	if o.PID < 0 || o.PID > math.MaxInt32 {
		return fmt.Errorf("options: pid %d is not the number of a process", o.PID)
	}
	if o.PID != 0 {
		x.pid = o.PID
	}
	if o.Limits, err = x.within.limits(x.registry, o.Limits); err != nil {
		return err
	}
	if x.limits, err = x.readLimits(o.Limits); err != nil {
		return err
	}
	if err := o.check(); err != nil || !o.Told {
		return err
	}
	o.told, err = pacer.NewTold(o.profile)
	return err
}

// readLimits parses thresholds as k6 does. It refuses metrics that this module does not measure.
func (x *External) readLimits(limits map[string][]string) (map[string]metrics.Thresholds, error) {
	allowed := append([]string{x.metrics.latency.Name, x.metrics.p99.Name}, accountMetrics()...)
	all := map[string]metrics.Thresholds{}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		if _, _, ok := runfile.WithinMetric(name); !ok && !slices.Contains(allowed, name) {
			var hint string
			if near := words.Like(name, allowed); near != "" {
				hint = fmt.Sprintf(", %s is", near)
			}
			return nil, fmt.Errorf("options: limits.%s is not measured here%s; allowed: %s", name, hint,
				strings.Join(allowed, ", "))
		}
		t := metrics.NewThresholds(limits[name])
		err := t.Parse()
		if err == nil {
			err = t.Validate(name, x.registry)
		}
		if err != nil {
			return nil, fmt.Errorf("options: limits.%s: %w", name, err)
		}
		all[name] = t
	}
	return all, nil
}

// Collect runs the whole run.
func (x *External) Collect(ctx context.Context) error {
	counted := x.countSamples()
	state := &lib.State{
		Options: lib.Options{Thresholds: x.limits}, Samples: x.samples,
		Tags: lib.NewVUStateTags(x.registry.RootTagSet()), Logger: x.logger,
		BuiltinMetrics: metrics.RegisterBuiltinMetrics(x.registry),
		Dialer:         &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}, // the values of k6's own dialer
	}
	err := x.engine.collect(ctx, state, x.metrics)
	close(x.samples)
	<-counted
	return err
}

// Started is closed when the start of the schedule is known.
func (x *External) Started() <-chan struct{} { return x.engine.Started }

// Closed reports whether the run uses the closed model.
func (x *External) Closed() bool { return x.engine.Pacer.Closed() }

// Flow returns the number of a flow by its name, from 1; 0: no name. Only callers of the closed model choose
// flows.
func (x *External) Flow(name string) (int, error) { return x.engine.sending.flowNumber(name) }

// Told reports whether the caller tells its requests.
func (x *External) Told() bool { return x.engine.Pacer.Told() }

// Tell takes request n of a run whose requests are told; flow is by its name.
func (x *External) Tell(ctx context.Context, n int, due time.Time, flow string) (*Request, error) {
	flows := x.engine.options.profile.Flows
	of := slices.IndexFunc(flows, func(f profile.Flow) bool { return f.Name == flow })
	if of < 0 {
		return nil, fmt.Errorf("the profile has no flow %q", flow)
	}
	slot, err := x.engine.Pacer.Tell(n, due.Sub(x.engine.Epoch), of)
	if err != nil {
		return nil, err
	}
	return &Request{N: n, Due: due, given: given{slot: slot, taker: ctx}}, nil
}

// Next takes the next request of the open model before it is due; nil: none is left.
func (x *External) Next(ctx context.Context) *Request {
	slot, due, ok := x.engine.sending.open.Draw(ctx)
	if !ok {
		return nil
	}
	return x.request(ctx, slot, due)
}

// Turn takes a request of the closed model, due now, for a sender. Where it is not this sender's turn, it
// returns a channel that closes when that may have changed; a nil channel: there are no more requests.
func (x *External) Turn(ctx context.Context, sender, flow int) (*Request, <-chan struct{}) {
	x.engine.sending.turns.Attend() // the first phase waits for the first sender
	slot, instead := x.engine.sending.turns.TakeIn(ctx, sender, flow)
	switch {
	case instead == nil:
		return x.request(ctx, slot, time.Now()), nil
	case instead.Over:
		return nil, nil
	}
	return nil, instead.Next()
}

func (x *External) request(ctx context.Context, slot pacer.Slot, due time.Time) *Request {
	return &Request{
		N: slot.N, Due: due, Phase: x.engine.options.profile.Phases[slot.Phase].Name, Messages: slot.Messages,
		Content: x.engine.sending.content(slot), given: given{slot: slot, taker: ctx},
	}
}

// Sent marks a request as sent. over is called when it is settled or given up.
func (x *External) Sent(r *Request, at time.Time, over func()) {
	r.over = over
	x.engine.sending.depart(&r.given, at)
}

// Contains notes what a request is sent with, where the caller tells its requests and what arrives is compared with it.
func (x *External) Contains(n int, content []byte) {
	if sums := x.engine.parts.Sums(); sums != nil {
		sums.Sent(n, content)
	}
}

// same reports whether a message arrived with the content that it was sent with, and notes if not.
func (x *External) same(seq int, sum uint64) bool {
	same := x.engine.parts.Sums().Same(seq, sum)
	if !same {
		x.engine.notes.Count("delivery", "altered", "message "+x.engine.parts.Bodies.ID(seq))
	}
	return same
}

// Settle records the answer to a request, after this number of retries.
func (x *External) Settle(r *Request, a send.Result, retries int) {
	for range retries {
		x.engine.Ledger.Retried()
	}
	x.engine.sending.settle(&r.given, a)
}

// Drop drops a request that was taken and not sent.
func (x *External) Drop(r *Request) { x.engine.sending.drop(r.slot) }

// DropRest drops all requests of the open model that nobody has taken.
func (x *External) DropRest() {
	if x.engine.Pacer.Planned() {
		x.engine.sending.open.DropRest()
	}
}

// TooLate counts a request that was sent after it had been dropped.
func (x *External) TooLate(r *Request) {
	x.engine.notes.Count("request", "sent too late", fmt.Sprintf("request %d was sent after it had been dropped", r.N))
}

// Unsent counts a request that the caller took and did not send, for a reason of its own.
func (x *External) Unsent(why string) {
	x.engine.notes.Count(runfile.CallerStage, runfile.UnsentClass, why)
}

// Receives reports whether the caller receives the messages.
func (x *External) Receives() bool { return x.engine.options.Arrived != nil }

// CheckSubscriber refuses the number of a subscriber, from 1, that the run does not have.
func (x *External) CheckSubscriber(n int) error { return x.engine.CheckSubscriber(n) }

// Ready is closed when the run would record what arrives.
func (x *External) Ready() <-chan struct{} { return x.engine.opened }

// Arrived records what a subscriber of the caller received; they count from 0.
func (x *External) Arrived(subscriber int, messages []arrived.Message) {
	if r, ok := x.engine.Receiver().(*arrived.Receiver); ok {
		r.Arrive(subscriber, messages)
	}
}

// Recipient is the number, from 1, of the target where a message came, from what the caller says.
func (x *External) Recipient(name string) (int, error) { return x.engine.Recipient(name) }

// Figure adds a figure of the caller's own to the report; NaN: not measured.
func (x *External) Figure(name string, value float64, unit string) {
	x.engine.notes.figure(name, value, unit)
}

// Withdraw removes the files of a run that has ended and had no request.
func (x *External) Withdraw() error { return x.engine.dir.withdraw() }

// Result judges the run and writes the last report.
func (x *External) Result() (run *runfile.Run, summary, directory string, err error) {
	run, page, err := x.engine.LastReport(x.registry)
	return run, render.Text(run, page, render.Screen{}), x.engine.Directory(), err
}
