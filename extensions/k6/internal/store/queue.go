package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// kind is a kind of queue (pipeline/queue/open.ts).
type kind struct {
	name string
	keys func(k keys, shards int) []string                                      // the keys that hold its messages
	scan scan                                                                   // reads the messages of such a key
	take func(client *redis.Client, of keys) func(context.Context, Taken) error // takes messages in place of the relays
}

// kinds are all of them, the default one first.
var kinds = []kind{
	{"stream", func(k keys, shards int) []string { return k.parts(shards, "messages") }, (*Store).scanFrames,
		streamTaker},
	{"list", func(k keys, _ int) []string { return []string{k.list()} }, (*Store).scanList, listTaker},
}

// kindOf is the kind of a name; empty: the default one.
func kindOf(name string) (kind, error) {
	var names []string
	for _, k := range kinds {
		if name == "" || name == k.name {
			return k, nil
		}
		names = append(names, strconv.Quote(k.name))
	}
	return kind{}, fmt.Errorf("queue.kind %q is not %s", name, strings.Join(names, " or "))
}

// CheckQueue refuses what OpenQueue can't use. An empty kind is a stream.
func CheckQueue(url, kind, prefix string) error {
	_, nodes, err := Parse(url)
	if err != nil {
		return fmt.Errorf("queue.url (QUEUE_URL): %w", err)
	}
	if len(nodes) > 1 {
		return errors.New("queue.url (QUEUE_URL) names several nodes, and the queue is read from one Redis; " +
			"allowed: one host:port")
	}
	if _, err := kindOf(kind); err != nil {
		return err
	}
	return CheckPrefix(prefix, "queue.prefix")
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

// OpenQueue makes a Queue that connects on first use. kind is the pipeline's QUEUE: stream, or list; prefix its
// QUEUE_PREFIX.
func OpenQueue(n network.Network, url, kind, prefix string) (*Queue, error) {
	of, err := kindOf(kind)
	if err != nil {
		return nil, err
	}
	client, _, err := newClient(n, url, "queue.url (QUEUE_URL)")
	if err != nil {
		return nil, err
	}
	return &Queue{client, of.take(client, keysOf(prefix))}, nil
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
func streamTaker(client *redis.Client, of keys) func(context.Context, Taken) error {
	last := "0"
	return func(ctx context.Context, taken Taken) error {
		read, err := client.XRead(ctx, &redis.XReadArgs{
			Streams: []string{of.messages()}, ID: last, Count: queueBatch, Block: queueWait,
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
			deleted = p.XDel(ctx, of.messages(), ids...)
			// a full Redis refuses that, and starts over when the stream is empty
			p.DecrBy(ctx, of.depth(), int64(len(frames)))
			return nil
		})
		return deleted.Err()
	}
}

// listTaker takes the oldest elements of the list.
func listTaker(client *redis.Client, of keys) func(context.Context, Taken) error {
	wait := fmt.Sprintf("%g", queueWait.Seconds()) // go-redis' own BLMPop waits for whole seconds
	return func(ctx context.Context, taken Taken) error {
		answer, err := client.Do(ctx, "BLMPOP", wait, 1, of.list(), "RIGHT", "COUNT", queueBatch).Slice()
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
