package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/callers"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"

	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// limits are what callers can make the listener hold, and how long they may take.
type limits struct {
	connections int   // open at once
	headers     int   // bytes of a call's header fields
	body        int   // bytes of a call's body
	bodies      int64 // bytes of all bodies that are being read

	header time.Duration // the longest time that a caller may take to send header fields, or its first ones
	call   time.Duration // the longest time that it may take to send a call
	idle   time.Duration // the longest pause between two calls of a connection
}

var usual = limits{
	connections: connectionsMost, headers: 64 << 10, body: 16 << 20, bodies: 256 << 20,
	header: 10 * time.Second, call: 30 * time.Second, idle: 2 * time.Minute,
}

const connectionsMost = 1000

// farewell is how long callers have to get the answers that are due when the run ends.
const farewell = time.Second

// look is the interval at which idle connections are looked at.
const look = 20 * time.Millisecond

// listener is the receiver of a run.
type listener struct {
	receive.None
	options Options
	*run.Parts
	limits limits
	at     string // its URL
	server *http.Server
	signed verifier // nil: signatures are not checked
	failed chan error
	work   sync.WaitGroup
	late   turn
	refuse turn
	feed   *receive.Feed // takes the canary's messages
	done   chan struct{}
	once   sync.Once

	room *callers.Room

	mu    sync.Mutex
	taker *receive.Taker
}

// Open implements receive.Source.
func (o *Options) Open(ctx context.Context, parts *run.Parts, sink *receive.Sink,
	_ receive.Means) (receive.Receiver, error) {
	l, err := o.open(ctx, parts, sink, usual)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (o *Options) open(ctx context.Context, parts *run.Parts, sink *receive.Sink, most limits) (*listener, error) {
	l := &listener{
		options: o.complete(), Parts: parts, limits: most, taker: sink.Subscriber(0),
		failed: make(chan error, 1), feed: receive.NewFeed(), done: make(chan struct{}),
	}
	l.room = callers.New(most.connections, most.bodies, func(class, example string) { l.Count(stage, class, example) })
	l.late.share, l.refuse.share = l.options.Late.Share, l.options.Refuse.Share
	signed, err := l.options.verifier()
	if err != nil {
		return nil, err
	}
	l.signed = signed
	at, err := new(net.ListenConfig).Listen(ctx, "tcp", l.options.Address)
	if err != nil {
		return nil, fmt.Errorf("the webhook can't listen on %s (webhook.address, WEBHOOK_ADDRESS): %w",
			l.options.Address, err)
	}
	l.at = l.options.url(at.Addr().String())
	l.server = &http.Server{
		Handler: l, ConnContext: remember, ConnState: l.follow, ErrorLog: log.New(&failures{l}, "", 0),
		ReadHeaderTimeout: most.header, ReadTimeout: most.call, IdleTimeout: most.idle, MaxHeaderBytes: most.headers,
		WriteTimeout: most.call + time.Duration(l.options.Late.Seconds*float64(time.Second)),
	}
	at = &stamping{at, l, socket.Accept(at, look)}
	if l.options.Cert != "" {
		pair, err := tls.X509KeyPair([]byte(l.options.Cert), []byte(l.options.Key))
		if err != nil {
			return nil, errors.Join(err, at.Close())
		}
		// HTTP/2 is not offered: bytes of several calls would share a read, and so a stamp.
		at = tls.NewListener(at, &tls.Config{
			Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		})
	}
	l.work.Go(func() {
		if err := l.server.Serve(at); !errors.Is(err, http.ErrServerClosed) {
			l.failed <- fmt.Errorf("the webhook no longer listens on %s: %w", l.options.Address, err)
		}
	})
	return l, nil
}

// URL is where the pipeline calls.
func (l *listener) URL() string { return l.at }

// Failed implements receive.Receiver.
func (l *listener) Failed() <-chan error { return l.failed }

// Close implements receive.Receiver.
func (l *listener) Close() {
	l.once.Do(func() {
		close(l.done)
		ctx, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		if l.server.Shutdown(ctx) != nil {
			_ = l.server.Close()
		}
	})
	l.work.Wait()
}

// Canary implements receive.Source. A pipeline calls one URL, so the canary's messages come there too.
func (*Options) Canary(_ context.Context, parts *run.Parts, m receive.Means) (*receive.Path, error) {
	l, ok := m.Receiver.(*listener)
	if !ok {
		return nil, errors.New("the webhook does not listen yet")
	}
	return &receive.Path{Target: receive.CanaryTarget(parts), At: words.Mask(l.at), Line: l.feed}, nil
}

// failures takes net/http's log, whose lines are about what callers do wrong.
type failures struct{ of *listener }

func (f *failures) Write(line []byte) (int, error) {
	if _, why, is := strings.Cut(string(line), "TLS handshake error "); is {
		f.of.Count(stage, "TLS", words.Printable(strings.TrimSpace(why)))
	}
	return len(line), nil
}

// turn picks a share of the calls, as evenly as it can.
type turn struct {
	share float64
	mu    sync.Mutex
	owed  float64
}

func (t *turn) mine() bool {
	if t.share == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owed += t.share; t.owed < 1-1e-9 {
		return false
	}
	t.owed--
	return true
}

// take records a message. id is the text that has its id.
func (l *listener) take(id, payload, stamps []byte, at socket.Arrival) {
	l.mu.Lock()
	known := l.taker.TakeAs(id, payload, stamps, at)
	l.taker.Flush()
	l.mu.Unlock()
	if known && !l.taker.Greets(id) {
		return
	}
	l.feed.Offer(payload, at)
	if !bytes.Equal(id, payload) { // the canary finds its id in one of them
		l.feed.Offer(id, at)
	}
}
