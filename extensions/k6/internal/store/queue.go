package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
)

// QueueOptions are the settings of a pipeline without relays: messages have arrived when they are in its queue.
type QueueOptions struct {
	URL  string `json:"url"`  // of a user with permission to remove messages
	Kind string `json:"kind"` // stream or list
}

const (
	streamQueue = "stream"
	listQueue   = "list"
)

// Check refuses settings that do not fit a profile, and sets the defaults.
func (o *QueueOptions) Check(p *profile.Profile) error {
	if o.Kind == "" {
		o.Kind = streamQueue
	}
	if _, err := redis.ParseURL(o.URL); err != nil {
		return fmt.Errorf("queue.url: %w", withoutURL(err))
	}
	if o.Kind != streamQueue && o.Kind != listQueue {
		return fmt.Errorf("queue.kind %q is not \"stream\" or \"list\"", o.Kind)
	}
	for _, f := range p.Flows {
		if f.Deliveries != 1 {
			return fmt.Errorf("the queue hands out each message once, but flow %q has %d deliveries", f.Name, f.Deliveries)
		}
	}
	return nil
}

const (
	// queueBatch is how many messages are taken at once.
	queueBatch = 500
	// queueWait is how long Redis blocks while the queue is empty.
	queueWait = 100 * time.Millisecond
)

// Taken receives frames that were taken at one moment.
type Taken func(at time.Time, frames []string)

// Queue takes messages out of the queue in place of the relays, including those of other runs.
type Queue struct {
	client *redis.Client
	take   func(context.Context, Taken) error
}

// OpenQueue makes a Queue that connects on first use.
func OpenQueue(n network.Network, o *QueueOptions) (*Queue, error) {
	client, _, err := newClient(n, o.URL, "queue.url")
	if err != nil {
		return nil, err
	}
	if o.Kind == listQueue {
		return &Queue{client, listTaker(client)}, nil
	}
	return &Queue{client, streamTaker(client)}, nil
}

// Take waits for messages up to queueWait, and returns after taken has had them.
func (q *Queue) Take(ctx context.Context, taken Taken) error {
	if err := q.take(ctx, taken); err != nil {
		return fmt.Errorf("the queue can't be read: %w", network.Advise(err))
	}
	return nil
}

// Close closes the connection.
func (q *Queue) Close() error { return q.client.Close() }

// streamTaker reads the stream from where it stopped, and deletes what it read: it would count as backlog.
func streamTaker(client *redis.Client) func(context.Context, Taken) error {
	last := "0"
	return func(ctx context.Context, taken Taken) error {
		read, err := client.XRead(ctx, &redis.XReadArgs{
			Streams: []string{messageStream}, ID: last, Count: queueBatch, Block: queueWait,
		}).Result()
		at := time.Now()
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
		taken(at, frames)
		last = ids[len(ids)-1]
		var deleted *redis.IntCmd
		_, _ = client.Pipelined(ctx, func(p redis.Pipeliner) error {
			deleted = p.XDel(ctx, messageStream, ids...)
			p.DecrBy(ctx, messageCount, int64(len(frames))) // a full Redis refuses that, and starts over when the stream is empty
			return nil
		})
		return deleted.Err()
	}
}

// listTaker takes the oldest elements of the list.
func listTaker(client *redis.Client) func(context.Context, Taken) error {
	wait := fmt.Sprintf("%g", queueWait.Seconds()) // go-redis' own BLMPop waits for whole seconds
	return func(ctx context.Context, taken Taken) error {
		answer, err := client.Do(ctx, "BLMPOP", wait, 1, messageList, "RIGHT", "COUNT", queueBatch).Slice()
		at := time.Now()
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
		taken(at, frames)
		return nil
	}
}
