package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
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

// instance is this process among those of a run. They begin, and end the phases of the closed model, together.
type instance struct {
	*schedule.Course // what is due when, the ledger, and the clock
	run              string
	part             segment.Segment
	options          *Options
	notes            *notes
	met              *runfile.Generator // this instance, as the report describes it; nil: the run has no other instance
}

// setStart sets the start of the schedule: soon, or when all instances of the run are ready.
func (i *instance) setStart(ctx context.Context, client *store.Store) error {
	if i.part.Alone() {
		i.Epoch = time.Now().Add(StartDelay)
		return nil
	}
	start, err := i.meet(ctx, client)
	if err != nil {
		return err
	}
	i.Epoch = i.moment(start)
	late := time.Since(i.Epoch)
	if late > schedule.LateLimit {
		return fmt.Errorf("%s comes %.0f s after the start of the run %s: too late to take part", i.part,
			late.Seconds(), i.run)
	}
	i.met = i.part.Describe(start, float64(max(0, late).Microseconds())/1000)
	return nil
}

// meet waits until all instances of the run are ready. It returns the start, in µs on the clock of Redis.
func (i *instance) meet(ctx context.Context, client *store.Store) (start int64, err error) {
	node, err := client.Holder(ctx, segment.Keys+i.run)
	if err != nil {
		return 0, segment.Unmet(err)
	}
	own := i.part.Meeting(node, i.run, segment.StartDelay, i.redisNow)
	giveUp := time.Now().Add(i.options.Gather.duration())
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
				i.run, float64(i.redisNow()-presence.Start)/1e6, i.part)
		case "taken": // perhaps by a process that has gone: ask a second time
			if other != "" && other != presence.Present[0] {
				return 0, fmt.Errorf("%s of the run %s is there already: each instance has a segment of its own, "+
					"and each run an id (runId, RUN_ID)",
					i.part, i.run)
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
				len(presence.Present), i.part.Of(), i.run, i.options.Gather.duration(), own.Missing(presence.Present))
		}
	}
}

// together returns when a phase of the closed model begins: soon after all instances have ended the one before.
// After the limit it no longer waits, and marks the run as invalid.
func (i *instance) together(ctx context.Context, client *store.Store, phase int, limit time.Time) time.Time {
	run := fmt.Sprintf("%s:%d", i.run, phase)
	var own *segment.Meeting
	ask := func() (presence segment.Presence, err error) {
		if own == nil {
			node, err := client.Holder(ctx, segment.Keys+run)
			if err != nil {
				return presence, err
			}
			own = i.part.Meeting(node, run, segment.PhaseLead, i.redisNow)
		}
		return own.Ready(ctx)
	}
	for {
		presence, err := ask()
		if err == nil && presence.Start != 0 {
			return i.moment(presence.Start)
		}
		over := time.Now().After(limit)
		if !over && clock.SleepUntil(ctx, i.Halted, time.Now().Add(segment.Look)) {
			continue
		}
		if own != nil {
			if start, err := own.Leave(context.WithoutCancel(ctx)); err == nil && start != 0 {
				return i.moment(start)
			}
		}
		switch name := i.options.profile.Phases[phase].Name; {
		case over && err != nil:
			i.notes.Distrust("the instances could not agree on when phase %q begins: %s", name, err)
		case over:
			i.notes.Distrust("phase %q began without %s, which had not ended the one before", name,
				own.Missing(presence.Present))
		}
		return time.Now()
	}
}

func (i *instance) redisNow() int64 {
	now := i.Clock.Now()
	return now + i.Clock.Offset(now)
}

func (i *instance) moment(at int64) time.Time { return i.Clock.Time(at + i.Clock.Back()(at)) }

// waitsAfter reports whether the instances of a run wait for each other after a phase. Each instance ends the
// phase when its requests have been answered and its messages have arrived.
func (i *instance) waitsAfter(phase int) bool {
	p := i.options.profile.Phases[phase]
	return !i.part.Alone() && phase+1 < len(i.options.profile.Phases) && (p.Requests > 0 || p.Drain > 0)
}

// waits is the longest that all these waits can take.
func (i *instance) waits() (d time.Duration) {
	for phase := range i.options.profile.Phases {
		if i.waitsAfter(phase) {
			d += segment.PhaseWait + segment.PhaseLead
		}
	}
	return d
}

// began is when the run began, which its name has: all instances share one, wherever their files are.
func (i *instance) began() time.Time {
	if i.met != nil {
		return time.UnixMicro(i.met.StartUS)
	}
	return time.Now()
}
