package traces

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// FileName is the file of traces in a run's directory: OTLP in JSON, in one line.
const FileName = "traces.otlp.json"

// Write writes the traces of a run into its directory.
func Write(dir string, spans []*tracepb.ResourceSpans) error {
	data, ok := proto.Clone(&tracepb.TracesData{ResourceSpans: spans}).(*tracepb.TracesData)
	if !ok {
		return errors.New("traces can't be cloned")
	}
	for _, service := range data.ResourceSpans {
		for _, s := range service.ScopeSpans[0].Spans {
			s.TraceId, s.SpanId, s.ParentSpanId = InHex(s.TraceId), InHex(s.SpanId), InHex(s.ParentSpanId)
			for _, l := range s.Links {
				l.TraceId, l.SpanId = InHex(l.TraceId), InHex(l.SpanId)
			}
		}
	}
	return write(dir, data)
}

// InHex makes protojson write an id as hexadecimal digits, as OTLP wants it. protojson writes bytes in base64, so it
// returns the bytes whose base64 are these digits.
func InHex(id []byte) []byte {
	// no padding: the number of digits is a multiple of 4
	b, _ := base64.StdEncoding.DecodeString(hex.EncodeToString(id))
	return b
}

func write(dir string, data *tracepb.TracesData) error {
	line, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(data)
	if err != nil {
		return fmt.Errorf("the traces can't be written: %w", err)
	}
	return runfile.Replace(filepath.Join(dir, FileName), func(w *bufio.Writer) error {
		_, err := w.Write(append(line, '\n'))
		return err
	})
}

// Join writes the traces of several directories into one.
func Join(dirs []string, out string) error {
	var all tracepb.TracesData
	for _, dir := range dirs {
		line, err := runfile.ReadFile(filepath.Join(dir, FileName))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var one tracepb.TracesData
		if err = cmp.Or(err, protojson.Unmarshal(line, &one)); err != nil {
			return fmt.Errorf("the traces of %s can't be read: %w", dir, err)
		}
		proto.Merge(&all, &one)
	}
	if all.ResourceSpans == nil {
		return nil
	}
	return write(out, &all)
}

const (
	// exportBatch is how many messages go in one request: collectors take some MB.
	exportBatch = 500
	// exportMost is how long a collector may take for all requests.
	exportMost = 10 * time.Second
)

// Export sends the traces of messages to the collector that OpenTelemetry's variables name, like
// OTEL_EXPORTER_OTLP_ENDPOINT. Without one it does nothing.
func Export(ctx context.Context, run string, list stages.List, messages []Message) (err error) {
	if Endpoint() == "" {
		return nil
	}
	client, err := Client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, exportMost)
	defer cancel()
	if err := client.Start(ctx); err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, client.Stop(ctx)) }()
	for some := range slices.Chunk(messages, exportBatch) {
		if err := client.UploadTraces(ctx, Spans(run, list, some)); err != nil {
			return err
		}
	}
	return nil
}

// Endpoint is the collector that OpenTelemetry's variables name; empty: none.
func Endpoint() string { return variable("ENDPOINT") }

// Client exports to Endpoint.
func Client() (otlptrace.Client, error) {
	switch protocol := variable("PROTOCOL"); protocol {
	case "", "http/protobuf":
		return otlptracehttp.NewClient(), nil
	case "grpc":
		return otlptracegrpc.NewClient(), nil
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; allowed: http/protobuf, grpc", protocol)
	}
}

// variable is the value of an OpenTelemetry variable. The one for traces alone takes precedence.
func variable(name string) string {
	return cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), os.Getenv("OTEL_EXPORTER_OTLP_"+name))
}
