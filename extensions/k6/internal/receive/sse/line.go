package sse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/push"

	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// retryFirst is the wait before a reconnection, unless the server has said another one.
const retryFirst = 20 * time.Millisecond

// eventStream is the type of a stream of events.
const eventStream = "text/event-stream"

// headerPatience is how long a server may take to send its header. Some send it with the first event (WSGI, Node
// without flushHeaders), so a connection without it then counts as open.
const headerPatience = push.ConnectPatience

// headerSoon is headerPatience once one connection has waited that long.
const headerSoon = 100 * time.Millisecond

// line is a connection, which is restored after a loss.
type line struct {
	options *Options
	client  push.Client
	network network.Network
	look    time.Duration
	most    time.Duration // headerPatience
	slow    *atomic.Bool  // the server has sent a connection no header within that
	header  chan answer   // gets the answer of the last connection; nil: it has come
	events  *events       // read from the last connection; nil before its header
	lastID  string
	retry   time.Duration

	mu     sync.Mutex
	body   io.Closer // replaced under the lock; nil before the first header
	end    context.CancelFunc
	socket *socket.Stamped
	closed bool
}

func (o *Options) line(client push.Client, m receive.Means, look time.Duration, slow *atomic.Bool) *line {
	return &line{options: o, client: client, network: m.Network, look: look, most: headerPatience, slow: slow,
		retry: retryFirst}
}

// answer is a server's answer to the request for a stream, or why there is none.
type answer struct {
	*http.Response
	below *socket.Stamped // its connection
	err   error
}

func (a answer) close() {
	if a.Response != nil {
		_ = a.Body.Close()
	}
}

// Connect opens the connection.
func (l *line) Connect(ctx context.Context) error {
	streaming, end := context.WithCancelCause(context.WithoutCancel(ctx)) // outlives the attempt
	l.mu.Lock()
	l.end = func() { end(net.ErrClosed) }
	if l.closed {
		l.end()
	}
	l.mu.Unlock()
	asked, header := make(chan struct{}), make(chan answer, 1)
	go func() { header <- l.request(streaming, sync.OnceFunc(func() { close(asked) })) }()
	patience := time.NewTimer(push.ConnectPatience)
	defer patience.Stop()
	for {
		cause := error(nil)
		select {
		case got := <-header:
			return l.begin(got)
		case <-asked:
			asked = nil
			patience.Reset(l.headerPatience())
			continue
		case <-patience.C:
			if asked == nil {
				l.slow.Store(true)
				l.header = header
				return nil
			}
			cause = fmt.Errorf("no connection within %s", push.ConnectPatience)
		case <-ctx.Done():
			cause = context.Cause(ctx)
		}
		end(cause)
		(<-header).close()
		return l.begin(answer{err: cause})
	}
}

func (l *line) headerPatience() time.Duration {
	if l.slow.Load() {
		return min(headerSoon, l.most)
	}
	return l.most
}

// begin takes the header of an answer.
func (l *line) begin(got answer) error {
	l.header = nil
	what := "server-sent events of " + words.Mask(l.client.URL)
	var err error
	if got.err != nil {
		err = network.Advise(fmt.Errorf("%s can't be reached: %w", what, got.err))
	} else {
		err = l.accept(what, got.Response)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		err = net.ErrClosed
	}
	if err != nil {
		l.end()
		got.close()
		return err
	}
	l.body, l.socket = got.Body, got.below
	l.events = newEvents(got.Body, push.MessageMost)
	l.events.id = l.lastID
	return nil
}

// request asks for the stream. It calls asked when the request is on its way.
func (l *line) request(ctx context.Context, asked func()) (got answer) {
	ctx = httptrace.WithClientTrace(ctx,
		&httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { asked() }})
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.client.URL, nil)
	if err != nil {
		return answer{err: err}
	}
	request.Header.Set("Accept", eventStream)
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
		TLSClientConfig: config, DisableCompression: true, DisableKeepAlives: true, ReadBufferSize: 4 << 10,
		MaxResponseHeaderBytes: 64 << 10,
		DialContext: func(ctx context.Context, protocol, address string) (net.Conn, error) {
			conn, err := l.network.DialContext(ctx, protocol, address)
			if err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			got.below = socket.NewStamped(conn, l.look)
			return got.below, nil
		},
	}
	response, err := (&http.Client{Transport: transport, CheckRedirect: l.redirect}).Do(request)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	mu.Lock()
	defer mu.Unlock()
	return answer{response, got.below, err}
}

// accept refuses an answer that is not a stream of events.
func (l *line) accept(what string, answer *http.Response) error {
	what += l.astray(answer.Request.URL)
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	switch {
	case answer.StatusCode == http.StatusNoContent:
		return push.Final(fmt.Errorf("%s: the server wants no connection (HTTP 204)", what))
	case answer.StatusCode != http.StatusOK:
		return push.Refused(what+" are refused", answer.StatusCode)
	case kind != eventStream:
		return push.Final(fmt.Errorf("%s: the answer is %q, not text/event-stream", what, words.Printable(kind)))
	case receive.Coded(answer.Header.Get("Content-Encoding")):
		return push.Final(fmt.Errorf("%s: the stream comes in %s, which hides when an event came: "+
			"let the server send it as it is", what, words.Printable(answer.Header.Get("Content-Encoding"))))
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
	if l.header != nil {
		if err := l.begin(<-l.header); err != nil {
			return err
		}
	}
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
	l.closed = true
	if l.end != nil {
		l.end()
	}
	if l.body != nil {
		_ = l.body.Close()
	}
}
