package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// divisible refuses options that cannot be divided among instances, before anything is connected.
func (o *Options) divisible(s segment.Segment) error {
	if s.Alone() {
		return nil
	}
	if o.RunID == "" {
		return fmt.Errorf("runId (RUN_ID) is missing: the %d instances of a run have one name, "+
			"new for each run, like 7kq2m0xz", s.Of())
	}
	if o.Redis.URL == "" {
		return fmt.Errorf("redis.url (REDIS_URL) is missing: the %d instances of a run begin "+
			"together by the clock of Redis", s.Of())
	}
	if o.Sampled > 0 {
		return fmt.Errorf("sampled reads lists that all %d instances would share, and deletes them: without %s only",
			s.Of(), segment.Flag)
	}
	if o.form != body.Text {
		return fmt.Errorf("idFormat (ID_FORMAT) %q does not name the instance: without %s only", o.form, segment.Flag)
	}
	if o.from.Unshareable != "" {
		return fmt.Errorf("%s: without %s only", o.from.Unshareable, segment.Flag)
	}
	if p := o.Publishers; p != nil && s.Scale(p.Connections) == 0 {
		return fmt.Errorf("%s would have none of %d publishers.connections: fewer instances", s, p.Connections)
	}
	if p := o.profile; p.Closed() {
		if s.Scale(p.Most()) == 0 {
			return fmt.Errorf("%s would have none of %d VUs: fewer instances", s, p.Most())
		}
		return nil
	}
	whole := pacer.New(o.profile)
	if period := s.Repeats(whole); period > pacer.MaxPeriod {
		return fmt.Errorf("the flows' weights and the instances' segments repeat together after %d requests only; "+
			"up to %d are allowed: rounder weights, or fewer instances", period, pacer.MaxPeriod)
	}
	if s.Share(whole).Requests() == 0 {
		return fmt.Errorf("%s would send none of %d requests: fewer instances", s, whole.Requests())
	}
	return nil
}

// setStart sets the start of the schedule: soon, or when all instances of the run are ready.
func (e *Engine) setStart(ctx context.Context, client *store.Store) error {
	if e.segment.Alone() {
		e.Epoch = time.Now().Add(StartDelay)
		return nil
	}
	start, err := e.meet(ctx, client)
	if err != nil {
		return err
	}
	e.Epoch = e.moment(start)
	late := time.Since(e.Epoch)
	if late > schedule.LateLimit {
		return fmt.Errorf("%s comes %.0f s after the start of the run %s: too late to take part", e.segment,
			late.Seconds(), e.parts.ID)
	}
	e.met = e.segment.Describe(start, float64(max(0, late).Microseconds())/1000)
	return nil
}

// meet waits until all instances of the run are ready. It returns the start, in µs on the clock of Redis.
func (e *Engine) meet(ctx context.Context, client *store.Store) (start int64, err error) {
	node, err := client.Holder(ctx, segment.Keys+e.parts.ID)
	if err != nil {
		return 0, segment.Unmet(err)
	}
	own := e.segment.Meeting(node, e.parts.ID, segment.StartDelay, e.redisNow)
	giveUp := time.Now().Add(e.options.Gather.duration())
	other := ""
	for {
		presence, err := own.Ready(ctx)
		if err != nil {
			_, _ = own.Leave(context.WithoutCancel(ctx))
			if ctx.Err() != nil {
				return 0, errStopped
			}
			return 0, err
		}
		switch presence.State {
		case "started":
			return presence.Start, nil
		case "late":
			return 0, fmt.Errorf("the run %s began %.0f s ago: %s came too late for it, "+
				"or the id has been used before (runId, RUN_ID: new for each run)",
				e.parts.ID, float64(e.redisNow()-presence.Start)/1e6, e.segment)
		case "taken": // perhaps by a process that has gone: ask a second time
			if other != "" && other != presence.Present[0] {
				return 0, fmt.Errorf("%s of the run %s is there already: each instance has a segment of its own, "+
					"and each run an id (runId, RUN_ID)",
					e.segment, e.parts.ID)
			}
			other, presence.Present = presence.Present[0], nil
		}
		over := time.Now().After(giveUp)
		if over || !clock.SleepUntil(ctx, nil, time.Now().Add(segment.Look)) {
			if start, err := own.Leave(context.WithoutCancel(ctx)); err != nil || over && start != 0 {
				return start, err
			}
			if !over {
				return 0, errStopped
			}
			return 0, fmt.Errorf("%d of %d instances of the run %s were ready within %s, "+
				"so nothing was sent; missing: %s",
				len(presence.Present), e.segment.Of(), e.parts.ID, e.options.Gather.duration(), own.Missing(presence.Present))
		}
	}
}

