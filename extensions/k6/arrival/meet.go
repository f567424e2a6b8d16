package arrival

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Instances of one run begin at one moment of Redis' clock. Each adds its number to a set when its subscribers hold their topics; who
// finds all of them there writes the moment of the start, which is the one that is written first. So no instance misses the
// beginning because it was ready late, and none sends anything where one does not come.
const (
	runKeys = "arrival:run:" // <id>: the start, µs; <id>:ready: the set
	// runKept is how long the keys stay: so long is it known that the id has been used.
	runKept = 24 * time.Hour
	// runLead is the time from when all are ready to the start.
	runLead = time.Second
	// runLook is how often the others are looked for.
	runLook = 50 * time.Millisecond
)

// setStart says when the schedule begins: soon, or when all instances of the run have met.
func (e *engine) setStart(ctx context.Context, client *store) error {
	if e.segment == nil {
		e.epoch = time.Now().Add(lead)
		return nil
	}
	start, err := e.meet(ctx, client)
	if err != nil {
		return err
	}
	e.epoch = e.clock.Time(start + e.clock.Back()(start))
	late := time.Since(e.epoch)
	if late > lateLimit {
		return fmt.Errorf("%s comes %.0f s after the start of the run %s: too late to take part", e.segment, late.Seconds(), e.id)
	}
	e.met = e.segment.describe(start, float64(max(0, late).Microseconds())/1000)
	return nil
}

// meet waits until all instances of the run are ready, and returns the moment of the start, µs on the clock of Redis.
func (e *engine) meet(ctx context.Context, client *store) (start int64, err error) {
	key, ready, number := runKeys+e.id, runKeys+e.id+":ready", strconv.Itoa(e.segment.generator())
	starts, err := client.holder(ctx, key)
	if err != nil {
		return 0, unmet(err)
	}
	members, err := client.holder(ctx, ready)
	if err != nil {
		return 0, unmet(err)
	}
	if began, err := startOf(ctx, starts, key); err != nil {
		return 0, err
	} else if began != 0 {
		return 0, fmt.Errorf("the run %s began %.0f s ago: %s came too late for it, or the id has been used before (runId, RUN_ID: new for each run)",
			e.id, float64(e.redisNow()-began)/1e6, e.segment)
	}
	added, err := members.SAdd(ctx, ready, number).Result()
	if err != nil {
		return 0, unmet(err)
	}
	if added == 0 {
		return 0, fmt.Errorf("%s of the run %s is there already: each instance has a segment of its own, and each run an id (runId, RUN_ID)", e.segment, e.id)
	}
	defer func() {
		if err != nil { // the others are not to begin without this one
			members.SRem(context.WithoutCancel(ctx), ready, number)
		}
	}()
	if err := members.Expire(ctx, ready, runKept).Err(); err != nil {
		return 0, unmet(err)
	}
	giveUp := time.Now().Add(e.options.Gather.duration())
	for {
		if start, err := startOf(ctx, starts, key); err != nil || start != 0 {
			return start, err
		}
		there, err := members.SMembers(ctx, ready).Result()
		if err != nil {
			return 0, unmet(err)
		}
		if len(there) >= e.segment.of() {
			if err := starts.SetNX(ctx, key, e.redisNow()+runLead.Microseconds(), runKept).Err(); err != nil {
				return 0, unmet(err)
			}
			continue
		}
		if time.Now().After(giveUp) {
			return 0, fmt.Errorf("%d of %d instances of the run %s were ready within %s, so nothing was sent; missing: %s",
				len(there), e.segment.of(), e.id, e.options.Gather.duration(), missing(there, e.segment.of()))
		}
		if !sleepUntil(ctx, nil, time.Now().Add(runLook)) {
			return 0, errStopped
		}
	}
}

// redisNow is the time of Redis, µs.
func (e *engine) redisNow() int64 {
	now := e.clock.Now()
	return now + e.clock.Offset(now)
}

// startOf reads the start of a run; 0: there is none so far.
func startOf(ctx context.Context, client *redis.Client, key string) (int64, error) {
	start, err := client.Get(ctx, key).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, unmet(err)
	}
	return start, nil
}

func unmet(err error) error {
	return fmt.Errorf("the instances of the run could not meet in Redis, where its user needs to read and write %s*: %w", runKeys, err)
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
