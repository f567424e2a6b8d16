package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const (
	// TraceLength is the length of each trace list, newest entries first (pipeline/queue/queue.ts).
	TraceLength = 100_000
	// traceLooks is how often missing entries are looked for: the pipeline writes the lists after the messages,
	// not before.
	traceLooks = 10
	tracePause = 100 * time.Millisecond
)

// Sampled is the content of the trace lists by phase, and for all measured phases. nil: none.
type Sampled struct {
	phases []*runfile.Sampled
	whole  *runfile.Sampled
}

// Of returns the samples of one phase; nil: the run has none.
func (s *Sampled) Of(phase int) *runfile.Sampled {
	if s == nil {
		return nil
	}
	return s.phases[phase]
}

// All is the part of all measured phases.
func (s *Sampled) All() *runfile.Sampled {
	if s == nil {
		return nil
	}
	return s.whole
}

// traced is when ingest and relay recorded a message, µs on the own clock; 0: not recorded.
type traced struct{ ingest, relay int64 }

// Traces joins the pipeline's trace lists with the sampled deliveries of the ledger by id, and deletes the
// lists.
func (s *Store) Traces(ctx context.Context, r *run.Parts, oneIn int) *Sampled {
	kept, seen := r.Ledger.Kept()
	back := r.Clock.Back()
	times := make(map[int]*traced, len(kept))
	for _, k := range kept {
		times[k.Seq] = &traced{}
	}
	for look := range traceLooks {
		if look > 0 && !clock.SleepUntil(ctx, nil, time.Now().Add(tracePause)) {
			return nil
		}
		missing := 2 * len(times)
		for key, into := range map[string]func(*traced) *int64{
			s.keys.ingestTrace(): func(t *traced) *int64 { return &t.ingest },
			s.keys.relayTrace():  func(t *traced) *int64 { return &t.relay },
		} {
			// The newest entry comes first: for duplicates the oldest is kept.
			if err := s.scanList(ctx, key, func(entry string) {
				if seq, at, ok := traceOf(entry, r.Bodies, back); ok && times[seq] != nil {
					*into(times[seq]) = at
				}
			}); err != nil {
				r.Distrust("%s could not be read in Redis, so there are no samples: %s", key, err)
				return nil
			}
			for _, t := range times {
				if *into(t) != 0 {
					missing--
				}
			}
		}
		if missing == 0 {
			break
		}
	}
	for _, key := range []string{s.keys.ingestTrace(), s.keys.relayTrace()} {
		node, err := s.Holder(ctx, key)
		if err == nil {
			err = node.Unlink(ctx, key).Err()
		}
		if err != nil {
			r.Count("trace", "lists not deleted", err.Error())
		}
	}
	return joined(r.Profile.Phases, oneIn, kept, seen, times)
}

// traceOf parses an entry of a trace list, {"id": "<run>.<generator>.<number>", "time": µs on Redis' clock}, if
// it is of this run.
func traceOf(entry string, own *body.Bodies, back func(int64) int64) (seq int, at int64, ok bool) {
	var noted struct {
		ID   string `json:"id"`
		Time int64  `json:"time"`
	}
	if json.Unmarshal([]byte(entry), &noted) != nil {
		return 0, 0, false
	}
	seq, ok = own.NumberOf(noted.ID)
	return seq, noted.Time + back(noted.Time), ok
}

// joined makes the rows of samples, with the same columns as the steps.
func joined(phases []profile.Phase, oneIn int, kept []ledger.Kept, seen []int, times map[int]*traced) *Sampled {
	type row struct {
		arrival ledger.Series
		parts   [3]int64
	}
	rows := make([]*row, len(seen))
	for _, k := range kept {
		t := times[k.Seq]
		if t.ingest == 0 || t.relay == 0 {
			continue
		}
		if rows[k.Phase] == nil {
			rows[k.Phase] = &row{}
		}
		r := rows[k.Phase]
		r.arrival.Add(k.Arrived - k.Due)
		for i, us := range [...]int64{t.ingest - k.Due, t.relay - t.ingest, k.Arrived - t.relay} {
			r.parts[i] += us
		}
	}
	whole, missing := row{}, 0
	out := &Sampled{}
	for i, r := range rows {
		if r == nil {
			r = &row{}
		}
		notFound := seen[i] - int(r.arrival.Count)
		out.phases = append(out.phases, runfile.NewSampled(oneIn, notFound, &r.arrival, r.parts))
		if !phases[i].Measured {
			continue
		}
		whole.arrival.Merge(&r.arrival)
		missing += notFound
		for k, us := range r.parts {
			whole.parts[k] += us
		}
	}
	out.whole = runfile.NewSampled(oneIn, missing, &whole.arrival, whole.parts)
	return out
}
