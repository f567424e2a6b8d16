package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
)

// Keys of this repository's pipeline. Where another pipeline has other keys, its queued messages count as lost.
const (
	messageStream    = "arrival:messages"
	messageList      = "arrival:list"  // with QUEUE=list
	messageCount     = "arrival:depth" // how many messages the stream holds
	deadLetterStream = "arrival:dead-letters"
	shardCount       = "arrival:shards"       // absent: one shard
	ingestTrace      = "arrival:trace:ingest" // with TRACE_LOG_EVERY
	relayTrace       = "arrival:trace:relay"

	// TelemetryStream is the stream of process telemetry.
	TelemetryStream = "arrival:telemetry"
)

// Find looks for missing messages in the queue, then among the dead letters: in this order it misses none that
// moves from one to the other. It records them in the ledger.
func (s *Store) Find(ctx context.Context, r *run.Parts) {
	var missed []string
	var first error
	miss := func(key string, err error) {
		if err != nil {
			missed, first = append(missed, key), cmp.Or(first, err)
		}
	}
	look := func(key string, fate ledger.Fate, read func(context.Context, string, func(frame string)) error) {
		miss(key, read(ctx, key, func(frame string) {
			_, body := Parts(frame)
			if seq, ok := r.Bodies.Seq([]byte(body)); ok {
				r.Ledger.Find(seq, fate)
			}
		}))
	}
	messages, deadLetters, err := s.places(ctx)
	miss(shardCount, err)
	for _, key := range messages {
		look(key, ledger.Queued, s.scanFrames)
	}
	look(messageList, ledger.Queued, s.scanList)
	for _, key := range deadLetters {
		look(key, ledger.DeadLettered, s.scanFrames)
	}
	if first != nil {
		r.Ledger.Unsought()
		r.Distrust("Redis could not be asked for what is missing (%s), so it is unknown and not lost: %s", strings.Join(missed, ", "), first)
	}
}

// places are the streams where messages can remain: queues, and dead letters. A sharded queue has one of each
// per shard (pipeline/queue/keys.ts).
func (s *Store) places(ctx context.Context) (messages, deadLetters []string, err error) {
	messages, deadLetters = []string{messageStream}, []string{deadLetterStream}
	node, err := s.Holder(ctx, shardCount)
	if err != nil {
		return messages, deadLetters, err
	}
	shards, err := node.Get(ctx, shardCount).Int()
	if err == redis.Nil {
		return messages, deadLetters, nil
	}
	for shard := range shards {
		messages = append(messages, fmt.Sprintf("arrival:{%d}:messages", shard))
		deadLetters = append(deadLetters, fmt.Sprintf("arrival:{%d}:dead-letters", shard))
	}
	return messages, deadLetters, err
}

// framesOf are the messages of an entry (pipeline/queue/frame.ts).
func framesOf(entry redis.XMessage) iter.Seq[string] {
	frames, ok := entry.Values["frame"].(string)
	if !ok {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(frames, "\x1e")
}

// Parts returns the stamps and the body of a frame, "<target>\n<stamps>\n<body>" or "<target>\n<stamps> <trace>\n<body>"
// (pipeline/queue/frame.ts).
func Parts(frame string) (stamps, body string) {
	_, rest, _ := strings.Cut(frame, "\n")
	stamps, body, _ = strings.Cut(rest, "\n")
	stamps, _, _ = strings.Cut(stamps, " ")
	return stamps, body
}

// scanList reads a list from its newest element to its oldest. Relays may take elements from the end meanwhile: those
// are not missing.
func (s *Store) scanList(ctx context.Context, key string, read func(string)) error {
	const batch = 1000
	node, err := s.Holder(ctx, key)
	if err != nil {
		return err
	}
	for from := int64(0); ; from += batch {
		frames, err := node.LRange(ctx, key, from, from+batch-1).Result()
		if err != nil {
			return err
		}
		for _, frame := range frames {
			read(frame)
		}
		if len(frames) < batch {
			return nil
		}
	}
}

// scanFrames reads the messages of a stream.
func (s *Store) scanFrames(ctx context.Context, stream string, read func(frame string)) error {
	return s.Scan(ctx, stream, "-", func(entry redis.XMessage) {
		for frame := range framesOf(entry) {
			read(frame)
		}
	})
}

// Scan reads a stream from an id to its end.
func (s *Store) Scan(ctx context.Context, stream, from string, read func(redis.XMessage)) error {
	const batch = 100 // entries, of up to 64 messages each
	node, err := s.Holder(ctx, stream)
	if err != nil {
		return err
	}
	for {
		entries, err := node.XRangeN(ctx, stream, from, "+", batch).Result()
		if err != nil {
			return err
		}
		for _, entry := range entries {
			read(entry)
		}
		if len(entries) < batch {
			return nil
		}
		from = "(" + entries[len(entries)-1].ID
	}
}
