package traces

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

var due = time.Date(2026, 11, 24, 12, 0, 0, 123_456_000, time.UTC)

// message returns a message of a batch that reached two subscribers. Its stages double from 1 µs.
func message() Message {
	first := Delivery{Subscriber: 1, Arrival: 63, Stages: []int64{1, 2, 4, 8, 16, 32}}
	second := Delivery{Subscriber: 2, Arrival: 95, Stages: []int64{1, 2, 4, 8, 16, 64}}
	return Message{ID: "r.1.7", Carrier: "r.1.5", Topic: "messages/user/3", Flow: "batch", Phase: "hold", Due: due,
		Deliveries: []Delivery{first, second}}
}

// timesOf returns "name start-end" of each span, in µs since due.
func timesOf(spans []*tracepb.ResourceSpans) (all []string) {
	for _, service := range spans {
		for _, s := range service.ScopeSpans[0].Spans {
			name, _, _ := strings.Cut(s.Name, " ")
			since := func(ns uint64) int64 { return (int64(ns) - due.UnixNano()) / 1000 }
			all = append(all, fmt.Sprintf("%s %d-%d", name, since(s.StartTimeUnixNano), since(s.EndTimeUnixNano)))
		}
	}
	return all
}

func TestTheTraceContextFollowsFromTheID(t *testing.T) {
	t.Parallel()
	// printf r.1.7 | sha256sum
	const parent = "00-0cc9d9e607a30b070c37981c5f85eccd-1c0f3ace435ea56d-01"
	assert.Equal(t, parent, string(Of("r.1.7").AppendParent(nil, true)))
	assert.NotEqual(t, Of("r.1.7").Trace, Of("r.1.8").Trace)
}

func TestTheSpansOfAMessageAreItsStages(t *testing.T) {
	t.Parallel()
	spans := Spans("r", stages.Default(), []Message{message()})
	assert.Equal(t, []string{"send 0-7", "queue 7-15", "relay 15-31", "deliver 31-63", "deliver 31-95"}, timesOf(spans))
	send := spans[0].ScopeSpans[0].Spans[0]
	assert.Empty(t, send.ParentSpanId)
	first := Of("r.1.5")
	require.Len(t, send.Links, 1, "the request carries the context of the batch's first message")
	assert.Equal(t, [][]byte{first.Trace[:], first.Span[:]}, [][]byte{send.Links[0].TraceId, send.Links[0].SpanId})
	ids := map[string]bool{}
	for _, service := range spans {
		for _, s := range service.ScopeSpans[0].Spans {
			ids[string(s.SpanId)] = true
			assert.Equal(t, send.TraceId, s.TraceId)
			if s != send {
				assert.Equal(t, send.SpanId, s.ParentSpanId, s.Name)
			}
		}
	}
	assert.Len(t, ids, 5)
}

func TestSpansOfIncompleteMessages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		d    []Delivery
		want []string
	}{
		"not arrived":         {nil, []string{"send 0-0"}},
		"no stamps":           {[]Delivery{{1, 50, []int64{5}}}, []string{"send 0-5", "deliver 5-50"}},
		"no send time":        {[]Delivery{{1, 50, nil}}, []string{"send 0-0", "deliver 0-50"}},
		"read from the queue": {[]Delivery{{1, 15, []int64{1, 2, 4, 8}}}, []string{"send 0-7", "queue 7-15"}},
		"clocks that disagree": {[]Delivery{{1, 14, []int64{1, 2, 4, 8, 1, -2}}},
			[]string{"send 0-7", "queue 7-15", "relay 15-16", "deliver 16-16"}},
	} {
		m := message()
		m.Deliveries, m.Carrier = c.d, m.ID
		assert.Equal(t, c.want, timesOf(Spans("r", stages.Default(), []Message{m})), name)
	}
	lost := Spans("r", stages.Default(), []Message{{ID: "a", Carrier: "a", Topic: "m/u/1", End: "lost",
		Due: due}})[0].ScopeSpans[0].Spans[0]
	assert.Equal(t, tracepb.Status_STATUS_CODE_ERROR, lost.Status.Code)
	assert.Equal(t, "lost", lost.Status.Message)
	assert.Empty(t, lost.Links)
}

func TestTheFileHasHexIDsAndTheSpansOfAllParts(t *testing.T) {
	t.Parallel()
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	out := t.TempDir()
	require.NoError(t, Join(dirs, out))
	require.NoFileExists(t, filepath.Join(out, FileName))
	require.NoError(t, Write(dirs[0], Spans("r", stages.Default(), []Message{message()})))
	require.NoError(t, Write(dirs[2], Spans("r", stages.Default(), []Message{message()})))
	require.NoError(t, Join(dirs, out))
	for dir, services := range map[string]int{dirs[0]: 4, out: 8} {
		line, err := os.ReadFile(filepath.Join(dir, FileName))
		require.NoError(t, err)
		assert.Equal(t, 1, strings.Count(string(line), "\n"))
		var data tracepb.TracesData
		require.NoError(t, protojson.Unmarshal(line, &data))
		require.Len(t, data.ResourceSpans, services)
		id := data.ResourceSpans[0].ScopeSpans[0].Spans[0].TraceId // protojson reads bytes as base64, OTLP writes hex
		assert.Equal(t, Of("r.1.7").TraceID(), base64.StdEncoding.EncodeToString(id))
		assert.Contains(t, string(line), `"`+Of("r.1.5").TraceID()+`"`)
	}
}

func TestACollectorGetsTheTraces(t *testing.T) {
	var got collector.ExportTraceServiceRequest
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		assert.NoError(t, proto.Unmarshal(body, &got))
		assert.Equal(t, "/v1/traces", r.URL.Path)
		w.WriteHeader(status)
	}))
	defer server.Close()
	export := func() error { return Export(t.Context(), "r", stages.Default(), []Message{message()}) }
	require.NoError(t, export())
	require.Empty(t, got.ResourceSpans, "no endpoint is set")

	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	require.NoError(t, export())
	assert.Len(t, timesOf(got.ResourceSpans), 5)
	status = http.StatusBadRequest
	require.ErrorContains(t, export(), "400")
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
	require.ErrorContains(t, export(), "grpc")
}
