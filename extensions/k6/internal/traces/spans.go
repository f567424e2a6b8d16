package traces

import (
	"path"
	"strconv"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
)

// Message is a message that has a trace.
type Message struct {
	ID         string
	Carrier    string // id of the request's first message, whose context the request carries
	Topic      string
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

// part is the part of a delivery that one span covers. Names, kinds and types follow OpenTelemetry's semantic conventions for
// messaging: a consumer of pushed messages has a `process` span.
type part struct {
	service, operation, system, kind string
	span                             tracepb.Span_SpanKind
	first, last                      ledger.Stage
}

var (
	sending    = part{"arrival-generator", "send", "mqtt", "send", tracepb.Span_SPAN_KIND_PRODUCER, ledger.Schedule, ledger.Ingest}
	delivering = part{"arrival-subscriber", "deliver", "mqtt", "process", tracepb.Span_SPAN_KIND_CONSUMER, ledger.Delivery, ledger.Delivery}
	parts      = []part{
		sending,
		{"arrival-queue", "queue", "redis", "", tracepb.Span_SPAN_KIND_INTERNAL, ledger.Queue, ledger.Queue},
		{"arrival-relay", "relay", "redis", "process", tracepb.Span_SPAN_KIND_CONSUMER, ledger.Relay, ledger.Relay},
		delivering,
	}
)

// Spans are the spans of a run's messages, by service. Each message has its own trace. The first span sends it and begins when
// it was due. Its children are one span for the queue, one for the relay, and one for each subscriber. They link to the context
// that the request carries.
func Spans(run string, messages []Message) []*tracepb.ResourceSpans {
	all := make([]*tracepb.ResourceSpans, len(parts))
	for i, p := range parts {
		all[i] = &tracepb.ResourceSpans{
			Resource:   &resourcepb.Resource{Attributes: []*commonpb.KeyValue{text("service.name", p.service), text("arrival.run", run)}},
			ScopeSpans: []*tracepb.ScopeSpans{{Scope: &commonpb.InstrumentationScope{Name: "arrival"}}},
		}
	}
	for i := range messages {
		m := &messages[i]
		if len(m.Deliveries) == 0 {
			add(all[0], m.span(sending, Delivery{}, m.Due, m.Due))
		}
		for n, d := range m.Deliveries {
			for k, p := range parts {
				if n > 0 && p.operation != delivering.operation {
					continue // all deliveries share the spans before the broker
				}
				if from, to, known := d.between(p); known {
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

// between is when a part began and ended, in µs since the message was due. A message without stamps has two parts: sent, and
// delivered.
func (d Delivery) between(p part) (from, to int64, known bool) {
	n := len(d.Stages)
	unstamped := n <= int(ledger.Request)
	switch first := int(p.first); {
	case p.operation == sending.operation:
		return 0, d.until(min(n, int(p.last)+1)), true
	case p.operation == delivering.operation && unstamped:
		return d.until(n), d.Arrival, true
	case n <= int(p.last):
		return 0, 0, false
	default:
		return d.until(first), d.until(int(p.last) + 1), true
	}
}

// span is the span of one part of a message. It uses only Subscriber and Stages of d, and neither if the message did not arrive.
func (m *Message) span(p part, d Delivery, from, to time.Time) *tracepb.Span {
	own := Of(m.ID)
	destination := path.Dir(m.Topic) + "/{n}"
	s := &tracepb.Span{
		TraceId: own.Trace[:], SpanId: own.Span[:], Name: p.operation + " " + destination, Kind: p.span,
		StartTimeUnixNano: uint64(from.UnixNano()), EndTimeUnixNano: uint64(to.UnixNano()),
		Attributes: []*commonpb.KeyValue{
			text("messaging.system", p.system), text("messaging.operation.name", p.operation), text("messaging.destination.name", m.Topic),
			text("messaging.destination.template", destination), text("messaging.message.id", m.ID), text("arrival.flow", m.Flow),
		},
	}
	if p.kind != "" {
		s.Attributes = append(s.Attributes, text("messaging.operation.type", p.kind))
	}
	if p.operation == sending.operation {
		m.describeSending(s, d)
		return s
	}
	span := Of(m.ID + " " + p.operation)
	if p.operation == delivering.operation {
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
			s.Events = append(s.Events, &tracepb.Span_Event{Name: name, TimeUnixNano: uint64(at(m.Due, d.until(i+1)).UnixNano())})
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
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, value int64) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: value}}}
}
