package arrival

import (
	"context"
	"iter"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// Keys of the pipeline. A pipeline that has others is measured all the same; its queued messages then count as lost.
const (
	messageStream    = "arrival:messages"
	messageList      = "arrival:list"  // with QUEUE=list
	messageCount     = "arrival:depth" // how many messages the stream holds
	deadLetterStream = "arrival:dead-letters"
	telemetryStream  = "arrival:telemetry"
	shardCount       = "arrival:shards"       // absent: the queue is not divided
	ingestTrace      = "arrival:trace:ingest" // with TRACE_LOG_EVERY
	relayTrace       = "arrival:trace:relay"
)

// find looks for the messages that did not arrive in the queue, and then among the dead letters: in this order none can
// move from the one to the other unseen.
func (e *engine) find(ctx context.Context, client *store) {
	note := func(frame string, fate ledger.Fate) {
		if seq, ok := e.seqOf([]byte(bodyOf(frame))); ok {
			e.Ledger.Find(seq, fate)
		}
	}
	stream := func(key string, fate ledger.Fate) error {
		return scan(ctx, client, key, "-", func(entry redis.XMessage) {
			for frame := range framesOf(entry) {
				note(frame, fate)
			}
		})
	}
	messages, deadLetters, err := client.places(ctx)
	if err != nil {
		e.distrust("%s could not be read in Redis, so what is missing could not be looked for in shards: %s", shardCount, err)
	}
	missed := func(key string, err error) {
		if err != nil {
			e.distrust("%s could not be read in Redis, so what is missing could not be looked for: %s", key, err)
		}
	}
	for _, key := range messages {
		missed(key, stream(key, ledger.Queued))
	}
	missed(messageList, scanList(ctx, client, messageList, func(frame string) { note(frame, ledger.Queued) }))
	for _, key := range deadLetters {
		missed(key, stream(key, ledger.DeadLettered))
	}
}

// framesOf are the messages of an entry (pipeline/queue/frame.ts).
func framesOf(entry redis.XMessage) iter.Seq[string] {
	frames, ok := entry.Values["frame"].(string)
	if !ok {
		return func(func(string) bool) {}
	}
	return strings.SplitSeq(frames, "\x1e")
}

// bodyOf is the third part of a frame, "<target>\n<stamps>\n<body>" (pipeline/queue/frame.ts).
func bodyOf(frame string) string {
	_, rest, _ := strings.Cut(frame, "\n")
	_, body, _ := strings.Cut(rest, "\n")
	return body
}

// scanList reads a list from its newest element to its oldest. What is taken from its end meanwhile was not missing.
func scanList(ctx context.Context, client *store, key string, read func(string)) error {
	const batch = 1000
	node, err := client.holder(ctx, key)
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

// scan reads a stream from an id to its end.
func scan(ctx context.Context, client *store, stream, from string, read func(redis.XMessage)) error {
	const batch = 100 // entries, of up to 64 messages each
	node, err := client.holder(ctx, stream)
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

// seqOf finds the number of a message of this instance in it.
func (e *engine) seqOf(payload []byte) (seq int, ok bool) {
	id, ok := e.bodies.seq(payload)
	if !ok {
		return 0, false
	}
	return e.Pacer.SeqOf(id)
}
