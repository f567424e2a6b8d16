package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.k6.io/k6/v2/lib"
)

// StartDelay is the time between the last subscription and the first request.
const StartDelay = 250 * time.Millisecond

// load is a load that has begun.
type load struct {
	recorder  *recorder
	stop      context.CancelFunc // ends what goes on beside it
	telemetry *telemetry         // nil: there is no store to read it from
	following sync.WaitGroup     // reads telemetry
}

// begin waits for the senders and for the other instances, makes the run's directory, and starts the load.
func (e *Engine) begin(ctx context.Context, p *prepared) (_ *load, err error) {
	if err := e.awaitSenders(ctx); err != nil {
		return nil, err
	}
	if err := e.instance.setStart(ctx, p.store); err != nil {
		return nil, err
	}
	if err := e.dir.create(e.instance.began()); err != nil {
		return nil, err
	}
	rec, err := newRecorder(e)
	if err != nil {
		return nil, err
	}
	if e.segment.Alone() {
		// Set again: the first report of a run with many phases may take longer than StartDelay.
		if e.Epoch, err = e.external.opening(ctx); err != nil {
			rec.close()
			return nil, errors.Join(err, e.dir.withdraw())
		}
	}
	if err := rec.begin(); err != nil {
		rec.close()
		return nil, err
	}
	beside, stop := context.WithCancel(ctx)
	l := &load{recorder: rec, stop: stop}
	go e.sending.open.Tend(beside)
	if p.store != nil {
		l.telemetry = newTelemetry(p.store)
		l.following.Go(func() { l.telemetry.follow(beside, e) })
	}
	if e.spans != nil {
		e.spans.Begin()
	}
	e.Start()
	if e.sending.turns != nil {
		go e.runClosedPhases(e.external.untilEnd(beside), p.store)
	}
	if e.canary != nil {
		planned := time.Duration(0)
		if e.Pacer.Planned() {
			planned = e.options.profile.Duration()
		}
		e.canary.Start(beside, planned, func() bool {
			return e.sending.turns.Over() || e.Pacer.Told() && e.external.hasEnded()
		})
	}
	return l, nil
}

// close ends what goes on beside the load, and closes its files. It may be called more than once.
func (l *load) close() {
	l.stop()
	l.recorder.close()
}

// attendMost is how long after the start of its scenario a sender may take to call run.send(), run.pump() or
// run.next().
const attendMost = time.Second

// awaitSenders waits for the first sender of an open load, if k6 begins a scenario later (startTime): the times of
// requests are due from the start of the run on. It refuses a load that would outlast its own scenario.
func (e *Engine) awaitSenders(ctx context.Context) error {
	test, own := e.judging.test.Load(), lib.GetScenarioState(ctx)
	if test == nil || own == nil || test.Test == nil || e.external != nil || e.Pacer.Closed() {
		return nil
	}
	scenarios := test.Test.Options.Scenarios
	var last lib.ExecutorConfig
	for name, scenario := range scenarios {
		if name != own.Name && (last == nil || scenario.GetStartTime() > last.GetStartTime()) {
			last = scenario
		}
	}
	if last == nil {
		return nil
	}
	wait := last.GetStartTime() - test.GetCurrentTestRunDuration()
	if wait <= 0 || e.attendance.within(ctx, min(wait, attendMost)) { // it is another scenario that begins later
		return nil
	}
	if mine := scenarios[own.Name]; mine != nil {
		end, _ := lib.GetEndOffset(mine.GetExecutionRequirements(test.ExecutionTuple))
		needed := last.GetStartTime() + e.options.profile.Duration() + e.options.Drain.duration()
		if end += mine.GetStartTime(); end < needed {
			return fmt.Errorf("scenario %q begins after %.0f s (startTime), so the run takes up to %.0f s, and scenario "+
				"%q, which collects, ends after %.0f s: begin earlier, or give it a longer maxDuration",
				last.GetName(), last.GetStartTime().Seconds(), needed.Seconds(), own.Name, end.Seconds())
		}
	}
	e.attendance.within(ctx, last.GetStartTime()-test.GetCurrentTestRunDuration()+attendMost)
	return nil
}
