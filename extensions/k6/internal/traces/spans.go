package traces

import (
	"path"
	"slices"
	"strconv"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// Message is a message that has a trace.
type Message struct {
	ID         string
	Carrier    string // id of the request's first message, whose context the request carries
	Topic      string // empty: unknown
	Flow       string
	Phase      string // empty: unknown
	Due        time.Time
	End        string // its name in the account; empty: the message arrived
	Deliveries []Delivery
}

// Delivery is a delivery of a message. Times are µs.
type Delivery struct {
	Subscriber int // from 1
	Arrival    int64
	Stages     []int64 // the known ones, from the first on
}

// part is the part of a delivery that one span covers. Names, kinds and types follow OpenTelemetry's semantic
// conventions for messaging: a consumer of pushed messages has a `process` span.
type part struct {
	service, operation, system, kind string
	span                             tracepb.Span_SpanKind
	first, last                      int // stages
}

const (
	sending    = "send"
	delivering = "deliver"
)

// between are the parts of stages between sending and delivering, by the stage's name. Others are internal spans.
var between = map[string]part{
	"queue": {system: "redis", span: tracepb.Span_SPAN_KIND_INTERNAL},
	"relay": {system: "redis", kind: "process", span: tracepb.Span_SPAN_KIND_CONSUMER},
}

// partsOf are the parts of a delivery with these stages. The ingest's own stage is the end of sending.
func partsOf(list stages.List) []part {
	last := len(list) - 1
	sent := min(1, last-1)
	if last > 2 && list[2].Name == "ingest" {
		sent = 2
	}
	all := []part{{"arrival-generator", sending, "mqtt", "send", tracepb.Span_SPAN_KIND_PRODUCER, 0, sent}}
	for i := sent + 1; i < last; i++ {
		name := list[i].Name
		p, known := between[name]
		if !known {
			p = part{system: "mqtt", span: tracepb.Span_SPAN_KIND_INTERNAL}
		}
		p.service, p.operation, p.first, p.last = "arrival-"+name, name, i, i
		all = append(all, p)
	}
	return append(all, part{"arrival-subscriber", delivering, "mqtt", "process", tracepb.Span_SPAN_KIND_CONSUMER,
		last, last})
}

// Spans are the spans of a run's messages, by service. Each message has its own trace. The first span sends it and
// begins when it was due. Its children are one span for the queue, one for the relay, and one for each subscriber. They
// link to the context that the request carries.
func Spans(run string, list stages.List, messages []Message) []*tracepb.ResourceSpans {
	parts := partsOf(list)
	all := make([]*tracepb.ResourceSpans, len(parts))
	for i, p := range parts {
		all[i] = &tracepb.ResourceSpans{
			Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
				text("service.name", p.service), text("arrival.run", run),
			}},
			ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: "arrival"}}},
		}
	}
	for i := range messages {
		m := &messages[i]
		if len(m.Deliveries) == 0 {
			add(all[0], m.span(parts[0], Delivery{}, m.Due, m.Due))
		}
		for n, d := range m.Deliveries {
			for k, p := range parts {
				if n > 0 && p.operation != delivering {
					continue // all deliveries share the spans before the broker
				}
				if from, to, known := d.within(p); known {
					add(all[k], m.span(p, d, at(m.Due, from), at(m.Due, max(from, to))))
				}
			}
		}
	}
	return all
}

func add(to *tracepb.ResourceSpans, s *tracepb.Span) {
	to.ScopeSpans[0].Spans = append(to.ScopeSpans[0].Spans, s)
}

func at(due time.Time, us int64) time.Time { return due.Add(time.Duration(us) * time.Microsecond) }

// until is the time from due to the end of a delivery's first n stages.
func (d Delivery) until(stages int) (us int64) {
	for _, stage := range d.Stages[:stages] {
		us += stage
	}
	return us
}

// within is when a part began and ended, in µs since the message was due. A message without stamps has two parts: sent,
// and delivered.
func (d Delivery) within(p part) (from, to int64, known bool) {
	n := len(d.Stages)
	unstamped := n <= 1
	switch {
	case p.operation == sending:
		return 0, d.until(min(n, p.last+1)), true
	case p.operation == delivering && unstamped:
		return d.until(n), d.Arrival, true
	case n <= p.last:
		return 0, 0, false
	default:
		return d.until(p.first), d.until(p.last + 1), true
	}
}

// span is the span of one part of a message. It uses only Subscriber and Stages of d, and neither if the message did
// not arrive.
func (m *Message) span(p part, d Delivery, from, to time.Time) *tracepb.Span {
	own := Of(m.ID)
	s := &tracepb.Span{
		TraceId: own.Trace[:], SpanId: own.Span[:], Name: p.operation, Kind: p.span,
		StartTimeUnixNano: uint64(from.UnixNano()), EndTimeUnixNano: uint64(to.UnixNano()),
		Attributes: []*commonpb.KeyValue{
			text("messaging.system", p.system), text("messaging.operation.name", p.operation),
			text("messaging.message.id", m.ID), text("arrival.flow", m.Flow),
		},
	}
	if m.Topic != "" {
		destination := path.Dir(m.Topic) + "/{n}"
		s.Name += " " + destination
		s.Attributes = slices.Insert(s.Attributes, 2, text("messaging.destination.name", m.Topic),
			text("messaging.destination.template", destination))
	}
	if p.kind != "" {
		s.Attributes = append(s.Attributes, text("messaging.operation.type", p.kind))
	}
	if p.operation == sending {
		m.describeSending(s, d)
		return s
	}
	span := Of(m.ID + " " + p.operation)
	if p.operation == delivering {
		span = Of(m.ID + " " + p.operation + " " + strconv.Itoa(d.Subscriber))
		s.Attributes = append(s.Attributes, number("arrival.subscriber", int64(d.Subscriber)))
	}
	s.SpanId, s.ParentSpanId = span.Span[:], own.Span[:]
	if p.span == tracepb.Span_SPAN_KIND_CONSUMER {
		s.Links = []*tracepb.Span_Link{{TraceId: own.Trace[:], SpanId: own.Span[:]}}
	}
	return s
}

// describeSending adds the attributes of a trace's first span.
func (m *Message) describeSending(s *tracepb.Span, d Delivery) {
	if m.Phase != "" {
		s.Attributes = append(s.Attributes, text("arrival.phase", m.Phase))
	}
	for i, name := range []string{"sent", "received"} {
		if i < len(d.Stages) {
			ended := uint64(at(m.Due, d.until(i+1)).UnixNano())
			s.Events = append(s.Events, &tracepb.Span_Event{Name: name, TimeUnixNano: ended})
		}
	}
	if m.End != "" {
		s.Attributes = append(s.Attributes, text("error.type", m.End))
		s.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: m.End}
	}
	if m.Carrier != m.ID {
		of := Of(m.Carrier)
		s.Links = []*tracepb.Span_Link{{TraceId: of.Trace[:], SpanId: of.Span[:]}}
	}
}

func text(key, value string) *commonpb.KeyValue {
	is := &commonpb.AnyValue_StringValue{StringValue: value}
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: is}}
}

func number(key string, value int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
}
