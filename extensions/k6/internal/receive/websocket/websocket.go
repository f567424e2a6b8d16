// Package websocket is the source of a run whose messages a server pushes over WebSocket connections that the run
// holds.
package websocket

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/arrival-bench/arrival/extensions/k6/internal/profile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/push"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
)

// Options are the settings of the connections; index.d.ts documents them.
type Options struct {
	URL         string            `json:"url"`
	Connections int               `json:"connections"`
	Protocol    string            `json:"protocol"`
	Headers     map[string]string `json:"headers"`
	Send        []string          `json:"send"`
	Await       string            `json:"await"` // what the server answers to each of Send; empty: it is not waited for
	Hops        string            `json:"hops"`

	checked receive.Description
}

func (o *Options) clients() *push.Clients {
	c := &push.Clients{Name: "websocket", URL: o.URL, Headers: o.Headers, Connections: o.Connections, First: o.Send,
		Hops: o.Hops}
	if len(o.Send) > 0 && o.Await == "" {
		c.Ask = ", the answer to what is sent first: WEBSOCKET_AWAIT"
	}
	return c
}

var token = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") // RFC 6455, 4.1

// Check implements receive.Source.
func (o *Options) Check(p *profile.Profile) error {
	switch {
	case o.Protocol != "" && !token.MatchString(o.Protocol):
		return fmt.Errorf("websocket.protocol %q is not the name of a sub-protocol", o.Protocol)
	case o.Await != "" && len(o.Send) == 0:
		return fmt.Errorf("websocket.await is set, but nothing is sent that could be answered: websocket.send")
	case slices.Contains(o.Send, ""):
		return fmt.Errorf("websocket.send has an empty message")
	}
	clients := o.clients()
	if err := clients.Check(p, "ws", "wss"); err != nil {
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
	r := &receiver{over: make(chan struct{})}
	clients := o.clients()
	look := clients.Look(parts.Profile)
	held, err := clients.Open(ctx, parts, sink, m, func(c push.Client) push.Session {
		l := &line{options: o, client: c, network: m.Network, look: look}
		r.lines = append(r.lines, l)
		return l
	})
	if err != nil {
		return nil, err
	}
	r.Sessions = held
	r.pinging.Go(r.ping)
	return r, nil
}

// Canary implements receive.Source.
func (o *Options) Canary(ctx context.Context, parts *run.Parts, m receive.Means) (*receive.Path, error) {
	clients := o.clients()
	client, target := clients.CanaryClient(parts)
	l := &line{options: o, client: client, network: m.Network, look: clients.Look(parts.Profile)}
	if err := l.Connect(ctx); err != nil {
		return nil, fmt.Errorf("%w (of the canary; canary: false leaves it out)", err)
	}
	return clients.Path(client, target, l), nil
}
