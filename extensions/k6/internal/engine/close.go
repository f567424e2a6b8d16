package engine

import (
	"context"
	"errors"
	"time"
)

// close ends sending and reading, and reads the rest of what the pipeline's processes report.
func (e *Engine) close(ctx context.Context, p *prepared, l *load) {
	p.receiver.Close()
	p.vu.hand(ctx, e.Ledger.Arrive(0, nil, nil)) // deliveries that came before their message was marked as sent
	e.pending.end(ctx, p.vu.state)
	l.recorder.cut()
	l.recorder.close()
	if l.telemetry != nil {
		l.following.Wait()
		l.telemetry.end(ctx, e)
	}
}

// awaitLast waits until the senders have their last answers, and the canary its last messages.
func (e *Engine) awaitLast(ctx context.Context, l *load) {
	l.stop()
	e.sending.crew.posts.Wait() // all are answered: no more than their samples is left
	if e.canary != nil {
		e.canary.Settle(ctx)
	}
}

// cutOff ends a run that was stopped, or that can't be recorded, for a reason. It writes what was measured.
func (e *Engine) cutOff(ctx context.Context, m *Metrics, rec *recorder, why error) error {
	if ctx.Err() != nil {
		e.judging.NoteAbort(m.registry)
	}
	e.Halt() // k6 ignores the error of an iteration that it has ended itself, and the senders would wait
	e.life.change(func(p *progress) { p.ended = time.Now() })
	rec.close()
	if unwritten(why) {
		e.dir.removePage()
		return why
	}
	return errors.Join(why, e.write()) // a script may have no summary, and the last report may be minutes old
}
