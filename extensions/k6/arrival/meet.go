package arrival

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
)

// Instances of one run begin at one moment of Redis' clock. Each says that it is ready when its subscribers hold their topics, and goes
// on saying so; who finds all of them ready writes the moment of the start, in the same step. So no instance misses the beginning
// because it was ready late, and none sends anything where one does not come, or has gone again.
const (
	runKeys = "arrival:run:" // <id>, and <id>:<phase>, a hash: the start, µs, and of each generator its token and until when it is ready, µs
	// runKept is how long the key stays: so long is it known that the id has been used.
	runKept = 24 * time.Hour
	// runLead is the time from when all are ready to the start.
	runLead = time.Second
	// phaseLead is that before a phase that begins when all have ended the last one, and phaseWait how much longer than that one may
	// take the others are waited for.
	phaseLead = 250 * time.Millisecond
	phaseWait = 5 * time.Second
	// runLook is how often the others are looked for, and runReady how long an instance that says nothing counts as ready.
	runLook  = 50 * time.Millisecond
	runReady = 3 * time.Second
)

// readyScript says that a generator is ready. KEYS: the run. ARGV: its number and token, now, until when it is ready, how many
// generators there are, the start if this one is the last, and how long the key stays, s. Returns the start, or an empty string; what
// became of the generator; and who is ready.
var readyScript = redis.NewScript(`
local run, number, token, now = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local start, own = redis.call('HGET', run, 'start'), redis.call('HGET', run, number)
local who, till = string.match(own or '', '^(%w+) (%d+)$')
if start then return {start, who == token and 'started' or 'late'} end
if who and who ~= token and tonumber(till) > now then return {'', 'taken', own} end
redis.call('HSET', run, number, token .. ' ' .. ARGV[4])
redis.call('EXPIRE', run, ARGV[7])
local there = {}
for n = 1, tonumber(ARGV[5]) do
  local till = string.match(redis.call('HGET', run, n) or '', ' (%d+)$')
  if till and tonumber(till) > now then there[#there + 1] = tostring(n) end
end
if #there < tonumber(ARGV[5]) then return {'', 'waits', unpack(there)} end
redis.call('HSET', run, 'start', ARGV[6])
return {ARGV[6], 'started'}`)

// leaveScript takes a generator back that does not wait any more. KEYS: the run. ARGV: its number and token. Returns the start where
// there is one already, as then the others count on it; else an empty string.
var leaveScript = redis.NewScript(`
local start, own = redis.call('HGET', KEYS[1], 'start'), redis.call('HGET', KEYS[1], ARGV[1])
if start then return start end
if own and string.match(own, '^%w+') == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
return ''`)

// setStart says when the schedule begins: soon, or when all instances of the run have met.
func (e *engine) setStart(ctx context.Context, client *store) error {
	if e.segment == nil {
		e.Epoch = time.Now().Add(Lead)
		return nil
	}
	start, err := e.meet(ctx, client)
	if err != nil {
		return err
	}
	e.Epoch = e.moment(start)
	late := time.Since(e.Epoch)
	if late > schedule.LateLimit {
		return fmt.Errorf("%s comes %.0f s after the start of the run %s: too late to take part", e.segment, late.Seconds(), e.id)
	}
	e.met = e.segment.describe(start, float64(max(0, late).Microseconds())/1000)
	return nil
}

// meet waits until all instances of the run are ready, and returns the moment of the start, µs on the clock of Redis.
func (e *engine) meet(ctx context.Context, client *store) (start int64, err error) {
	node, err := client.holder(ctx, runKeys+e.id)
	if err != nil {
		return 0, unmet(err)
	}
	own := e.newMeeting(node, e.id, runLead)
	giveUp := time.Now().Add(e.options.Gather.duration())
	other := ""
	for {
		told, err := own.ready(ctx)
		if err != nil {
			_, _ = own.leave(context.WithoutCancel(ctx))
			if ctx.Err() != nil {
				return 0, errStopped
			}
			return 0, err
		}
		switch told.state {
		case "started":
			return told.start, nil
		case "late":
			return 0, fmt.Errorf("the run %s began %.0f s ago: %s came too late for it, or the id has been used before (runId, RUN_ID: new for each run)",
				e.id, float64(e.redisNow()-told.start)/1e6, e.segment)
		case "taken": // by who has gone, if it does not say so again
			if other != "" && other != told.there[0] {
				return 0, fmt.Errorf("%s of the run %s is there already: each instance has a segment of its own, and each run an id (runId, RUN_ID)",
					e.segment, e.id)
			}
			other, told.there = told.there[0], nil
		}
		over := time.Now().After(giveUp)
		if over || !clock.SleepUntil(ctx, nil, time.Now().Add(runLook)) {
			if start, err := own.leave(context.WithoutCancel(ctx)); err != nil || over && start != 0 {
				return start, err
			}
			if !over {
				return 0, errStopped
			}
			return 0, fmt.Errorf("%d of %d instances of the run %s were ready within %s, so nothing was sent; missing: %s",
				len(told.there), own.of, e.id, e.options.Gather.duration(), missing(told.there, own.of))
		}
	}
}

