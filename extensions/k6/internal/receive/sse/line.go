package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/push"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// retryFirst is the wait before a reconnection, unless the server has said another one.
const retryFirst = 20 * time.Millisecond

// line is a connection, which is restored after a loss.
type line struct {
	options *Options
	client  push.Client
	network network.Network
	look    time.Duration
	events  *events // of the last connection; nil before the first
	lastID  string
	retry   time.Duration

	mu     sync.Mutex
	body   io.Closer // replaced under the lock; nil before the first
	end    context.CancelFunc
	socket *socket.Stamped
	closed bool
}

func (o *Options) line(client push.Client, m receive.Means, look time.Duration) *line {
	return &line{options: o, client: client, network: m.Network, look: look, retry: retryFirst}
}

// Connect opens the connection.
func (l *line) Connect(ctx context.Context) error {
	what := "server-sent events of " + report.Mask(l.client.URL)
	streaming, end := context.WithCancelCause(context.WithoutCancel(ctx)) // outlives the attempt
	patience := time.AfterFunc(push.ConnectPatience, func() { end(fmt.Errorf("no answer within %s", push.ConnectPatience)) })
	stop := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	var below *socket.Stamped
	answer, err := l.request(streaming, &below)
	if (!patience.Stop() || !stop()) && err == nil {
		_ = answer.Body.Close()
		err = context.Cause(streaming)
	}
	if err != nil {
		if cause := context.Cause(streaming); cause != nil {
			err = cause
		}
		end(nil)
		return network.Advise(fmt.Errorf("%s can't be reached: %w", what, err))
	}
	if err := accept(what, answer); err != nil {
		end(nil)
		_ = answer.Body.Close()
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		end(nil)
		_ = answer.Body.Close()
		return net.ErrClosed
	}
	l.body, l.socket, l.end = answer.Body, below, func() { end(net.ErrClosed) }
	l.events = newEvents(answer.Body, push.MessageMost)
	l.events.id = l.lastID
	return nil
}

// request asks for the stream. It sets below to the connection.
func (l *line) request(ctx context.Context, below **socket.Stamped) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.client.URL, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Cache-Control", "no-store")
	for name, value := range l.options.Headers {
		request.Header.Set(name, value)
		if http.CanonicalHeaderKey(name) == "Host" {
			request.Host = value
		}
	}
	if l.lastID != "" {
		request.Header.Set("Last-Event-ID", l.lastID)
	}
	config := l.network.TLS.Clone()
	if config != nil {
		config.NextProtos = []string{"http/1.1"} // k6's has HTTP/2, where streams share a connection and its stamps
	}
	var mu sync.Mutex
	transport := &http.Transport{
		TLSClientConfig: config, DisableCompression: true, DisableKeepAlives: true, ReadBufferSize: 4 << 10, MaxResponseHeaderBytes: 64 << 10,
		DialContext: func(ctx context.Context, protocol, address string) (net.Conn, error) {
			conn, err := l.network.DialContext(ctx, protocol, address)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			*below = socket.NewStamped(conn, l.look)
			return *below, nil
		},
	}
	return (&http.Client{Transport: transport}).Do(request)
}

// accept refuses an answer that is no stream of events.
func accept(what string, answer *http.Response) error {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch {
	case answer.StatusCode == http.StatusNoContent:
		return push.Final(fmt.Errorf("%s: the server wants no connection (HTTP 204)", what))
	case answer.StatusCode != http.StatusOK:
		return push.Refused(what+" are refused", answer.StatusCode)
	case kind != "text/event-stream":
		return push.Final(fmt.Errorf("%s: the answer is %q, and no text/event-stream", what, report.Printable(kind)))
	}
	return nil
}

// Retry implements receive.Session and receive.Line. The first attempt comes after the time that the server wants.
func (l *line) Retry(ctx context.Context, patience time.Duration) error {
	select {
	case <-time.After(min(l.retry, patience)):
	case <-ctx.Done():
		return ctx.Err()
	}
	return push.Retry(ctx, l.retry, patience, l.Connect)
}

// Listen implements receive.Session.
func (l *line) Listen(taker *receive.Taker) error {
	return l.Read(func(payload []byte, at socket.Arrival) {
		taker.Take(payload, push.Stamps(payload, l.options.Hops), at)
		taker.Flush()
	})
}

// Read implements receive.Line.
func (l *line) Read(take func(payload []byte, at socket.Arrival)) error {
	for {
		data, err := l.events.next()
		l.lastID = l.events.id
		if l.events.retry > 0 {
			l.retry = l.events.retry
		}
		if err != nil {
			return l.reason(err)
		}
		take(data, l.socket.Last())
	}
}

// reason is why a connection ended.
func (l *line) reason(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	_ = l.body.Close()
	switch {
	case l.closed:
		return net.ErrClosed
	case errors.Is(err, io.EOF):
		return errors.New("server-sent events: the server ended the stream")
	}
	return fmt.Errorf("server-sent events: the connection ended: %w", err)
}

// Close implements receive.Session and receive.Line.
func (l *line) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed = true; l.body == nil {
		return
	}
	l.end()
	_ = l.body.Close()
}
