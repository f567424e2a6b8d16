// Package sse is the source of a run whose messages a server pushes as server-sent events over connections that the run
// holds.
package sse

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/push"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Options are the settings of the connections; index.d.ts documents them.
type Options struct {
	URL         string            `json:"url"`
	Connections int               `json:"connections"`
	Headers     map[string]string `json:"headers"`
	Hops        string            `json:"hops"`

	checked receive.Description
}

func (o *Options) clients() *push.Clients {
	return &push.Clients{Name: "sse", URL: o.URL, Headers: o.Headers, Connections: o.Connections, Hops: o.Hops,
		Lines: true}
}

// Check implements receive.Source.
func (o *Options) Check(p *profile.Profile) error {
	clients := o.clients()
	if err := clients.Check(p, "http", "https"); err != nil {
		return err
	}
	o.checked = clients.Describe()
	return nil
}

// Describe implements receive.Source.
func (o *Options) Describe() receive.Description { return o.checked }

// Open implements receive.Source.
func (o *Options) Open(ctx context.Context, parts *run.Parts, sink *receive.Sink,
	m receive.Means) (receive.Receiver, error) {
	clients := o.clients()
	look, slow := clients.Look(parts.Profile), new(atomic.Bool)
	held, err := clients.Open(ctx, parts, sink, m, func(c push.Client) push.Session { return o.line(c, m, look, slow) })
	if err != nil {
		return nil, err
	}
	if slow.Load() {
		parts.Count("sse", "no header before the first event",
			fmt.Sprintf("%s sent none within %s of a request, and the connection counts as open: "+
				"a message that the server has before it knows the connection is lost", words.Mask(o.URL), headerPatience))
	}
	return receiver{held, slow}, nil
}

// Canary implements receive.Source.
func (o *Options) Canary(ctx context.Context, parts *run.Parts, m receive.Means) (*receive.Path, error) {
	clients := o.clients()
	client, target := clients.CanaryClient(parts)
	slow := new(atomic.Bool)
	if r, ok := m.Receiver.(receiver); ok {
		slow = r.slow
	}
	l := o.line(client, m, clients.Look(parts.Profile), slow)
	if err := l.Connect(ctx); err != nil {
		return nil, fmt.Errorf("%w (of the canary; canary: false leaves it out)", err)
	}
	path := clients.Path(client, target, l)
	if l.header != nil {
		path.At += ", which has not even sent a header,"
	}
	return path, nil
}

// receiver holds the connections of a run.
type receiver struct {
	*receive.Sessions
	slow *atomic.Bool // shared by all lines
}

// Check does nothing: a client of server-sent events can ask its server nothing.
func (receiver) Check() {}
