package store

import (
	"context"
	"iter"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
)

// Telemetry is the stream of process telemetry.
func (s *Store) Telemetry() string { return s.keys.of("telemetry") }

// Server is Redis: a store is the run.QueueSearch of a pipeline of this repository.
func (s *Store) Server() string { return "Redis" }

// Places lists where each kind of queue keeps messages, then the dead letters.
func (s *Store) Places(ctx context.Context) ([]run.Place, error) {
	shards, err := s.shards(ctx)
	var all []run.Place
	for _, kind := range kinds {
		for _, key := range kind.keys(s.keys, shards) {
			all = append(all, run.Place{Name: key, Fate: ledger.Queued, Read: s.bodies(key, kind.scan)})
		}
	}
	for _, key := range s.keys.parts(shards, "dead-letters") {
		all = append(all, run.Place{Name: key, Fate: ledger.DeadLettered, Read: s.bodies(key, (*Store).scanFrames)})
	}
	return all, err
}

// shards is the number of shards of the queue; 0: it has none.
func (s *Store) shards(ctx context.Context) (int, error) {
	node, err := s.Holder(ctx, s.keys.shards())
	if err != nil {
		return 0, err
	}
	shards, err := node.Get(ctx, s.keys.shards()).Int()
	if err == redis.Nil {
		err = nil
	}
	return shards, err
}

// scan passes the frames of a key.
type scan func(s *Store, ctx context.Context, key string, read func(frame string)) error

// bodies returns a function that passes the bodies of a key's messages.
func (s *Store) bodies(key string, frames scan) func(context.Context, func(string)) error {
	return func(ctx context.Context, read func(string)) error {
		return frames(s, ctx, key, func(frame string) {
			_, body := Parts(frame)
			read(body)
		})
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

// Parts returns the stamps and the body of a frame, "<target>\n<stamps>\n<body>" or "<target>\n<stamps>
// <trace>\n<body>" (pipeline/queue/frame.ts).
func Parts(frame string) (stamps, body string) {
	_, rest, _ := strings.Cut(frame, "\n")
	stamps, body, _ = strings.Cut(rest, "\n")
	stamps, _, _ = strings.Cut(stamps, " ")
	return stamps, body
}

// scanList reads a list from its newest element to its oldest. Relays may take elements from the end meanwhile: those
// are not run.
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