// together is when a phase of the closed model begins: soon after all instances of the run have ended the one before. One that has not by
// the limit is not waited for, and then the run can't be trusted.
func (e *engine) together(ctx context.Context, client *store, phase int, limit time.Time) time.Time {
	run := fmt.Sprintf("%s:%d", e.id, phase)
	var own *meeting
	ask := func() (told presence, err error) {
		if own == nil {
			node, err := client.holder(ctx, runKeys+run)
			if err != nil {
				return told, err
			}
			own = e.newMeeting(node, run, phaseLead)
		}
		return own.ready(ctx)
	}
	for {
		told, err := ask()
		if err == nil && told.start != 0 {
			return e.moment(told.start)
		}
		over := time.Now().After(limit)
		if !over && clock.SleepUntil(ctx, e.Halted, time.Now().Add(runLook)) {
			continue
		}
		if own != nil {
			if start, err := own.leave(context.WithoutCancel(ctx)); err == nil && start != 0 {
				return e.moment(start)
			}
		}
		switch name := e.options.profile.Phases[phase].Name; {
		case over && err != nil:
			e.distrust("the instances could not agree on when phase %q begins: %s", name, withoutURL(err))
		case over:
			e.distrust("phase %q began without %s, which had not ended the one before", name, missing(told.there, own.of))
		}
		return time.Now()
	}
}

// meeting is what an instance has to do with the others in Redis before they begin.
type meeting struct {
	client *redis.Client
	run    string
	lead   time.Duration // from when all are ready
	number int
	of     int
	token  string       // tells this process from another one of its number
	now    func() int64 // of Redis, µs
}

func (e *engine) newMeeting(node *redis.Client, run string, lead time.Duration) *meeting {
	return &meeting{
		client: node, run: run, lead: lead, number: e.segment.generator(), of: e.segment.of(), token: newRunID(), now: e.redisNow,
	}
}

// presence is what Redis tells an instance: the start, 0 if there is none; what became of itself; and who is ready.
type presence struct {
	start int64
	state string
	there []string
}

// ready says that the instance is, for a while.
func (m *meeting) ready(ctx context.Context) (presence, error) {
	now := m.now()
	told, err := readyScript.Run(ctx, m.client, []string{runKeys + m.run}, m.number, m.token, now, now+runReady.Microseconds(), m.of,
		now+m.lead.Microseconds(), int(runKept.Seconds())).StringSlice()
	if err != nil {
		return presence{}, unmet(err)
	}
	return presence{start: startOf(told[0]), state: told[1], there: told[2:]}, nil
}

// leave takes that back, and returns the start if it was too late to.
func (m *meeting) leave(ctx context.Context) (start int64, err error) {
	told, err := leaveScript.Run(ctx, m.client, []string{runKeys + m.run}, m.number, m.token).Text()
	if err != nil {
		return 0, unmet(err)
	}
	return startOf(told), nil
}

// redisNow is the time of Redis, µs.
func (e *engine) redisNow() int64 {
	now := e.Clock.Now()
	return now + e.Clock.Offset(now)
}

// moment is one of Redis' clock, µs, on the own.
func (e *engine) moment(at int64) time.Time { return e.Clock.Time(at + e.Clock.Back()(at)) }

// startOf is the start of a run as Redis has it; 0: there is none so far.
func startOf(text string) int64 {
	start, _ := strconv.ParseInt(text, 10, 64) // written by the script
	return start
}

func unmet(err error) error {
	return fmt.Errorf("the instances of the run could not meet in Redis, where its user needs to read, write and run scripts on %s*: %w", runKeys, err)
}

// missing names the generators that are not there.
func missing(there []string, of int) (names string) {
	for n := 1; n <= of; n++ {
		if number := strconv.Itoa(n); !slices.Contains(there, number) {
			if names != "" {
				names += ", "
			}
			names += "generator " + number
		}
	}
	return names
}
