package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/segment"
	"github.com/arrival-bench/arrival/extensions/k6/internal/spans"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

// checkSpans checks the option spans.
func (o *Options) checkSpans() (err error) {
	headed := slices.ContainsFunc(sortedKeys(o.Ingest.Headers),
		func(name string) bool { return strings.EqualFold(name, traces.Header) })
	if (o.Traces > 0 || o.Spans != nil) && headed {
		return errors.New("traces (TRACES) and spans (SPANS) give each request its own traceparent, " +
			"so ingest.headers can't have one")
	}
	switch {
	case o.Spans == nil:
		return nil
	case o.Traces > 0:
		return errors.New("traces (TRACES) and spans (SPANS) exclude each other: " +
			"a request has one trace id, and each makes its own")
	case o.Publishers != nil:
		return errors.New("spans (SPANS) joins by the header traceparent of HTTP requests, " +
			"which publishers do not send")
	}
	*o.Spans, o.marks, err = o.Spans.Check()
	return err
}

// spanSource receives the spans of a run. nil: it asks for none.
type spanSource struct {
	*spans.Keeper
	ids      numbering
	mixing   spans.Mixing
	oneIn    int
	receiver *spans.Receiver // nil: not open, or they are joined later
	first    time.Duration   // how long the end of a run waits for the first span of its messages
}

func newSpanSource(e *Engine) *spanSource {
	o := e.options.Spans
	if o == nil {
		return nil
	}
	s := &spanSource{
		ids: numbering{e.parts.ID, e.parts.Bodies, e.segment}, mixing: spans.NewMixing(e.parts.ID),
		oneIn: o.OneIn, first: spansFirst,
	}
	s.Keeper = spans.NewKeeper(s.mixing, s.ids.numberOf)
	e.Ledger.KeepTraced(s.picked, spans.TracedMost)
	return s
}

func (s *spanSource) picked(slot pacer.Slot) (seq int, ok bool) {
	return spans.Picked(slot.FirstSeq, slot.Messages, s.oneIn)
}

// numbering numbers the messages in traces (spans.Number) across all instances: all export to the endpoint of the
// first.
type numbering struct {
	run    string
	bodies *body.Bodies
	part   segment.Segment // this instance's
}

// numberOf is the number of a message of any instance by its id.
func (m numbering) numberOf(id string) (n int, ok bool) {
	if m.part.Alone() {
		return m.bodies.NumberOf(id)
	}
	rest, own := strings.CutPrefix(id, m.run+".")
	of, number, whole := strings.Cut(rest, ".")
	generator, err := strconv.Atoi(of)
	in, wrong := strconv.Atoi(number)
	if !own || !whole || err != nil || wrong != nil || generator < 1 || generator > m.part.Of() ||
		in < 0 || in >= spans.OfGenerator {
		return 0, false
	}
	return spans.Number(generator, in), true
}

// idOf is the inverse of numberOf.
func (m numbering) idOf(n int) string {
	generator, in := spans.Owner(n)
	if generator == m.part.Number() {
		return m.bodies.ID(in)
	}
	return fmt.Sprintf("%s.%d.%d", m.run, generator, in)
}

// inTraces is the number of a message of this instance by its number in the ledger.
func (m numbering) inTraces(seq int, slot pacer.Slot) int {
	return spans.Number(m.part.Number(), slot.FirstID+seq-slot.FirstSeq)
}

// open opens the endpoint. Of several instances the first one has it: a pipeline exports to one.
func (s *spanSource) open(ctx context.Context, e *Engine) (err error) {
	if s == nil || e.options.Spans.Listen == "" || e.segment.Number() > 1 {
		return nil
	}
	s.receiver, err = spans.Listen(ctx, e.options.Spans.Listen, s.Keeper,
		func(class, example string) { e.notes.Count("spans", class, example) })
	return err
}

func (s *spanSource) close() {
	if s != nil && s.receiver != nil {
		s.receiver.Close()
	}
}

const (
	// spansQuiet is how long no span may come at the end of a run, at least: SDKs export every 5 s by default. A
	// collector before them may gather spans for longer, which shows once it has exported.
	spansQuiet = 6 * time.Second
	spansFirst = 30 * time.Second
	spansMost  = 45 * time.Second
	spansLook  = 200 * time.Millisecond
)

