package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/arrival-bench/arrival/extensions/k6/internal/address"
	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/store"
)

// knock is the interval between attempts to reach a server, and the longest one.
const knock = time.Second

// awaitServers waits until each server of an instance accepts a connection, up to gather. A cluster starts the
// instances of a run as soon as it can, and its network policies may let a new pod through some seconds later.
// A single instance does not wait: a server that is not there is an error at once.
func (e *Engine) awaitServers(ctx context.Context, n network.Network) error {
	if e.segment.Alone() {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.options.Gather.duration(), errGathered)
	defer cancel()
	for _, server := range e.options.servers() {
		for {
			err := try(ctx, n, server.host)
			if err == nil {
				break
			}
			if clock.SleepUntil(ctx, nil, time.Now().Add(knock)) {
				continue
			}
			if context.Cause(ctx) == errGathered {
				return fmt.Errorf("%s does not accept a connection within %s (gather, GATHER): %w",
					server.option, e.options.Gather.duration(), err)
			}
			return errStopped
		}
	}
	return nil
}

var errGathered = errors.New("gather is over")

func try(ctx context.Context, n network.Network, host string) error {
	ctx, cancel := context.WithTimeout(ctx, knock)
	defer cancel()
	conn, err := n.DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	return conn.Close()
}

// server is an address that an instance connects to.
type server struct {
	option string // that sets it, with its address
	host   string // host:port
}

// servers are those of checked options. A Redis Cluster is asked at its first node.
func (o *Options) servers() (all []server) {
	add := func(option, host string) { all = append(all, server{option + " " + host, host}) }
	if first, _, err := store.Parse(o.Redis.URL); err == nil && o.Redis.URL != "" {
		add("redis.url (REDIS_URL)", first.Addr)
	}
	for _, server := range o.from.Servers {
		if server.Host != "" {
			add(server.Option, server.Host)
		}
	}
	a, err := address.Parse(address.HTTP, o.Ingest.URL)
	if err == nil && proxied(o.Ingest.URL, httpproxy.FromEnvironment()) == "" {
		add("ingest.url (INGEST_URL)", a.Nodes[0].String())
	}
	return all
}
