package spans

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Files come from anywhere: none ends the program.
func FuzzExported(f *testing.F) {
	for _, s := range []string{
		`null`, `{"resourceSpans":[null]}`, `{"data":[null]}`, `{"data":[{"spans":[null],"processes":{"p":null}}]}`,
		`{"resourceSpans":[{"scopeSpans":[null,{"spans":[null,{"links":[null]}]}]}]}`,
		`{"data":[{"traceID":"1","spans":[{"traceID":"1","spanID":"2","operationName":"x","startTime":1,"duration":2,"processID":"p",
		"references":[{"refType":"CHILD_OF","traceID":"1","spanID":"3"},null],"tags":[{"key":"span.kind","value":"server"},null]}],
		"processes":{"p":{"serviceName":"a","tags":[]}}}]}`,
		`{"trace":{"batches":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a"}},null]},
		"scopeSpans":[{"spans":[{"traceId":"AAAAAAAAAADW6TKdZ7YUaw==","spanId":"AAAAAAAAEjQ="}]}]}]}}`,
	} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "file")
	f.Fuzz(func(t *testing.T, data []byte) {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		k := NewKeeper(NewMixing("x"), func(string) (int, bool) { return 0, false })
		_ = ReadExported(path, func(all Exported) { k.Take(all) })
		Suggest(k.OtherTrees())
	})
}

// Exports come from anybody, and may name any number of a message.
func FuzzExport(f *testing.F) {
	mixing := NewMixing("x")
	request := func(own trace) []byte {
		s := &tracepb.Span{
			TraceId: own[:], SpanId: make([]byte, 8), StartTimeUnixNano: earliest, EndTimeUnixNano: latest,
			Links: []*tracepb.Span_Link{nil, {TraceId: own[:]}},
		}
		data, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{
			{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{s}}}}}})
		require.NoError(f, err)
		return data
	}
	for _, n := range []int{0, 5, 1<<54 - 1, -1, 1 << 40} {
		f.Add(request(mixing.TraceOf(n)))
	}
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"1"}]}]}]}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		k := NewKeeper(mixing, func(string) (int, bool) { return 0, false })
		fromProto, fromJSON := &collector.ExportTraceServiceRequest{}, &collector.ExportTraceServiceRequest{}
		if countable(data, fromProto) == nil && proto.Unmarshal(data, fromProto) == nil {
			k.Take(fromProto.GetResourceSpans())
		}
		if FromJSON(data, fromJSON) == nil {
			k.Take(fromJSON.GetResourceSpans())
		}
		Suggest(k.OtherTrees())
	})
}
