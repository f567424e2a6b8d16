package arrival

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// sender posts requests for one VU, over one connection of its own. It takes 16 µs of CPU a request where k6/http takes 72.
type sender struct {
	engine  *engine
	client  *fasthttp.HostClient
	request *fasthttp.Request
	answer  *fasthttp.Response
	urls    [2]string // of one message, of a batch
	body    []byte
}

func newSender(e *engine, state *lib.State) *sender {
	o := e.options.Ingest
	s := &sender{
		engine:  e,
		request: &fasthttp.Request{},
		answer:  &fasthttp.Response{},
		urls:    [2]string{strings.TrimSuffix(o.URL, "/") + o.Path, strings.TrimSuffix(o.URL, "/") + o.BatchPath},
	}
	s.request.Header.SetMethod(fasthttp.MethodPost)
	s.request.Header.SetContentType("application/json")
	if o.Token != "" {
		s.request.Header.Set("Authorization", "Bearer "+o.Token)
	}
	s.request.SetRequestURI(s.urls[0])
	uri := s.request.URI()
	secure := string(uri.Scheme()) == "https"
	s.client = &fasthttp.HostClient{
		Addr:      fasthttp.AddMissingPort(string(uri.Host()), secure),
		Name:      "k6 arrival",
		IsTLS:     secure,
		TLSConfig: state.TLSConfig,
		MaxConns:  1,
		// A repeated POST would be a duplicate that the ledger did not order.
		MaxIdemponentCallAttempts: 1,
		// Below what servers keep idle connections for (Node 5 s, Fastify 72 s): a POST into a closing one is lost.
		MaxIdleConnDuration: 4 * time.Second,
		DialTimeout: func(address string, timeout time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(context.Background(), e.options.Timeout.duration())
			defer cancel()
			conn, err := state.Dialer.DialContext(ctx, "tcp", address)
			if err != nil {
				return nil, &dialError{err}
			}
			return conn, nil
		},
	}
	return s
}

// dialError says that a request did not leave, because there was no connection.
type dialError struct{ error }

func (e *dialError) Unwrap() error { return e.error }

// take returns the next request of the schedule when it is due. ok is false when there is none left, or the run has been
// halted, or the VU stopped.
func (e *engine) take(ctx context.Context) (slot pacer.Slot, ok bool) {
	select {
	case <-e.started:
	case <-ctx.Done():
		return slot, false
	}
	for {
		n := int(e.next.Add(1)) - 1
		if n >= e.pacer.Requests() || ctx.Err() != nil {
			return slot, false
		}
		slot = e.pacer.Slot(n)
		due := e.epoch.Add(slot.Due)
		if time.Since(due) > lateLimit {
			e.ledger.Drop(slot)
			continue
		}
		return slot, sleepUntil(ctx, e.halted, due)
	}
}

// send takes the next request, posts it and settles it.
func (s *sender) send(ctx context.Context, state *lib.State) bool {
	slot, ok := s.engine.take(ctx)
	if !ok {
		return false
	}
	s.body = s.engine.bodies.append(s.body[:0], slot)
	s.request.SetBodyRaw(s.body)
	s.request.SetRequestURI(s.urls[min(slot.Messages-1, 1)])

	sent := time.Now()
	s.engine.ledger.Sent(slot, s.engine.clock.At(sent))
	err := s.client.DoTimeout(s.request, s.answer, s.engine.options.Timeout.duration())
	done := time.Now()

	status := 0
	if err == nil {
		status = s.answer.StatusCode()
	}
	s.engine.settle(slot, answer{status, err, s.answer.Body}, sent, done)
	s.push(ctx, state, slot, status, sent, done)
	return true
}

// answer is what came of a request: a status, or an error; neither where a script says that there was no answer.
type answer struct {
	status int
	err    error
	body   func() []byte
}

// settle tells the ledger what came of a request.
func (e *engine) settle(slot pacer.Slot, a answer, sent, at time.Time) {
	outcome, err := ledger.Unknown, a.err
	var dial *dialError
	switch {
	case a.status >= 200 && a.status < 300:
		outcome = ledger.Accepted
	case a.status == http.StatusBadGateway || a.status == http.StatusGatewayTimeout:
		// A gateway's word says nothing of what stands behind it.
		e.count("request", "HTTP "+strconv.Itoa(a.status), excerpt(a.body()))
	case a.status != 0:
		outcome = ledger.Rejected
		e.count("request", "HTTP "+strconv.Itoa(a.status), excerpt(a.body()))
	case errors.As(err, &dial):
		outcome = ledger.Rejected
		e.count("request", "no connection", err.Error())
	case errors.Is(err, fasthttp.ErrTimeout):
		e.count("request", "timeout", fmt.Sprintf("no answer within %s", e.options.Timeout.duration()))
	case errors.Is(err, fasthttp.ErrConnectionClosed):
		e.count("request", "connection broken", "the ingest closed the connection before it answered")
	case err != nil:
		e.count("request", "connection broken", err.Error())
	default:
		e.count("request", "no answer", "the script settled the request with status 0")
	}
	if outcome != ledger.Unknown {
		e.ledger.Answered(slot.Phase, e.clock.At(at)-e.clock.At(sent))
	}
	e.ledger.Settle(slot, outcome)
}

// push emits k6's own metrics, so that thresholds and dashboards that people have keep working.
func (s *sender) push(ctx context.Context, state *lib.State, slot pacer.Slot, status int, sent, done time.Time) {
	tags := state.Tags.GetCurrentValues().Tags.
		With("method", "POST").
		With("name", s.urls[min(slot.Messages-1, 1)]).
		With("flow", s.engine.options.profile.Flows[slot.Flow].Name).
		With("status", strconv.Itoa(status))
	failed := 0.0
	if status < 200 || status >= 400 {
		failed = 1
	}
	sample := func(m *metrics.Metric, v float64) metrics.Sample {
		return metrics.Sample{TimeSeries: metrics.TimeSeries{Metric: m, Tags: tags}, Time: done, Value: v}
	}
	metrics.PushIfNotDone(ctx, state.Samples, metrics.ConnectedSamples{
		Time: done, Tags: tags,
		Samples: []metrics.Sample{
			sample(state.BuiltinMetrics.HTTPReqs, 1),
			sample(state.BuiltinMetrics.HTTPReqDuration, metrics.D(done.Sub(sent))),
			sample(state.BuiltinMetrics.HTTPReqFailed, failed),
		},
	})
}

// excerpt is the start of an answer, in one line.
func excerpt(b []byte) string {
	const most = 160
	text := strings.Join(strings.Fields(string(b[:min(len(b), most)])), " ")
	if len(b) > most {
		text += " …"
	}
	return text
}
