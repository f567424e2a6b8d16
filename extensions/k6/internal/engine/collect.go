package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"
	"golang.org/x/net/http/httpproxy"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/missing"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

const (
	// StartDelay is the time between the last subscription and the first request.
	StartDelay = 250 * time.Millisecond
	// linger is how long the run waits for duplicates after everything has arrived.
	linger = 250 * time.Millisecond
	// look is the interval at which the run checks the ledger for completeness.
	look = 20 * time.Millisecond
	// tick is the length of a timeline interval.
	tick = time.Second
	// stepLeast is the smallest step of Redis' clock that a report names.
	stepLeast = 10 * time.Millisecond
	// checkpoint is the shortest interval between two reports of a run in progress; checkpointMost is the
	// longest.
	checkpoint     = 5 * time.Second
	checkpointMost = 5 * time.Minute
	// checkpointFirst is when the first one is written; the next ones come at twice its time each, up to checkpoint.
	checkpointFirst = time.Second
	// checkpointShare is how many times its writing time the next checkpoint waits: a longer run takes longer
	// to write.
	checkpointShare = 100
	// latestShare is the same for a report without the seconds, which does not grow with the run.
	latestShare = 10
)

// collect runs the whole run: subscribe, start the senders, watch, drain, look up what is missing, and close
// the account. It returns an error if the run could not begin or was stopped.
func (e *Engine) collect(ctx context.Context, state *lib.State, m *Metrics) error {
	first := false
	if e.life.change(func(p *progress) { first, p.begun = !p.begun, true }); !first {
		return errors.New("collect() runs once in a run: give its scenario one VU and one iteration")
	}
	defer e.consumers.release()
	e.crew.ctx = ctx
	test := lib.GetExecutionState(ctx)
	e.test.Store(test)
	e.judging.Begin(state.Options.Thresholds, test)
	aborting := m.newAborts(e, state.Options.Thresholds, state.Logger)
	if err := e.segment.InEffect(state.Options); err != nil {
		return err
	}
	if err := e.checkFirstSender(ctx, state.Options); err != nil {
		return err
	}
	if err := e.options.checkReceivers(httpproxy.FromEnvironment()); err != nil {
		return err
	}
	if err := e.checkDir(); err != nil {
		return err
	}
	var client *store.Store // nil: no stamps; only this process's own clock is used
	var err error
	o, net := e.options, e.trust.Of(state)
	if err := e.awaitServers(ctx, net); err != nil {
		return err
	}
	if o.Redis.URL != "" {
		if client, err = store.Open(ctx, net, o.Redis.URL, o.Redis.Prefix, e.Clock); err != nil {
			return err
		}
		defer client.KeepTime(ctx, e.Clock)()
	}
	if err := e.spans.open(ctx, e); err != nil {
		return err
	}
	defer e.spans.close()
	tags := state.Tags.GetCurrentValues().Tags
	hand := func(us []int64) { e.pending.latencies(ctx, state, m.latency, tags, us) }
	means := receive.Means{Network: net, Patience: e.reconnect}
	r, err := o.source.Open(ctx, &e.Parts, receive.NewSink(&e.Parts, client != nil, hand), means)
	if err != nil {
		return err
	}
	e.receiver.Store(&r)
	close(e.opened)
	defer e.pending.end(ctx, state)
	defer func() { hand(e.Ledger.Arrive(0, nil, nil)) }() // what waited until its request had left
	defer r.Close()
	if err := e.awaitConsumers(ctx); err != nil {
		return err
	}
	if err := e.sendCanary(ctx, means, state); err != nil {
		return err
	}
	if e.canary != nil {
		defer e.canary.Close()
	}
	if err := e.awaitSenders(ctx); err != nil {
		return err
	}
	if err := e.setStart(ctx, client); err != nil {
		return err
	}
	if err := e.makeDir(); err != nil {
		return err
	}

	rec, err := newRecorder(e)
	if err != nil {
		return err
	}
	defer rec.close()
	if e.segment.Alone() {
		// Set again: the first report of a run with many phases may take longer than StartDelay.
		if e.Epoch, err = e.external.opening(ctx); err != nil {
			rec.close()
			return errors.Join(err, e.withdraw())
		}
	}
	if err := rec.begin(); err != nil {
		return err
	}
	tending, stopTending := context.WithCancel(ctx)
	defer stopTending()
	go e.open.Tend(tending)
	var telemetry *telemetry
	var following sync.WaitGroup
	if client != nil {
		telemetry = newTelemetry(client)
		following.Go(func() { telemetry.follow(tending, e) })
	}
	if e.spans != nil {
		e.spans.Begin()
	}
	e.Start()
	if e.turns != nil {
		go e.runClosedPhases(e.external.untilEnd(tending), client)
	}
	if e.canary != nil {
		load := time.Duration(0)
		if !e.Pacer.Closed() {
			load = o.profile.Duration()
		}
		e.canary.Start(tending, load, e.turns.Over)
	}
	figures := func() { aborting.look(ctx, state, m, e) }
	if err := e.watch(ctx, state, rec, figures); err != nil {
		if ctx.Err() != nil {
			e.judging.NoteAbort(m.registry)
		}
		e.Halt() // k6 ignores the error of an iteration that it has ended itself, and the senders would wait
		e.life.change(func(p *progress) { p.ended = time.Now() })
		rec.close()
		if unwritten(err) {
			e.removePage()
			return err
		}
		return errors.Join(err, e.write()) // a script may have no summary, and the last report may be minutes old
	}
	stopTending()
	e.crew.posts.Wait() // all are answered: no more than their samples is left
	if e.canary != nil {
		e.canary.Settle(ctx)
	}
	if e.Ledger.Open() > 0 {
		r.Check()
	}
	if client != nil && e.Ledger.Open() > 0 {
		// The subscribers still read: messages that leave the queue now may still arrive.
		missing.Find(ctx, client, &e.Parts)
		clock.SleepUntil(ctx, nil, time.Now().Add(linger))
	}
	r.Close()
	hand(e.Ledger.Arrive(0, nil, nil)) // deliveries that came before their message was marked as sent
	e.pending.end(ctx, state)
	rec.cut()
	rec.close()
	if telemetry != nil {
		following.Wait()
		telemetry.end(ctx, e)
	}
	if o.Sampled > 0 {
		sampled := client.Traces(ctx, &e.Parts, o.Sampled)
		e.note(func() { e.sampled = sampled })
	}
	e.collectSpans(ctx)
	e.Clock.End()
	if step := time.Duration(e.Clock.Read().Step) * time.Microsecond; step.Abs() >= stepLeast {
		e.count("clock", "set during the run", fmt.Sprintf("the clock of Redis moved by %s against this host's: "+
			"deliveries with stamps from before and after it have no stages", step.Round(time.Millisecond)))
	}
	rec.doubt()

	e.note(func() { e.resources = append(e.resources, rec.resources()...) })
	e.stopCounting()
	e.life.change(func(p *progress) { p.ended, p.finished = time.Now(), true })
	e.trace(ctx, state.Logger)
	m.end(ctx, state, e, aborting)
	return e.write() // k6 writes it again at the end of the test, with its own metrics
}

