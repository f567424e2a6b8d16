package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// runClosedPhases runs the phases of the closed model one after the other. k6's executors need the length of a phase
// beforehand: in the closed model a phase may end with a number of requests, or with an empty pipeline.
func (e *Engine) runClosedPhases(ctx context.Context, client *store.Store) {
	defer e.sending.turns.To(schedule.Turn{Over: true})
	begin := e.opening(ctx)
	for i, p := range e.options.profile.Phases {
		if !clock.SleepUntil(ctx, e.Halted, begin) {
			return
		}
		end := begin.Add(p.Duration)
		latest := end.Add(p.Drain)
		now := schedule.Turn{Phase: i, VUs: e.segment.Scale(p.VUs), End: end}
		if p.Requests > 0 {
			now.Left = new(atomic.Int64)
			now.Left.Store(int64(e.segment.ScaleShared(p.Requests, p.VUs)))
		}
		e.phases.Begin(i, begin, end)
		end = e.sending.turns.Last(ctx, e.sending.turns.To(now))
		switch ended := time.Now(); {
		case e.external != nil && e.external.hasEnded() && ended.Before(end):
			end = ended
		case p.Measured && now.VUs > 0 && !ended.Before(end) && e.sending.turns.Abandoned(&now, begin):
			e.abandon(p.Name)
		}
		e.phases.End(i, end)
		begin = end
		if p.Drain > 0 {
			e.sending.turns.To(schedule.Turn{})
			if e.sending.turns.Drained(ctx, end.Add(p.Drain)) {
				e.phases.Drained(i, time.Since(end))
			}
			begin = time.Now()
		}
		if e.instance.waitsAfter(i) {
			begin = e.instance.together(ctx, client, i+1, latest.Add(segment.PhaseWait))
		}
	}
	clock.SleepUntil(ctx, e.Halted, begin)
}

// abandon ends a run of the closed model whose senders have ended before phase did.
func (e *Engine) abandon(phase string) {
	if !e.Halt() {
		return
	}
	how := fmt.Sprintf("the senders ended after %d requests, before the end of phase %q", e.sending.turns.Drawn(), phase)
	e.notes.note(func() { e.notes.abandoned = how })
	e.notes.Distrust("%s", how)
}

// opening returns when the first phase begins: at the epoch, or when the first sender is ready.
func (e *Engine) opening(ctx context.Context) time.Time {
	if e.segment.Alone() {
		e.sending.turns.AwaitSender(ctx, e.Epoch.Add(schedule.LateLimit))
	}
	if now := time.Now(); now.After(e.Epoch) {
		return now
	}
	return e.Epoch
}
