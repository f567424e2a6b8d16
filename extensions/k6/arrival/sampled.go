package arrival

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

const (
	// traceLength is how many times each of the pipeline's trace lists holds, the newest ones (pipeline/queue/queue.ts).
	traceLength = 100_000
	// traceLooks is how often what is missing in the lists is looked for: they are written beside the messages, not before them.
	traceLooks = 10
	tracePause = 100 * time.Millisecond
)

// sampled is what the trace lists have told of a run, by phase, and of all measured phases.
type sampled struct {
	phases []*report.Sampled
	whole  *report.Sampled
}

func (s *sampled) of(phase int) *report.Sampled {
	if s == nil {
		return nil
	}
	return s.phases[phase]
}

func (s *sampled) all() *report.Sampled {
	if s == nil {
		return nil
	}
	return s.whole
}

func (e *engine) sampledNow() *sampled {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sampled
}

// traced is when ingest and relay noted a message, µs on the own clock; 0: they did not.
type traced struct{ ingest, relay int64 }

// readTraces joins the pipeline's trace lists with the deliveries that the ledger has kept, by id, and deletes the lists.
func (e *engine) readTraces(ctx context.Context, client *store) {
	kept, seen := e.Ledger.Kept()
	back := e.Clock.Back()
	times := make(map[int]*traced, len(kept))
	for _, k := range kept {
		times[k.Seq] = &traced{}
	}
	for look := range traceLooks {
		if look > 0 && !clock.SleepUntil(ctx, nil, time.Now().Add(tracePause)) {
			return
		}
		missing := 2 * len(times)
		for key, into := range map[string]func(*traced) *int64{
			ingestTrace: func(t *traced) *int64 { return &t.ingest },
			relayTrace:  func(t *traced) *int64 { return &t.relay },
		} {
			// The newest stands first: of a message that was noted twice the first time stays.
			if err := scanList(ctx, client, key, func(entry string) {
				if seq, at, ok := e.traceOf(entry, back); ok && times[seq] != nil {
					*into(times[seq]) = at
				}
			}); err != nil {
				e.distrust("%s could not be read in Redis, so there are no samples: %s", key, err)
				return
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
	for _, key := range []string{ingestTrace, relayTrace} {
		node, err := client.holder(ctx, key)
		if err == nil {
			err = node.Unlink(ctx, key).Err()
		}
		if err != nil {
			e.count("trace", "lists not deleted", err.Error())
		}
	}
	all := e.joined(kept, seen, times)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sampled = all
}

// traceOf reads an entry of a trace list, {"id": "<run>.<generator>.<number>", "time": µs on Redis' clock}, if it is of this run.
func (e *engine) traceOf(entry string, back func(int64) int64) (seq int, at int64, ok bool) {
	var noted struct {
		ID   string `json:"id"`
		Time int64  `json:"time"`
	}
	if json.Unmarshal([]byte(entry), &noted) != nil {
		return 0, 0, false
	}
	number, own := strings.CutPrefix(noted.ID, e.bodies.prefix)
	seq, err := strconv.Atoi(number)
	return seq, noted.Time + back(noted.Time), own && err == nil
}

// joined makes rows of samples, as the steps have them of all deliveries.
func (e *engine) joined(kept []ledger.Kept, seen []int, times map[int]*traced) *sampled {
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
			rows[k.Phase] = &row{arrival: ledger.NewSeries()}
		}
		r := rows[k.Phase]
		r.arrival.Add(k.Arrived - k.Due)
		for i, us := range [...]int64{t.ingest - k.Due, t.relay - t.ingest, k.Arrived - t.relay} {
			r.parts[i] += us
		}
	}
	whole, missing := row{arrival: ledger.NewSeries()}, 0
	out := &sampled{}
	empty := ledger.NewSeries()
	for i, r := range rows {
		if r == nil {
			r = &row{arrival: empty}
		}
		notFound := seen[i] - int(r.arrival.Count)
		out.phases = append(out.phases, report.NewSampled(e.options.Sampled, notFound, &r.arrival, r.parts))
		if !e.options.profile.Phases[i].Measured {
			continue
		}
		whole.arrival.Merge(&r.arrival)
		missing += notFound
		for k, us := range r.parts {
			whole.parts[k] += us
		}
	}
	out.whole = report.NewSampled(e.options.Sampled, missing, &whole.arrival, whole.parts)
	return out
}
