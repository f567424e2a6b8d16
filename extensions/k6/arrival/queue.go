package arrival

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// queueOptions are the queue of a pipeline that has no relays: messages have arrived when they are in there.
type queueOptions struct {
	URL  string `json:"url"`  // of a user who may take messages out
	Kind string `json:"kind"` // stream or list
}

const (
	streamQueue = "stream"
	listQueue   = "list"
)

func (o *queueOptions) check(all *options) error {
	if o.Kind == "" {
		o.Kind = streamQueue
	}
	if _, err := redis.ParseURL(o.URL); err != nil {
		return fmt.Errorf("queue.url: %w", withoutURL(err))
	}
	switch {
	case o.Kind != streamQueue && o.Kind != listQueue:
		return fmt.Errorf("queue.kind %q is not \"stream\" or \"list\"", o.Kind)
	case all.Canary:
		return errors.New("queue is set, and the canary arrives by MQTT: canary: false")
	case all.Publishers != nil:
		return errors.New("queue is where messages of an ingest arrive, and publishers have none: leave out one of them")
	}
	for _, f := range all.profile.Flows {
		if f.Deliveries != 1 {
			return fmt.Errorf("the queue hands out each message once, but flow %q has %d deliveries", f.Name, f.Deliveries)
		}
	}
	return nil
}

const (
	// queueBatch is how many messages are taken at once.
	queueBatch = 500
	// queueWait is how long Redis waits for a message before it answers that there is none.
	queueWait = 100 * time.Millisecond
)

// takeFromQueue reads the queue in the place of a broker. What another run left in there is foreign, and goes too.
func (e *engine) takeFromQueue(ctx context.Context, state *lib.State, s *subscribers) error {
	client, err := e.redisClient(state, e.options.Queue.URL, "queue.url")
	if err != nil {
		return err
	}
	take := e.listTaker(client)
	if e.options.Queue.Kind == streamQueue {
		take = e.streamTaker(client)
	}
	if err := take(ctx, s); err != nil { // tells what the user may not do, before anything is sent
		_ = client.Close()
		return fmt.Errorf("the queue can't be read: %w", advise(err))
	}
	s.read.Go(func() {
		defer client.Close()
		for ctx.Err() == nil {
			if err := take(ctx, s); err != nil && ctx.Err() == nil {
				s.failed <- fmt.Errorf("the queue can't be read: %w", err)
				return
			}
		}
	})
	return nil
}

// streamTaker reads the stream from where it was read before, and deletes what was read: it would count as backlog.
func (e *engine) streamTaker(client *redis.Client) func(context.Context, *subscribers) error {
	last := "0"
	return func(ctx context.Context, s *subscribers) error {
		read, err := client.XRead(ctx, &redis.XReadArgs{
			Streams: []string{messageStream}, ID: last, Count: queueBatch, Block: queueWait,
		}).Result()
		at := e.Clock.Now()
		if errors.Is(err, redis.Nil) {
			return nil
		}
		if err != nil {
			return err
		}
		entries := read[0].Messages
		frames, ids := make([]string, 0, len(entries)), make([]string, 0, len(entries))
		for _, entry := range entries {
			frames, ids = slices.AppendSeq(frames, framesOf(entry)), append(ids, entry.ID)
		}
		s.taken(at, frames)
		last = ids[len(ids)-1]
		var deleted *redis.IntCmd
		_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error {
			deleted = p.XDel(ctx, messageStream, ids...)
			p.DecrBy(ctx, messageCount, int64(len(frames))) // a full Redis refuses that, and counts anew when the stream is empty
			return nil
		})
		return deleted.Err()
	}
}

// listTaker takes the oldest elements of the list.
func (e *engine) listTaker(client *redis.Client) func(context.Context, *subscribers) error {
	wait := fmt.Sprintf("%g", queueWait.Seconds()) // go-redis' own BLMPop waits for whole seconds
	return func(ctx context.Context, s *subscribers) error {
		answer, err := client.Do(ctx, "BLMPOP", wait, 1, messageList, "RIGHT", "COUNT", queueBatch).Slice()
		at := e.Clock.Now()
		if errors.Is(err, redis.Nil) {
			return nil
		}
		if err != nil {
			return err
		}
		elements, _ := answer[len(answer)-1].([]any)
		frames := make([]string, 0, len(elements))
		for _, element := range elements {
			frame, _ := element.(string)
			frames = append(frames, frame)
		}
		s.taken(at, frames)
		return nil
	}
}

// taken hands frames that were read at one moment to the ledger and to k6's metric. Their way ends in the queue: nobody claims or
// publishes them.
func (s *subscribers) taken(at int64, frames []string) {
	e := s.engine
	arrivals := make([]ledger.Arrival, 0, len(frames))
	back := e.Clock.Back()
	foreign := 0
	for _, frame := range frames {
		_, rest, _ := strings.Cut(frame, "\n")
		told, body, _ := strings.Cut(rest, "\n") // pipeline/queue/frame.ts
		seq, ok := e.bodies.seq([]byte(body))
		if !ok {
			foreign++
			continue
		}
		a := ledger.Arrival{Seq: seq, At: at, Waited: -1}
		if told != "" && e.options.Redis.URL != "" {
			stamps, err := hops.Parse([]byte(told + ",0,0"))
			if a.Stamped = err == nil; a.Stamped {
				a.Stamps = stamps.Move(back)
				a.Stamps.Claimed, a.Stamps.Published = at, at
			} else {
				e.count("queue", "stamps unreadable", err.Error())
			}
		}
		arrivals = append(arrivals, a)
	}
	latencies := e.Ledger.Arrive(0, arrivals, nil)
	if foreign > 0 {
		e.Ledger.Foreign(foreign)
	}
	s.hand(latencies)
}
