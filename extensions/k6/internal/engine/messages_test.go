package engine

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

// Regression: the report had the slowest latency and the number of lost messages, but no ids.
func TestTheReportNamesTheSlowestAndTheLostMessages(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{
		Hops: stamps,
		Swap: func(nth int) bool { return nth == 5 }, // delivered after the next message, four seconds later
		Copies: func(nth int) int {
			if nth > 8 && nth <= 11 {
				return 0
			}
			return 1
		},
	}
	s := newScript(t, f, "phases: [{name: hold, duration: 1, arrivalRate: 5}, {pause: 4}, {name: after, duration: 1, arrivalRate: 7}]\nflows: [{name: direct, targets: 1}]",
		fmt.Sprintf("maxSenders: 1, idle: '1s', traces: 1, redis: { url: %q }", test.Redis(t)))
	// One sender keeps the messages in order, however late.
	r := s.runWith(1, func(ctx context.Context, e *Engine) {
		for vu := NewSender(e, s.state); vu.Send(ctx); {
		}
	})
	require.NotNil(t, r.Messages)
	require.Len(t, r.Messages.Slowest, 9)
	// Usually the first; on a busy machine the last ones may be even later, but by the stage schedule.
	held := slices.IndexFunc(r.Messages.Slowest, func(s runfile.Slow) bool { return s.ID == r.Run.ID+".1.4" })
	require.GreaterOrEqual(t, held, 0)
	slow := r.Messages.Slowest[held]
	assert.Equal(t, []string{"hold", "direct"}, []string{slow.Phase, slow.Flow})
	assert.GreaterOrEqual(t, slow.StagesMS["delivery"], 300.0, "the stage that delayed it")
	sum := 0.0
	for _, ms := range slow.StagesMS {
		sum += ms
	}
	assert.InDelta(t, slow.ArrivalMS, sum, 0.001)
	for i, s := range r.Messages.Slowest[1:] {
		assert.LessOrEqual(t, s.ArrivalMS, r.Messages.Slowest[i].ArrivalMS)
	}
	var lost []string
	for _, n := range r.Messages.Named {
		if n.End == "lost" { // others may be negative: their last stamp is 90 µs in the future
			assert.Equal(t, 0, *n.Delivered)
			lost = append(lost, n.ID[strings.LastIndex(n.ID, "."):])
		}
	}
	assert.Equal(t, []string{".8", ".9", ".10"}, lost)
	assert.Nil(t, r.Tail, "nine deliveries have no slowest 1 %")

	assert.Empty(t, r.Errors)
	all := tracesIn(t, s.dir)
	for _, d := range r.Messages.Slowest {
		own := all[d.Trace]
		assertSpans(t, d, own)
		for _, delivery := range f.Log() {
			if delivery.ID == d.ID {
				assert.Equal(t, "00-"+d.Trace+"-"+base64.StdEncoding.EncodeToString(own[0].SpanId)+"-01",
					delivery.Parent)
			}
		}
	}
	for _, n := range r.Messages.Named {
		if n.End == "lost" {
			require.Len(t, all[n.Trace], 1)
			assert.Equal(t, "lost", all[n.Trace][0].Status.Message)
		}
	}
	assert.Len(t, all, 12)
}

// Regression: they had the flow and the target of the message with this number in a run whose flows take turns.
func TestMessagesOfChosenFlowsHaveTheirOwnNames(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{}
	s := newScript(t, f,
		"phases: [{duration: 60, vus: 1, requests: 4}]\nflows: [{name: often}, {name: seldom, target: pair, messages: 3}]",
		"traces: 1")
	sent := map[string]struct{ Target, First string }{}
	r := s.scripted(f, "seldom", 4, func(h *Handle) {
		for i, id := range h.IDs {
			sent[id] = struct{ Target, First string }{h.Targets[i], h.IDs[0]}
		}
	})
	require.Len(t, r.Messages.Slowest, 12)
	all := tracesIn(t, s.dir)
	for _, d := range r.Messages.Slowest {
		assert.Equal(t, []string{"seldom", sent[d.ID].Target}, []string{d.Flow, d.Target}, d.ID)
		links := all[d.Trace][0].Links
		if first := sent[d.ID].First; first != d.ID && assert.Len(t, links, 1, d.ID) {
			own := traces.Of(first)
			assert.Equal(t, own.TraceID(), base64.StdEncoding.EncodeToString(links[0].TraceId), d.ID)
		}
	}
}

// tracesIn reads the spans of each trace of a run, in the order of the stages. Ids are hexadecimal,
// which protojson decodes as base64.
func tracesIn(t *testing.T, dir string) map[string][]*tracepb.Span {
	t.Helper()
	line, err := os.ReadFile(filepath.Join(dir, traces.FileName))
	require.NoError(t, err)
	var data tracepb.TracesData
	require.NoError(t, protojson.Unmarshal(line, &data))
	all := map[string][]*tracepb.Span{}
	for _, service := range data.ResourceSpans {
		for _, s := range service.ScopeSpans[0].Spans {
			id := base64.StdEncoding.EncodeToString(s.TraceId)
			all[id] = append(all[id], s)
		}
	}
	return all
}

// assertSpans compares the spans of a delivery with its stages, in whole µs.
func assertSpans(t *testing.T, d runfile.Slow, spans []*tracepb.Span) {
	t.Helper()
	require.Len(t, spans, 4, d.ID)
	due, err := time.Parse(microFormat, d.Due)
	require.NoError(t, err)
	at := due.UnixMicro()
	for i, stages := range [][]string{{"schedule", "request", "ingest"}, {"queue"}, {"relay"}, {"delivery"}} {
		s, began := spans[i], at
		for _, stage := range stages {
			at += int64(math.Round(d.StagesMS[stage] * 1000))
		}
		assert.Equal(t, []int64{began, max(began, at)},
			[]int64{int64(s.StartTimeUnixNano) / 1000, int64(s.EndTimeUnixNano) / 1000}, s.Name)
		if i > 0 {
			assert.Equal(t, spans[0].SpanId, s.ParentSpanId)
		}
	}
	assert.Equal(t, at-due.UnixMicro(), int64(math.Round(d.ArrivalMS*1000)))
}
