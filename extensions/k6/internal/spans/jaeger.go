package spans

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// jaegerTrace is a trace as Jaeger's page and its interface /api/traces write it. Times are µs.
type jaegerTrace struct {
	Spans     []jaegerSpan
	Processes map[string]struct {
		ServiceName string
		Tags        []jaegerTag
	}
}

type jaegerSpan struct {
	jaegerRef
	OperationName, ProcessID string
	StartTime, Duration      uint64
	References               []struct {
		RefType string
		jaegerRef
	}
	Tags []jaegerTag
}

type jaegerRef struct{ TraceID, SpanID string }

type jaegerTag struct {
	Key   string
	Value any
}

// jaegerMost is the latest plausible time, µs.
const jaegerMost = 1 << 52

// fromJaeger reads a trace.
func fromJaeger(piece []byte) (all Exported, err error) {
	var t jaegerTrace
	if err := json.Unmarshal(piece, &t); err != nil {
		return nil, err
	}
	processes := map[string]*tracepb.ScopeSpans{}
	for name, p := range t.Processes {
		processes[name] = &tracepb.ScopeSpans{}
		attributes := append(textsOf(p.Tags), attribute("service.name", p.ServiceName))
		all = append(all, &tracepb.ResourceSpans{
			Resource: &resourcepb.Resource{Attributes: attributes}, ScopeSpans: []*tracepb.ScopeSpans{processes[name]},
		})
	}
	for _, s := range t.Spans {
		process, known := processes[s.ProcessID]
		if !known {
			return nil, fmt.Errorf("the span %q has no process", s.SpanID)
		}
		span, err := s.span()
		if err != nil {
			return nil, err
		}
		process.Spans = append(process.Spans, span)
	}
	return all, nil
}

func (s *jaegerSpan) span() (*tracepb.Span, error) {
	start := min(s.StartTime, jaegerMost)
	out := &tracepb.Span{
		Name: s.OperationName, StartTimeUnixNano: start * 1000,
		EndTimeUnixNano: (start + min(s.Duration, jaegerMost)) * 1000,
		Attributes:      textsOf(s.Tags),
	}
	var err error
	if out.TraceId, out.SpanId, err = s.ids(); err != nil {
		return nil, err
	}
	for _, r := range s.References {
		in, of, err := r.ids()
		switch {
		case err != nil:
			return nil, err
		case string(in) == string(out.TraceId) && out.ParentSpanId == nil:
			out.ParentSpanId = of
		default:
			out.Links = append(out.Links, &tracepb.Span_Link{TraceId: in, SpanId: of})
		}
	}
	for _, a := range out.Attributes {
		if a.Key == "span.kind" {
			out.Kind = kinds[a.GetValue().GetStringValue()]
		}
	}
	return out, nil
}

// ids returns the ids of a span. Jaeger leaves out leading zeros.
func (r jaegerRef) ids() (in, of []byte, err error) {
	for _, id := range []struct {
		text  string
		bytes int
		to    *[]byte
	}{{r.TraceID, len(trace{}), &in}, {r.SpanID, len(spanID{}), &of}} {
		digits := strings.Repeat("0", max(0, 2*id.bytes-len(id.text))) + id.text
		if *id.to, err = hex.DecodeString(digits); err != nil || len(*id.to) != id.bytes {
			return nil, nil, fmt.Errorf("the id %q is not of up to %d hexadecimal digits", id.text, 2*id.bytes)
		}
	}
	return in, of, nil
}

// textsOf are the tags that are texts. `hostname` is Jaeger's own name of a host.
func textsOf(tags []jaegerTag) (all []*commonpb.KeyValue) {
	for _, t := range tags {
		text, ok := t.Value.(string)
		if !ok {
			continue
		}
		if t.Key == "hostname" {
			t.Key = "host.name"
		}
		all = append(all, attribute(t.Key, text))
	}
	return all
}

func attribute(key, value string) *commonpb.KeyValue {
	is := &commonpb.AnyValue_StringValue{StringValue: value}
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: is}}
}
