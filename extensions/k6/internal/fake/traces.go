package fake

import (
	"context"
	"fmt"
	"net"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Traces are the spans that two processes send to the run, by OpenTelemetry's SDK: an api that takes a request and
// queues its message, and a worker that takes it from there and publishes it, at the moments of the stamps.
type Traces struct {
	Delays      StageDelays
	API, Worker Host

	address   string
	providers [2]*sdk.TracerProvider
}

// Host is where a process runs.
type Host struct {
	Name  string
	Ahead time.Duration // its clock, of the generator's
}

// exportEvery is far below what a run waits for its last spans.
const exportEvery = 100 * time.Millisecond

// Address is a free port, for the run's endpoint.
func (t *Traces) Address() string { return t.address }

func (t *Traces) start() error {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("there is no free port for spans: %w", err)
	}
	t.address = free.Addr().String()
	_ = free.Close()
	for i, host := range []Host{t.API, t.Worker} {
		exporter, err := otlptracehttp.New(context.Background(), otlptracehttp.WithEndpoint(t.address),
			otlptracehttp.WithInsecure())
		if err != nil {
			return err
		}
		service := []string{"api", "worker"}[i]
		t.providers[i] = sdk.NewTracerProvider(
			sdk.WithSampler(sdk.ParentBased(sdk.NeverSample())),
			sdk.WithBatcher(exporter, sdk.WithBatchTimeout(exportEvery)),
			sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", service),
				attribute.String("host.name", host.Name))),
		)
	}
	return nil
}

// message makes the spans of a message that was accepted at this moment.
func (t *Traces) message(parent string, at time.Time) {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": parent})
	begun := at.Add(t.Delays.Request)
	for i, host := range []Host{t.API, t.Worker} {
		tracer := t.providers[i].Tracer("fake")
		kind, within := trace.SpanKindServer, t.Delays.Ingest
		if i == 1 {
			begun = begun.Add(t.Delays.Ingest + t.Delays.Queue)
			kind, within = trace.SpanKindConsumer, t.Delays.Relay
		}
		from, to := begun.Add(host.Ahead), begun.Add(host.Ahead+within)
		upper, outer := tracer.Start(ctx, kind.String(), trace.WithSpanKind(kind), trace.WithTimestamp(from))
		var inner trace.Span
		ctx, inner = tracer.Start(upper, "send", trace.WithSpanKind(trace.SpanKindProducer), trace.WithTimestamp(to))
		for _, span := range []trace.Span{inner, outer} {
			span.End(trace.WithTimestamp(to))
		}
	}
}

func (t *Traces) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // the run may be gone
	defer cancel()
	for _, p := range t.providers {
		_ = p.Shutdown(ctx)
	}
}
