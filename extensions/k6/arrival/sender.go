package arrival

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/valyala/fasthttp"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// poster posts to the ingest over one connection of its own, one request at a time.
type poster struct {
	client  *fasthttp.HostClient
	request *fasthttp.Request
	answer  *fasthttp.Response
	urls    [2]string // of one message, of a batch
	posted  string    // the one that the request has
	timeout time.Duration
	lost    error        // what ended the connection, which fasthttp does not tell
	conn    *watchedConn // the last one
	used    time.Time    // the end of the last request
}

func newPoster(e *engine, state *lib.State) *poster {
	o := e.options
	base := strings.TrimSuffix(o.Ingest.URL, "/")
	p := &poster{
		request: &fasthttp.Request{}, answer: &fasthttp.Response{}, timeout: o.Timeout.duration(),
		urls: [2]string{base + o.Ingest.Path, base + o.Ingest.BatchPath},
	}
	h := &p.request.Header
	h.SetMethod(fasthttp.MethodPost)
	h.SetContentType("application/json")
	if o.Ingest.Token != "" {
		h.Set("Authorization", "Bearer "+o.Ingest.Token)
	}
	for name, value := range o.Ingest.Headers {
		h.Set(name, value)
	}
	if !o.Ingest.KeepAlive {
		h.SetConnectionClose()
	}
	p.request.SetRequestURI(p.urls[0])
	p.client = p.newHostClient(p.request.URI(), e, state)
	return p
}

// url is where so many messages go.
func (p *poster) url(messages int) string { return p.urls[min(messages-1, 1)] }

// post sends a body of so many messages and waits for the answer.
func (p *poster) post(body []byte, messages int) answer {
	p.request.SetBodyRaw(body)
	if url := p.url(messages); url != p.posted {
		p.request.SetRequestURI(url) // which is then parsed again
		p.posted = url
	}
	if p.conn != nil && time.Since(p.used) > idleUnchecked && p.conn.closed() {
		p.client.CloseIdleConnections()
	}
	a := answer{body: p.answer.Body}
	p.lost = nil
	switch a.err = p.client.DoTimeout(p.request, p.answer, p.timeout); {
	case a.err == nil:
		a.status = p.answer.StatusCode()
	case errors.Is(a.err, fasthttp.ErrConnectionClosed) && p.lost != nil:
		a.err = p.lost
	}
	p.used = time.Now()
	return a
}

// idleUnchecked is how long a connection may be idle before it is looked at, whether the server has closed it: a request that is
// written into a closed one is lost, and nobody can tell whether it was taken.
const idleUnchecked = 100 * time.Millisecond

// newHostClient makes a client of one connection. It takes 16 µs of CPU a request where k6/http takes 72.
func (p *poster) newHostClient(uri *fasthttp.URI, e *engine, state *lib.State) *fasthttp.HostClient {
	secure := string(uri.Scheme()) == "https"
	return &fasthttp.HostClient{
		Addr:      fasthttp.AddMissingPort(string(uri.Host()), secure),
		Name:      "k6 arrival",
		IsTLS:     secure,
		TLSConfig: e.trust.config(state),
		MaxConns:  1,
		// It also limits the handshake.
		WriteTimeout: p.timeout,
		// A repeated POST would be a duplicate that the ledger did not order.
		MaxIdemponentCallAttempts: 1,
		// Below what servers keep idle connections for (Node 5 s, Fastify 72 s): a POST into a closing one is lost.
		MaxIdleConnDuration: 4 * time.Second,
		DialTimeout: func(address string, _ time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(context.Background(), p.timeout)
			defer cancel()
			conn, err := state.Dialer.DialContext(ctx, "tcp", address)
			if err != nil {
				return nil, &dialError{err}
			}
			p.conn = &watchedConn{conn, &p.lost}
			return p.conn, nil
		},
	}
}

// watchedConn remembers what a read ended with.
type watchedConn struct {
	net.Conn
	lost *error
}

func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		*c.lost = err
	}
	return n, err
}

// sender sends requests of the schedule and settles them.
type sender struct {
	*poster
	engine  *engine
	samples *requestSamples
	waiter  *waiter
	body    []byte
}

func newSender(e *engine, state *lib.State) *sender {
	return &sender{poster: newPoster(e, state), engine: e, samples: newRequestSamples(e, state), waiter: newWaiter()}
}

// send takes the next request, posts it, and settles it.
func (s *sender) send(ctx context.Context) bool {
	e := s.engine
	slot, ok := e.take(ctx, s.waiter)
	if !ok {
		return false
	}
	s.body = e.bodies.append(s.body[:0], slot)

	sent := time.Now()
	e.ledger.Sent(slot, e.clock.At(sent))
	var outcome ledger.Outcome
	if e.options.Ingest.Retries == 0 {
		outcome, _ = s.attempt(ctx, slot, sent)
	} else {
		outcome = s.persist(ctx, slot)
	}
	e.ledger.Settle(slot, outcome)
	return true
}

// attempt posts once. The error says that another attempt may help, and when.
func (s *sender) attempt(ctx context.Context, slot pacer.Slot, sent time.Time) (ledger.Outcome, error) {
	a := s.post(s.body, slot.Messages)
	done := time.Now()
	outcome := s.engine.answered(slot, a, sent, done)
	s.samples.push(ctx, slot, s.url(slot.Messages), a.status, sent, done)
	if !mayHelp(a.status) {
		return outcome, nil
	}
	after, err := strconv.Atoi(string(s.answer.Header.Peek("Retry-After")))
	if a.status == 0 || err != nil || after <= 0 {
		return outcome, errAgain
	}
	return outcome, backoff.RetryAfter(min(after, int(retryAfterMost/time.Second)))
}

// mayHelp reports whether another attempt may be answered better: after no answer, 429 and 5xx.
func mayHelp(status int) bool {
	return status == 0 || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// persist posts a request until it is accepted, with the same ids each time.
func (s *sender) persist(ctx context.Context, slot pacer.Slot) ledger.Outcome {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-s.engine.halted:
			stop()
		case <-ctx.Done():
		}
	}()
	// An attempt without an answer may have been taken, whatever the next ones are told.
	unknown, first := false, true
	outcome, _ := backoff.Retry(ctx, func() (ledger.Outcome, error) {
		if !first {
			s.engine.ledger.Retried()
		}
		first = false
		outcome, err := s.attempt(ctx, slot, time.Now())
		unknown = unknown || outcome == ledger.Unknown
		return outcome, err
	}, backoff.WithMaxTries(uint(s.engine.options.Ingest.Retries)+1), backoff.WithMaxElapsedTime(0),
		backoff.WithBackOff(&backoff.ExponentialBackOff{
			InitialInterval: retryFirst, MaxInterval: retryLast, Multiplier: 2, RandomizationFactor: 0.5,
		}))
	if unknown && outcome != ledger.Accepted {
		return ledger.Unknown
	}
	return outcome
}

// Waits between attempts, where the answer does not say Retry-After: doubling, and drawn around it, so that the senders
// do not come back all at once.
const (
	retryFirst = 100 * time.Millisecond
	retryLast  = 5 * time.Second
	// retryAfterMost is the longest Retry-After that is obeyed.
	retryAfterMost = 30 * time.Second
)