// together returns when a phase of the closed model begins: soon after all instances have ended the one before.
// After the limit it no longer waits, and marks the run as invalid.
func (e *Engine) together(ctx context.Context, client *store.Store, phase int, limit time.Time) time.Time {
	run := fmt.Sprintf("%s:%d", e.parts.ID, phase)
	var own *segment.Meeting
	ask := func() (presence segment.Presence, err error) {
		if own == nil {
			node, err := client.Holder(ctx, segment.Keys+run)
			if err != nil {
				return presence, err
			}
			own = e.segment.Meeting(node, run, segment.PhaseLead, e.redisNow)
		}
		return own.Ready(ctx)
	}
	for {
		presence, err := ask()
		if err == nil && presence.Start != 0 {
			return e.moment(presence.Start)
		}
		over := time.Now().After(limit)
		if !over && clock.SleepUntil(ctx, e.Halted, time.Now().Add(segment.Look)) {
			continue
		}
		if own != nil {
			if start, err := own.Leave(context.WithoutCancel(ctx)); err == nil && start != 0 {
				return e.moment(start)
			}
		}
		switch name := e.options.profile.Phases[phase].Name; {
		case over && err != nil:
			e.notes.Distrust("the instances could not agree on when phase %q begins: %s", name, err)
		case over:
			e.notes.Distrust("phase %q began without %s, which had not ended the one before", name,
				own.Missing(presence.Present))
		}
		return time.Now()
	}
}

func (e *Engine) redisNow() int64 {
	now := e.Clock.Now()
	return now + e.Clock.Offset(now)
}

func (e *Engine) moment(at int64) time.Time { return e.Clock.Time(at + e.Clock.Back()(at)) }

// k6's executors need the length of a phase beforehand. In the closed model a phase may end with a number of
// requests or with an empty pipeline, so the run controls its phases itself.

// runClosedPhases runs the phases of the closed model one after the other.
func (e *Engine) runClosedPhases(ctx context.Context, client *store.Store) {
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
		switch ended := time.Now(); {
		case e.external != nil && e.external.hasEnded() && ended.Before(end):
			end = ended
		case p.Measured && now.VUs > 0 && !ended.Before(end) && e.turns.Abandoned(&now, begin):
			e.abandon(p.Name)
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

// abandon ends a run of the closed model whose senders have ended before phase did.
func (e *Engine) abandon(phase string) {
	if !e.Halt() {
		return
	}
	how := fmt.Sprintf("the senders ended after %d requests, before the end of phase %q", e.turns.Drawn(), phase)
	e.notes.note(func() { e.notes.abandoned = how })
	e.notes.Distrust("%s", how)
}

// waitsAfter reports whether the instances of a run wait for each other after phase i. Each instance ends the
// phase when its requests have been answered and its messages have arrived.
func (e *Engine) waitsAfter(i int) bool {
	p := e.options.profile.Phases[i]
	return !e.segment.Alone() && i+1 < len(e.options.profile.Phases) && (p.Requests > 0 || p.Drain > 0)
}

// waits is the longest that all these waits can take.
func (e *Engine) waits() (d time.Duration) {
	for i := range e.options.profile.Phases {
		if e.waitsAfter(i) {
			d += segment.PhaseWait + segment.PhaseLead
		}
	}
	return d
}

// opening returns when the first phase begins: at the epoch, or when the first sender is ready.
func (e *Engine) opening(ctx context.Context) time.Time {
	if e.segment.Alone() {
		e.turns.AwaitSender(ctx, e.Epoch.Add(schedule.LateLimit))
	}
	if now := time.Now(); now.After(e.Epoch) {
		return now
	}
	return e.Epoch
}
