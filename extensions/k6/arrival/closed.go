package arrival

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// k6's executors need the length of a phase beforehand. In the closed model a phase may end with a number of
// requests or with an empty pipeline, so the run controls its phases itself.

// runClosedPhases runs the phases of the closed model one after the other.
func (e *engine) runClosedPhases(ctx context.Context, client *store.Store) {
	defer e.turns.To(schedule.Turn{Over: true})
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
		end = e.turns.Last(ctx, e.turns.To(now))
		if now := time.Now(); e.external != nil && e.external.hasEnded() && now.Before(end) {
			end = now
		}
		e.phases.End(i, end)
		begin = end
		if p.Drain > 0 {
			e.turns.To(schedule.Turn{})
			if e.turns.Drained(ctx, end.Add(p.Drain)) {
				e.phases.Drained(i, time.Since(end))
			}
			begin = time.Now()
		}
		if e.waitsAfter(i) {
			begin = e.together(ctx, client, i+1, latest.Add(segment.PhaseWait))
		}
	}
	clock.SleepUntil(ctx, e.Halted, begin)
}

// waitsAfter reports whether the instances of a run wait for each other after phase i. Each instance ends the
// phase when its requests have been answered and its messages have arrived.
func (e *engine) waitsAfter(i int) bool {
	p := e.options.profile.Phases[i]
	return e.segment != nil && i+1 < len(e.options.profile.Phases) && (p.Requests > 0 || p.Drain > 0)
}

// waits is the longest that all these waits can take.
func (e *engine) waits() (d time.Duration) {
	for i := range e.options.profile.Phases {
		if e.waitsAfter(i) {
			d += segment.PhaseWait + segment.PhaseLead
		}
	}
	return d
}

// opening returns when the first phase begins: at the epoch, or when the first sender is ready.
func (e *engine) opening(ctx context.Context) time.Time {
	if e.segment == nil {
		e.turns.AwaitSender(ctx, e.Epoch.Add(schedule.LateLimit))
	}
	if now := time.Now(); now.After(e.Epoch) {
		return now
	}
	return e.Epoch
}
