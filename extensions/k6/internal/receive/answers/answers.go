// Package answers is the source of a run that measures HTTP alone: a message has arrived when its request is answered
// with 2xx.
package answers

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// Options are true where answers are the arrivals.
type Options bool

// Check refuses a profile whose messages are due more than once.
func (Options) Check(p *profile.Profile) error {
	for _, f := range p.Flows {
		if f.Deliveries != 1 {
			return fmt.Errorf("a request is answered once, but flow %q has %d deliveries", f.Name, f.Deliveries)
		}
	}
	return nil
}

// Describe implements receive.Source.
func (Options) Describe() receive.Description {
	const none = "answers is set, and an answer is not a message of a canary"
	return receive.Description{Last: "request", NoCanary: none}
}

// Open implements receive.Source.
func (Options) Open(_ context.Context, _ *run.Parts, sink *receive.Sink, _ receive.Means) (receive.Receiver, error) {
	return receiver{sink: sink}, nil
}

// Canary implements receive.Source: it serves a greeting alone, whose answer is all that comes.
func (Options) Canary(_ context.Context, parts *run.Parts, _ receive.Means) (*receive.Path, error) {
	return &receive.Path{Target: receive.CanaryTarget(parts), Answered: true, Line: silence{ended: make(chan struct{})}}, nil
}

// silence is a receive.Line on which nothing comes. It is closed once.
type silence struct{ ended chan struct{} }

func (s silence) Read(func([]byte, socket.Arrival)) error {
	<-s.ended
	return net.ErrClosed
}

func (silence) Retry(context.Context, time.Duration) error { return net.ErrClosed }

func (s silence) Close() { close(s.ended) }

type receiver struct {
	receive.None
	sink *receive.Sink
}

func (r receiver) Answered(seq, messages int, at socket.Arrival) { r.sink.Answered(seq, messages, at) }
