// Package queue is the source of a run without relays: a message has arrived when it is in the queue, from which the
// run removes it.
package queue

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// Options say which queue; index.d.ts documents them.
type Options struct {
	URL    string `json:"url"`    // its user must be allowed to remove messages
	Kind   string `json:"kind"`   // a kind that store.OpenQueue knows; empty: the first
	Prefix string `json:"prefix"` // the pipeline's prefix of keys; empty: the default one
}

// Check refuses an unusable address, and a profile whose messages are due more than once.
func (o *Options) Check(p *profile.Profile) error {
	if err := store.CheckQueue(o.URL, o.Kind, o.Prefix); err != nil {
		return err
	}
	for _, f := range p.Flows {
		if f.Deliveries != 1 {
			return fmt.Errorf("the queue hands out each message once, but flow %q has %d deliveries", f.Name,
				f.Deliveries)
		}
	}
	return nil
}

// Describe implements receive.Source.
func (o *Options) Describe() receive.Description {
	const none = "queue is set, and no canary arrives there"
	return receive.Description{
		Last: "queue", Connections: 1, Servers: []receive.Server{{Option: "queue.url", URL: o.URL}}, NoCanary: none,
		NoGreeting:  none,
		Unshareable: "all instances would read one queue, and take each other's messages",
	}
}

// Canary implements receive.Source.
func (*Options) Canary(context.Context, *run.Parts, receive.Means) (*receive.Path, error) {
	return nil, nil
}

// Open implements receive.Source. Messages of other runs count as foreign, and are removed too.
func (o *Options) Open(ctx context.Context, _ *run.Parts, sink *receive.Sink,
	m receive.Means) (receive.Receiver, error) {
	queue, err := store.OpenQueue(m.Network, o.URL, o.Kind, o.Prefix)
	if err != nil {
		return nil, err
	}
	taker := sink.Subscriber(0)
	take := func(moment time.Time, frames []string) {
		at := socket.Arrival{At: moment, Waited: -1}
		for _, frame := range frames {
			stamps, body := store.Parts(frame)
			taker.Take([]byte(body), []byte(stamps), at)
		}
		taker.Flush()
	}
	ctx, stop := context.WithCancel(ctx)
	if err := queue.Take(ctx, take); err != nil { // fails before the load if the user lacks a permission
		stop()
		_ = queue.Close()
		return nil, err
	}
	r := &receiver{stop: stop, failed: make(chan error, 1)}
	r.read.Go(func() {
		defer queue.Close()
		for ctx.Err() == nil {
			if err := queue.Take(ctx, take); err != nil && ctx.Err() == nil {
				r.failed <- err
				return
			}
		}
	})
	return r, nil
}

type receiver struct {
	receive.None
	failed chan error
	stop   context.CancelFunc
	read   sync.WaitGroup
}

func (r *receiver) Failed() <-chan error { return r.failed }

func (r *receiver) Close() {
	r.stop()
	r.read.Wait()
}
