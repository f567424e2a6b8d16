package arrival

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
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
	// checkpoint is the shortest interval between two reports of a run in progress; checkpointMost is the
	// longest.
	checkpoint     = 5 * time.Second
	checkpointMost = 5 * time.Minute
	// checkpointShare is how many times its writing time the next checkpoint waits: a longer run takes longer
	// to write.
	checkpointShare = 100
)

// collect runs the whole run: subscribe, start the senders, watch, drain, look up what is missing, and close
// the account. It returns an error if the run could not begin or was stopped.
func (e *engine) collect(ctx context.Context, state *lib.State, m *runMetrics) error {
	first := false
	if e.life.change(func(p *progress) { first, p.begun = !p.begun, true }); !first {
		return errors.New("collect() runs once in a run: give its scenario one VU and one iteration")
	}
	e.judging.Begin(state.Options.Thresholds, lib.GetExecutionState(ctx))
	if err := e.segment.InEffect(state.Options); err != nil {
		return err
	}
	if err := e.checkDir(); err != nil {
		return err
	}
	var client *store.Store // nil: no stamps; only this process's own clock is used
	var err error
	o, network := e.options, e.trust.Of(state)
	if o.Redis.URL != "" {
		if client, err = store.Open(ctx, network, o.Redis.URL, e.Clock); err != nil {
			return err
		}
		defer client.KeepTime(ctx, e.Clock)()
	}
	tags := state.Tags.GetCurrentValues().Tags
	hand := func(us []int64) { e.pending.latencies(ctx, state, m.latency, tags, us) }
	if e.subscribers, err = receive.Subscribe(ctx, &e.Parts, receive.Receiving{
		MQTT: o.MQTT, Queue: o.Queue, Answers: o.Answers, Network: network, Stamped: client != nil, Patience: e.reconnect, Latencies: hand,
	}); err != nil {
		return err
	}
	defer e.pending.end(ctx, state)
	defer e.subscribers.Close()
	if o.Canary {
		if e.canary, err = receive.NewCanary(ctx, &e.Parts, receive.Circling{
			MQTT: o.MQTT, Ingest: o.Ingest, Timeout: o.Timeout.duration(), Format: o.messages(), Network: network, Patience: e.reconnect,
			Drain: o.Drain.duration(),
		}); err != nil {
			return err
		}
		defer e.canary.Close()
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
	if e.segment == nil {
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
	e.Start()
	if e.turns != nil {
		go e.runClosedPhases(e.external.untilEnd(tending), client)
	}
	if e.canary != nil {
		load := time.Duration(0)
		if !e.Pacer.Closed() {
			load = o.profile.Duration()
		}
		e.canary.Fly(tending, load, e.turns.Over)
	}
	if err := e.watch(ctx, state, rec); err != nil {
		e.life.change(func(p *progress) { p.ended = time.Now() })
		rec.close()
		if unwritten(err) {
			e.removePage()
			return err
		}
		return errors.Join(err, e.write()) // a script may have no summary, and the last report may be minutes old
	}
	stopTending()
	if e.canary != nil {
		e.canary.Settle(ctx)
	}
	if e.Ledger.Open() > 0 {
		e.subscribers.Check()
	}
	if client != nil && e.Ledger.Open() > 0 {
		// The subscribers still read: messages that leave the queue now may still arrive.
		client.Find(ctx, &e.Parts)
		clock.SleepUntil(ctx, nil, time.Now().Add(linger))
	}
	e.subscribers.Close()
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
	e.Clock.End()
	rec.doubt()

	e.note(func() { e.resources = append(e.resources, rec.resources()...) })
	e.life.change(func(p *progress) { p.ended, p.finished = time.Now(), true })
	e.trace(ctx, state.Logger)
	m.end(ctx, state, e)
	return e.write() // k6 writes it again at the end of the test, with its own metrics
}

// watch returns when everything has arrived, when nothing has arrived for the idle time, or at the drain limit.
func (e *engine) watch(ctx context.Context, state *lib.State, rec *recorder) error {
	looks := time.NewTicker(look)
	defer looks.Stop()
	nextCut := e.Epoch.Add(tick)
	lastMove, lastSeen := time.Now(), -1 // the latest delivery in the drain
	var settledAt, completeAt time.Time
	halted, over := false, false
	halt := func(format string, args ...any) {
		if !halted {
			halted = true
			close(e.Halted)
			e.distrust(format, args...)
		}
	}
	quiet := 0 // consecutive checks during the drain at which nothing had arrived
	alone := 0 // consecutive checks at which no sender took overdue requests
	for {
		select {
		case <-ctx.Done():
			return errStopped
		case err := <-e.subscribers.Failed:
			halt("a subscriber lost its connection, so the rest of the load was not sent: %s", err)
		case now := <-looks.C:
			e.pending.flush(ctx, state)
			if !now.Before(nextCut) {
				nextCut = nextCut.Add(tick)
				rec.cut()
				rec.checkpoint()
			}
			if err := rec.failed(); err != nil {
				return err
			}
			e.phases.NoteBacklogs(now)
			e.giveUp(now)
			e.open.DropLeft(now)
			e.external.look(now)
			if alone++; e.turns != nil || !e.open.Abandoned(now) {
				alone = 0
			}
			if alone == aloneMost {
				halt("the senders have taken %d of %d requests and no more for %.0f s: did one of them fail? Its log says it",
					e.open.Drawn(), e.Pacer.Requests(), schedule.LateLimit.Seconds())
			}
			if n := e.unauthorized.Load(); n >= unauthorizedMost && !e.anyAccepted.Load() {
				halt("the ingest answered the first %d requests with 401, so the rest of the load was not sent: "+
					"the token is missing or wrong (INGEST_TOKEN, ingest.token)", n)
			}
			if over {
				e.Ledger.End()
			}
			over = e.turns.Over() && e.turns.Idle() // requests taken before have been sent at the next check
			if !e.Ledger.Settled() && (!halted || e.Ledger.InFlight() > 0) || !e.external.hasEnded() {
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