// watch returns when everything has arrived, when nothing has arrived for the idle time, or at the drain limit. It calls
// figures each second.
func (e *Engine) watch(ctx context.Context, state *lib.State, rec *recorder, figures func()) error {
	looks := time.NewTicker(look)
	defer looks.Stop()
	// A second ends just before the next one begins: requests that are due on the boundary would be in every backlog.
	nextCut := e.Epoch.Add(tick - look)
	lastMove, lastSeen := time.Now(), -1 // the latest delivery in the drain
	var settledAt, completeAt time.Time
	over := false
	halt := func(format string, args ...any) {
		if e.Halt() {
			e.distrust(format, args...)
		}
	}
	quiet := 0 // consecutive checks during the drain at which nothing had arrived
	alone := 0 // consecutive checks at which no sender took overdue requests
	for {
		select {
		case <-ctx.Done():
			return errStopped
		case err := <-e.Receiver().Failed():
			rest := ", so the rest of the load was not sent"
			if e.Ledger.Settled() {
				rest = ""
			}
			halt("a subscriber lost its connection%s: %s", rest, err)
		case now := <-looks.C:
			e.pending.flush(ctx, state)
			if !now.Before(nextCut) {
				nextCut = nextCut.Add(tick)
				rec.cut()
				rec.checkpoint()
				figures()
			}
			if err := rec.failed(); err != nil {
				return err
			}
			e.phases.NoteBacklogs(now)
			e.turns.Look(now)
			e.giveUp(now)
			e.open.DropLeft(now)
			e.external.look(now)
			if alone++; e.turns != nil || !e.open.Abandoned(now) {
				alone = 0
			}
			if alone == aloneMost {
				e.note(func() {
					e.abandoned = fmt.Sprintf("the senders ended after %d of %d requests", e.open.Drawn(),
						e.Pacer.Requests())
				})
				halt("the senders have taken %d of %d requests and no more for %.0f s: "+
					"did one of them fail? Its log says it",
					e.open.Drawn(), e.Pacer.Requests(), schedule.LateLimit.Seconds())
			}
			if n := e.unauthorized.Load(); n >= unauthorizedMost && !e.anyAccepted.Load() {
				halt("the ingest answered the first %d requests with 401, so the rest of the load was not sent: "+
					"the token is missing or wrong (INGEST_TOKEN, ingest.token)", n)
			}
			if n, first, age := e.strangers(now); n > 0 {
				halt("%d messages came and none has an id of this run, and the oldest one under way has been so for %.0f s, "+
					"so the rest of the load was not sent; looked for %s; the first message: %s", n, age.Seconds(),
					e.Bodies.LooksFor(), first)
			}
			if over {
				e.Ledger.End()
			}
			over = e.turns.Over() && e.turns.Idle() // requests taken before have been sent at the next check
			if !e.Ledger.Settled() && (!e.IsHalted() || e.Ledger.InFlight() > 0) || !e.external.hasEnded() {
				continue
			}
			if settledAt.IsZero() {
				settledAt, lastMove = now, now
			}
			if quiet++; e.Ledger.Deliveries() != lastSeen {
				lastSeen, lastMove, quiet = e.Ledger.Deliveries(), now, 0
			}
			if e.Ledger.Open() == 0 {
				if completeAt.IsZero() {
					completeAt = now
				}
				if now.Sub(completeAt) >= linger && quiet >= quietLeast {
					return nil
				}
				continue
			}
			idle := now.Sub(lastMove) >= e.options.Idle.duration() && quiet >= quietLeast
			if idle || now.Sub(settledAt) >= e.options.Drain.duration() {
				return nil
			}
		}
	}
}

// After a process was suspended, its checks and its subscribers' messages are all due at once. Elapsed time
// alone does not show that no messages come.
const (
	quietLeast = 5
	aloneMost  = 50
	// unauthorizedMost answers of 401 without one accepted request halt the run.
	unauthorizedMost = 10
)

// errStopped means that k6 ended the subscriber's iteration before the run was over.
var errStopped = errors.New("the run was stopped before every message had an end")

// Collect runs the whole run in a VU of k6. A file that can't be written ends the run, and its exit code says so.
func (e *Engine) Collect(ctx context.Context, state *lib.State, m *Metrics) error {
	err := e.collect(ctx, state, m)
	if unwritten(err) {
		e.life.change(func(p *progress) { p.full = err })
	}
	return err
}
