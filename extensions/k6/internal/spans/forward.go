package spans

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

const (
	forwardsMost = 64 // exports that wait to be sent on; further ones are not
	forwardMost  = 10 * time.Second
)

// forwarder sends all spans on to the collector that OpenTelemetry's variables name, so that it does not miss what
// comes to the run. nil: there is none.
type forwarder struct {
	client otlptrace.Client
	queue  chan []*tracepb.ResourceSpans
	done   chan struct{}
	fault  func(class, example string)
}

// forward begins to send spans on. own is the run's endpoint, which must not be the collector.
func forward(ctx context.Context, own string, fault func(class, example string)) (*forwarder, error) {
	endpoint := traces.Endpoint()
	if endpoint == "" {
		return nil, nil
	}
	if to, err := url.Parse(endpoint); err == nil && sameListener(to.Host, own) {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT %s is the run's own endpoint (spans.listen): "+
			"unset it for k6, it is for the pipeline", endpoint)
	}
	client, err := traces.Client()
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	f := &forwarder{client: client, queue: make(chan []*tracepb.ResourceSpans, forwardsMost), done: make(chan struct{}),
		fault: fault}
	go func() {
		defer close(f.done)
		for spans := range f.queue {
			sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), forwardMost)
			if err := client.UploadTraces(sending, spans); err != nil {
				fault("not sent on", err.Error())
			}
			cancel()
		}
	}()
	return f, nil
}

func sameListener(a, b string) bool {
	hostA, portA, _ := net.SplitHostPort(a)
	hostB, portB, _ := net.SplitHostPort(b)
	local := func(host string) bool {
		ip := net.ParseIP(host)
		return host == "" || host == "localhost" || ip.IsLoopback() || ip.IsUnspecified()
	}
	return portA == portB && (hostA == hostB || local(hostA) && local(hostB))
}

func (f *forwarder) take(spans []*tracepb.ResourceSpans) {
	if f == nil || len(spans) == 0 {
		return
	}
	select {
	case f.queue <- spans:
	default:
		f.fault("not sent on", "the collector of OTEL_EXPORTER_OTLP_ENDPOINT is slower than the spans come")
	}
}

// close sends what waits, for a while.
func (f *forwarder) close() {
	if f == nil {
		return
	}
	close(f.queue)
	select {
	case <-f.done:
	case <-time.After(forwardMost):
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = f.client.Stop(ctx)
}