// collectSpans waits for the spans of the last messages, describes all, and writes what joins further ones.
func (e *Engine) collectSpans(ctx context.Context) {
	if e.spans == nil {
		return
	}
	s := e.spans
	kept, seen := e.Ledger.Traced()
	kept = slices.DeleteFunc(kept, func(k ledger.Kept) bool { return !e.options.profile.Phases[k.Phase].Measured })
	for i := range kept {
		kept[i].Seq = s.ids.inTraces(kept[i].Seq, e.Ledger.SlotOf(kept[i].Seq))
	}
	if seen > spans.TracedMost {
		e.notes.Count("spans", "not kept", fmt.Sprintf("a run keeps the newest %d of %d deliveries of sampled messages",
			spans.TracedMost, seen))
	}
	address := ""
	if s.receiver != nil {
		address = s.receiver.Address()
		s.await(ctx, func() bool { return e.segment.Alone() && s.Complete(kept, e.options.marks) })
		s.close()
		if got := s.Received(); got.Own+got.Linked == 0 && len(kept) > 0 {
			e.notes.Count("spans", "none came", noneCame(got, address, s.first))
		}
	}
	traced := e.tracedDeliveries(kept)
	described := s.Describe(traced.Sampling(address, e.options.marks))
	e.notes.note(func() { e.notes.spans = described })
	dir := e.dir.path()
	if err := cmp.Or(traced.Write(dir), s.Write(dir, s.ids.idOf)); err != nil {
		e.notes.Count("spans", "not written", err.Error())
	}
}

// noneCame says why no span of a message of the run came.
func noneCame(got runfile.SpansReceived, address string, within time.Duration) string {
	switch {
	case got.Spans == 0 && got.Refused > 0:
		return fmt.Sprintf("no span came to %s: all %d requests were refused", address, got.Refused)
	case got.Spans > 0 && got.Malformed == got.Spans:
		return fmt.Sprintf("%d spans came to %s, all without ids or with times that can't be: "+
			"ids have 16 and 8 bytes, times are ns since 1970", got.Spans, address)
	}
	return fmt.Sprintf("%d spans came to %s and none of a message of this run, until %s after the last message: "+
		"the pipeline needs OTEL_EXPORTER_OTLP_ENDPOINT=http://%s, has to take up traceparent, "+
		"and it, or a collector before the run, has to export more often than that",
		got.Spans, address, within, address)
}

// await waits until the spans are complete, or no more come.
func (s *spanSource) await(ctx context.Context, complete func() bool) {
	began, moved, last := time.Now(), time.Now(), s.Received().Spans
	for !complete() && time.Since(moved) < s.patience() && time.Since(began) < spansMost {
		select {
		case <-time.After(spansLook):
		case <-ctx.Done():
			return
		}
		if n := s.Received().Spans; n != last {
			last, moved = n, time.Now()
		}
	}
}

// patience is how long no span may come: longer than the pipeline has taken between two exports.
func (s *spanSource) patience() time.Duration {
	if got := s.Received(); got.Own+got.Linked == 0 {
		return s.first
	}
	between := s.Between()
	return max(spansQuiet, between+between/4)
}

func (e *Engine) tracedDeliveries(kept []ledger.Kept) *spans.Traced {
	host, _ := os.Hostname()
	itself := spans.Generator{Number: e.segment.Number(), Prefix: e.parts.Bodies.Begin(), Host: host}
	t := &spans.Traced{
		Asked: spans.Asked{Run: e.parts.ID, OneIn: e.spans.oneIn, OneHost: e.options.loopback(),
			Marks: e.options.Spans.Marks},
		Kept: kept, IDs: make(map[int]string, len(kept)),
	}
	own := e.Clock.Read()
	var processes []runfile.ProcessClock
	if own.Rounds > 0 { // otherwise the generator's own offset is not known
		itself.RedisMS, itself.BoundMS = new(own.Offset/1000), own.Bound/1000
		e.notes.note(func() { processes = e.notes.processes })
	}
	t.Generators = []spans.Generator{itself}
	for _, p := range processes {
		t.Clocks = append(t.Clocks, spans.Clock{
			Instance: p.Process, OffsetMS: own.Offset/1000 - p.OffsetMS, BoundMS: own.Bound/1000 + p.BoundMS,
		})
	}
	for i, p := range e.options.profile.Phases {
		if p.Measured {
			t.All += e.Ledger.Times(i).Arrival.Count
		}
	}
	for _, k := range kept {
		t.IDs[k.Seq] = e.spans.ids.idOf(k.Seq)
	}
	return t
}
