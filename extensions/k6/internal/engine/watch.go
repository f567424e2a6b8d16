package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

const (
	// look is the interval at which the run checks the ledger for completeness.
	look = 20 * time.Millisecond
	// tick is the length of a timeline interval.
	tick = time.Second
	// aloneMost is after how many consecutive looks at which no sender took overdue requests the load is given up.
	aloneMost = 50
	// unauthorizedMost answers of 401 without one accepted request halt the run.
	unauthorizedMost = 10
)

// errStopped means that k6 ended the subscriber's iteration before the run was over.
var errStopped = errors.New("the run was stopped before every message had an end")

// watcher looks after the load of a run.
type watcher struct {
	engine   *Engine
	vu       *vu
	recorder *recorder
	nextCut  time.Time // when the current second ends
	alone    int       // consecutive looks at which no sender took overdue requests
	over     bool      // without a plan: the last request was handed out
}

// watch looks after the load, and after its messages until all have arrived or the drain is over. It returns an error
// if the run was stopped, or can't be recorded.
func (e *Engine) watch(ctx context.Context, v *vu, rec *recorder) error {
	looks := time.NewTicker(look)
	defer looks.Stop()
	// A second ends just before the next one begins: requests that are due on the boundary would be in every backlog.
	w := &watcher{engine: e, vu: v, recorder: rec, nextCut: e.Epoch.Add(tick - look)}
	d := newDrain(e.options)
	for {
		select {
		case <-ctx.Done():
			return errStopped
		case err := <-e.Receiver().Failed():
			w.unsubscribed(err)
		case now := <-looks.C:
			if err := w.look(ctx, now); err != nil {
				return err
			}
			if e.settled() && d.over(now, e.Ledger.Deliveries(), e.Ledger.Open()) {
				return nil
			}
		}
	}
}

// look records what has happened since the last look, and halts a load that can't go on. An error says that a file of
// the run could not be written.
func (w *watcher) look(ctx context.Context, now time.Time) error {
	e := w.engine
	e.pending.flush(ctx, w.vu.state)
	if !now.Before(w.nextCut) {
		w.nextCut = w.nextCut.Add(tick)
		w.recorder.cut()
		w.recorder.checkpoint()
		w.vu.push(ctx, e)
	}
	if err := w.recorder.failed(); err != nil {
		return err
	}
	e.phases.NoteBacklogs(now)
	e.sending.turns.Look(now)
	e.sending.giveUp(now)
	e.sending.open.DropLeft(now)
	e.external.look(now)
	w.abandoned(now)
	w.unauthorized()
	w.unknown(now)
	if w.over {
		e.Ledger.End()
	}
	w.over = e.Pacer.Told() && e.external.hasEnded() ||
		e.sending.turns.Over() && e.sending.turns.Idle() // requests taken before have been sent at the next look
	return nil
}

// settled reports whether nothing more is sent, and every request that was sent has its answer.
func (e *Engine) settled() bool {
	return (e.Ledger.Settled() || e.IsHalted() && e.Ledger.InFlight() == 0) && e.external.hasEnded()
}

// halt ends the load, and gives the reason if it is the first one.
func (e *Engine) halt(format string, args ...any) {
	if e.Halt() {
		e.notes.Distrust(format, args...)
	}
}

// rest says what a halt means for the rest of the load: a caller that tells its requests goes on.
func (w *watcher) rest() string {
	if w.engine.Pacer.Told() {
		return ", so the rest of the load is no measurement"
	}
	return ", so the rest of the load was not sent"
}

// unsubscribed halts the load of a run that has lost a subscriber.
func (w *watcher) unsubscribed(err error) {
	rest := w.rest()
	if w.engine.Ledger.Settled() {
		rest = ""
	}
	w.engine.halt("a subscriber lost its connection%s: %s", rest, err)
}

// abandoned halts a load of the open model whose senders have ended.
func (w *watcher) abandoned(now time.Time) {
	e := w.engine
	if w.alone++; e.sending.turns != nil || !e.sending.open.Abandoned(now) {
		w.alone = 0
	}
	if w.alone != aloneMost {
		return
	}
	e.notes.note(func() {
		e.notes.abandoned = fmt.Sprintf("the senders ended after %d of %d requests", e.sending.open.Drawn(),
			e.Pacer.Requests())
	})
	e.halt("the senders have taken %d of %d requests and no more for %.0f s: did one of them fail? Its log says it",
		e.sending.open.Drawn(), e.Pacer.Requests(), schedule.LateLimit.Seconds())
}

// unauthorized halts a load whose token the ingest does not accept.
func (w *watcher) unauthorized() {
	e := w.engine
	if n := e.sending.unauthorized.Load(); n >= unauthorizedMost && !e.sending.anyAccepted.Load() {
		e.halt("the ingest answered the first %d requests with 401%s: "+
			"the token is missing or wrong (INGEST_TOKEN, ingest.token)", n, w.rest())
	}
}

// unknown halts a load whose messages come without an id of this run.
func (w *watcher) unknown(now time.Time) {
	e := w.engine
	if n, first, age := e.strangers(now); n > 0 {
		e.halt("%d messages came and none has an id of this run, and the oldest one under way has been so for %.0f s%s; "+
			"looked for %s; the first message: %s", n, age.Seconds(), w.rest(), e.parts.Bodies.LooksFor(), first)
	}
}

const (
	// strangersPatience is how old the oldest message under way has to be where what comes has this run's id, in a form
	// that is not read. Other strangers may come by themselves, like heartbeats: then its age is the drain limit, within
	// which a message may arrive.
	strangersPatience = 5 * time.Second
	// strangersLeast is how many strangers halt the load.
	strangersLeast = 10
)

// ofAnotherRun matches the id of a message of any run, which may have been left in a queue.
var ofAnotherRun = regexp.MustCompile(`\b[0-9a-z]{4,32}\.[0-9]+\.[0-9]+\b`)

// strangers reports whether messages come and none is recognised while those of the load should have arrived, so that
// the rest of it would be lost too. age is the age of the oldest message under way. Where one message has gone round,
// what comes is left from another run, or the load is over, the run waits for the end.
func (e *Engine) strangers(now time.Time) (n int, first string, age time.Duration) {
	n = e.Ledger.Strangers()
	sample := e.parts.Foreign()
	taken, any := e.Ledger.FirstTaken()
	if n < strangersLeast || sample == nil || !any || e.greeted || e.Ledger.Settled() {
		return 0, "", 0
	}
	patience := strangersPatience
	if !e.carries(sample) {
		if ofAnotherRun.Match(sample) {
			return 0, "", 0
		}
		patience = max(patience, e.options.Drain.duration())
	}
	age = time.Duration(e.Clock.At(now)-taken) * time.Microsecond
	if age < patience {
		return 0, "", 0
	}
	return n, runfile.ExcerptOf(sample), age
}
