package arrival

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/spans"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

// checkSpans checks the option spans.
func (o *options) checkSpans() (err error) {
	headed := slices.ContainsFunc(sortedKeys(o.Ingest.Headers), func(name string) bool { return strings.EqualFold(name, traces.Header) })
	if (o.Traces > 0 || o.Spans != nil) && headed {
		return errors.New("traces (TRACES) and spans (SPANS) give each request its own traceparent, so ingest.headers can't have one")
	}
	switch {
	case o.Spans == nil:
		return nil
	case o.Traces > 0:
		return errors.New("traces (TRACES) and spans (SPANS) exclude each other: a request has one trace id, and each makes its own")
	case o.Publishers != nil:
		return errors.New("spans (SPANS) joins by the header traceparent of HTTP requests, which publishers do not send")
	}
	*o.Spans, o.marks, err = o.Spans.Check()
	return err
}

// spansKept bounds the deliveries of sampled messages, of which the newest are kept.
const spansKept = 200_000

// spanSource is the run's endpoint for spans. nil: the run has none.
type spanSource struct {
	*spans.Keeper
	mixing   spans.Mixing
	oneIn    int
	receiver *spans.Receiver // nil: not open
}

func newSpanSource(e *engine) *spanSource {
	o := e.options.Spans
	if o == nil {
		return nil
	}
	s := &spanSource{mixing: spans.NewMixing(e.ID), oneIn: o.OneIn}
	s.Keeper = spans.NewKeeper(s.mixing, e.Bodies.NumberOf)
	e.Ledger.KeepTraced(s.picked, spansKept)
	return s
}

func (s *spanSource) picked(slot pacer.Slot) (int, bool) {
	return spans.Picked(slot.FirstSeq, slot.Messages, s.oneIn)
}

// traced reports whether requests carry a traceparent.
func (e *engine) traced() bool { return e.options.Traces > 0 || e.spans != nil }

// appendParent adds the value of a request's traceparent.
func (e *engine) appendParent(b []byte, slot pacer.Slot) []byte {
	context, sampled := traces.Of(e.Bodies.ID(slot.FirstID)), true
	if e.spans != nil {
		var n int
		n, sampled = e.spans.picked(slot)
		context.Trace = e.spans.mixing.TraceOf(n)
	}
	return context.AppendParent(b, sampled)
}

// open opens the endpoint.
func (s *spanSource) open(ctx context.Context, e *engine) (err error) {
	if s == nil {
		return nil
	}
	s.receiver, err = spans.Listen(ctx, e.options.Spans.Listen, s.Keeper, func(class, example string) { e.count("spans", class, example) })
	return err
}

func (s *spanSource) close() {
	if s != nil && s.receiver != nil {
		s.receiver.Close()
	}
}

const (
	// spansQuiet is how long no span may come at the end of a run: SDKs export every 5 s by default.
	spansQuiet = 6 * time.Second
	spansMost  = 30 * time.Second
	spansLook  = 200 * time.Millisecond
)

// collectSpans waits for the spans of the last messages, and describes all.
func (e *engine) collectSpans(ctx context.Context) {
	if e.spans == nil {
		return
	}
	s := e.spans
	kept, seen := e.Ledger.Traced()
	kept = slices.DeleteFunc(kept, func(k ledger.Kept) bool { return !e.options.profile.Phases[k.Phase].Measured })
	began, moved, last := time.Now(), time.Now(), s.Received().Spans
	for !s.Complete(kept, e.options.marks) && time.Since(moved) < spansQuiet && time.Since(began) < spansMost {
		if !clock.SleepUntil(ctx, nil, time.Now().Add(spansLook)) {
			break
		}
		if n := s.Received().Spans; n != last {
			last, moved = n, time.Now()
		}
	}
	address := s.receiver.Address()
	s.close()
	if seen > spansKept {
		e.count("spans", "not kept", fmt.Sprintf("a run keeps the newest %d of %d deliveries of sampled messages", spansKept, seen))
	}
	if got := s.Received(); got.Own+got.Linked == 0 && len(kept) > 0 {
		e.count("spans", "none came", fmt.Sprintf("%d spans came to %s and none of a message of this run: the pipeline needs "+
			"OTEL_EXPORTER_OTLP_ENDPOINT=http://%s, and has to take up traceparent", got.Spans, address, address))
	}
	name, _ := os.Hostname()
	all := int64(0)
	for i, p := range e.options.profile.Phases {
		if p.Measured {
			all += e.Ledger.Times(i).Arrival.Count
		}
	}
	described := s.Describe(spans.Sampling{
		OneIn: s.oneIn, Listen: address, Table: e.options.marks, Kept: kept, All: all,
		ID: func(n int) string { id, _, _ := e.nameOf(n); return id },
		Same: func(host string, named bool) bool {
			if named {
				return host == name
			}
			return e.options.loopback()
		},
	})
	e.note(func() { e.lists.spans = described })
}
