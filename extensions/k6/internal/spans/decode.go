package spans

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// codec refuses messages with too many objects before it makes them.
type codec struct{ encoding.CodecV2 }

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(proto.Message); ok {
		if err := countable(data.Materialize(), m); err != nil {
			return err
		}
	}
	return c.CodecV2.Unmarshal(data, v)
}

var errObjects = fmt.Errorf("it has more than %d objects", objectsMost)

// countable reports an error for data of a message that has too many objects. What is malformed in other ways is left
// to whoever reads it.
func countable(data []byte, as proto.Message) error {
	n := 0
	if objects(data, as.ProtoReflect().Descriptor(), 0, &n); n > objectsMost {
		return errObjects
	}
	return nil
}

// depthMost is how deep objects are nested at most.
const depthMost = 100

func objects(data []byte, of protoreflect.MessageDescriptor, depth int, n *int) {
	if depth > depthMost {
		*n = objectsMost + 1
	}
	for len(data) > 0 && *n <= objectsMost {
		number, kind, length := protowire.ConsumeTag(data)
		if length < 0 {
			return
		}
		data = data[length:]
		field := of.Fields().ByNumber(number)
		if field != nil && field.Message() != nil && kind == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(data)
			*n++
			objects(inner, field.Message(), depth+1, n)
		}
		if length = protowire.ConsumeFieldValue(number, kind, data); length < 0 {
			return
		}
		data = data[length:]
	}
}

// FromJSON reads OTLP in JSON, whose ids are hexadecimal digits: protojson takes them for base64.
func FromJSON(data []byte, request *collector.ExportTraceServiceRequest) error {
	if bytes.Count(data, []byte("{")) > objectsMost {
		return errObjects
	}
	if err := loose.Unmarshal(data, request); err != nil {
		return err
	}
	return eachID(request.GetResourceSpans(), func(id *[]byte, _ int) error { return fromHex(id) })
}

// eachID visits the ids of all spans, with the length that each should have. An error of a span ends it.
func eachID(all []*tracepb.ResourceSpans, visit func(id *[]byte, bytes int) error) error {
	const long, short = len(trace{}), len(spanID{})
	return eachSpan(all, func(s *tracepb.Span) error {
		err := errors.Join(visit(&s.TraceId, long), visit(&s.SpanId, short), visit(&s.ParentSpanId, short))
		for _, l := range s.GetLinks() {
			if l != nil {
				err = errors.Join(err, visit(&l.TraceId, long), visit(&l.SpanId, short))
			}
		}
		return err
	})
}

func eachSpan(all []*tracepb.ResourceSpans, visit func(*tracepb.Span) error) error {
	for _, of := range all {
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				if s == nil {
					continue
				}
				if err := visit(s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// fromHex replaces an id that protojson has read as base64.
func fromHex(id *[]byte) error {
	digits := base64.StdEncoding.EncodeToString(*id)
	b, err := hex.DecodeString(digits)
	if err != nil {
		return fmt.Errorf("the id %q is not in hexadecimal digits", digits)
	}
	*id = b
	return nil
}
