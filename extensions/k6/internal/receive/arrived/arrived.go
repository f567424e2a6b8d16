// Package arrived is the source of messages that others receive: a script, which calls run.arrived(), or a program that
// writes the recorder's arrived lines. So a run can end in whatever either of them has a client for.
package arrived

import (
	"context"
	"fmt"
	"sync"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// Options say who receives; index.d.ts documents them.
type Options struct {
	Consumers *int `json:"consumers"` // VUs that receive; nil: as many as a message has deliveries at most
}

// consumersMost bounds the VUs that receive.
const consumersMost = 10_000

// Check refuses a number of consumers that no run can have.
func (o *Options) Check(*profile.Profile) error {
	if n := o.Consumers; n != nil && (*n < 0 || *n > consumersMost) {
		return fmt.Errorf("arrived.consumers %d is outside 0 to %d", *n, consumersMost)
	}
	return nil
}

// Count is the number of VUs that receive the messages of a profile.
func (o *Options) Count(p *profile.Profile) int {
	if o.Consumers != nil {
		return *o.Consumers
	}
	return p.Subscribers()
}

// Describe implements receive.Source.
func (o *Options) Describe() receive.Description {
	d := receive.Description{
		Words: "run.arrived() got none (in the recorder, no arrived line came): does the consumer receive where the " +
			"pipeline delivers?",
		Unread:      "before the script's handler ran",
		Unshareable: "it is not known which instance's messages a script receives (arrived)",
		NoCanary:    "arrived is set, and messages of a canary would take the load's way",
	}
	if o.Consumers != nil {
		d.Connections = *o.Consumers
	}
	return d
}

// Open implements receive.Source.
func (*Options) Open(_ context.Context, parts *run.Parts, sink *receive.Sink,
	_ receive.Means) (receive.Receiver, error) {
	return &Receiver{parts: parts, sink: sink, takers: map[int]*receive.Taker{}}, nil
}

// Canary implements receive.Source. The message that goes round before the load has the target of the first flow.
func (*Options) Canary(_ context.Context, parts *run.Parts, m receive.Means) (*receive.Path, error) {
	r, ok := m.Receiver.(*Receiver)
	if !ok {
		return nil, fmt.Errorf("nothing receives yet")
	}
	feed := receive.NewFeed()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.feed = feed
	return &receive.Path{Target: parts.Profile.Flows[0].TargetOf(0), At: "run.arrived()", IDs: true, Line: feed}, nil
}

// Message is one that was received.
type Message struct {
	Payload []byte
	Stamps  []byte // unparsed; empty: none
	At      socket.Arrival
	Target  int // the target it arrived at, from 1; 0: not known
}

// Receiver takes messages from others.
type Receiver struct {
	receive.None
	parts *run.Parts
	sink  *receive.Sink

	mu     sync.Mutex
	closed bool
	takers map[int]*receive.Taker
	target int           // the target of the message that is being taken
	feed   *receive.Feed // takes the greeting, the message before the load; nil: there is none
	gaps   []runfile.Gap
}

// Arrive records what a subscriber received; they count from 0. Messages that come after the end of the run are
// ignored.
func (r *Receiver) Arrive(subscriber int, messages []Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	taker := r.takers[subscriber]
	if taker == nil {
		taker = r.sink.Subscriber(subscriber)
		taker.IDs = true
		taker.Place = func(seq int, payload []byte) int {
			told := r.parts.Pacer.Told() // it is for whom it came
			if !told && !r.parts.Bodies.IsID(payload) && !r.parts.Addressed(seq, payload) {
				return 0
			}
			return r.target
		}
		r.takers[subscriber] = taker
	}
	for _, m := range messages {
		r.target = m.Target
		taker.Take(m.Payload, m.Stamps, m.At)
		if r.feed != nil {
			r.feed.Offer(m.Payload, m.At)
		}
	}
	taker.Flush()
}

// Lost records that a consumer receives nothing from now on.
func (r *Receiver) Lost(consumer int, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.gaps = append(r.gaps, runfile.Gap{Subscriber: consumer, FromS: r.parts.Elapsed().Seconds(), Reason: reason})
}

// Back records that a consumer receives again.
func (r *Receiver) Back(consumer int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.gaps {
		if g := &r.gaps[i]; g.Subscriber == consumer && g.ToS == nil {
			g.ToS = new(r.parts.Elapsed().Seconds())
		}
	}
}

// Gaps are the times when consumers received nothing.
func (r *Receiver) Gaps() []runfile.Gap {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]runfile.Gap{}, r.gaps...)
}

// Close ends the receiving.
func (r *Receiver) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}
