// Package answers is the source of a run that measures HTTP alone: a message has arrived when its request is answered
// with 2xx.
package answers

import (
	"context"
	"fmt"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
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
	const none = "answers is set, and an answer is no message of a canary"
	return receive.Description{Last: "request", NoCanary: none, NoGreeting: none}
}

// Open implements receive.Source.
func (Options) Open(_ context.Context, _ *run.Parts, sink *receive.Sink, _ receive.Means) (receive.Receiver, error) {
	return receiver{sink: sink}, nil
}

// Canary implements receive.Source.
func (Options) Canary(context.Context, *run.Parts, receive.Means) (*receive.Path, error) {
	return nil, nil
}

type receiver struct {
	receive.None
	sink *receive.Sink
}

func (r receiver) Answered(seq, messages int, at time.Time) { r.sink.Answered(seq, messages, at) }
