package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
	"golang.org/x/net/http/httpproxy"

	"github.com/arrival-bench/arrival/extensions/k6/internal/address"
	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
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

// servers returns the servers that checked options name. A Redis Cluster is asked at its first node.
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

// vu is the VU of k6 that collects. The samples of the run go through it.
type vu struct {
	state   *lib.State
	metrics *Metrics
	tags    *metrics.TagSet
	aborts  aborts // thresholds that end the test
	pending *pending
}

// attach makes a VU of k6 the one that collects.
func (e *Engine) attach(ctx context.Context, state *lib.State, m *Metrics) *vu {
	test := lib.GetExecutionState(ctx)
	e.judging.test.Store(test)
	e.judging.Begin(state.Options.Thresholds, test)
	return &vu{
		state: state, metrics: m, tags: state.Tags.GetCurrentValues().Tags, pending: &e.pending,
		aborts: m.newAborts(e, state.Options.Thresholds, state.Logger),
	}
}

// prepared is what a run has opened before its load begins.
type prepared struct {
	vu       *vu
	store    *store.Store // nil: no stamps; only this process's own clock is used
	keeping  func()       // ends the comparison with the clock of Redis; nil: there is none
	means    receive.Means
	receiver receive.Receiver // nil: not open
	canary   *receive.Canary  // nil: none
	spans    *spanSource      // nil: none
	ledger   *ledger.Ledger
}

// prepare checks what is known about the run before anything is connected, and connects to where its messages arrive.
func (e *Engine) prepare(ctx context.Context, v *vu) (_ *prepared, err error) {
	if err := e.segment.InEffect(v.state.Options); err != nil {
		return nil, err
	}
	if err := e.checkFirstSender(ctx, v.state.Options); err != nil {
		return nil, err
	}
	if err := e.options.checkReceivers(httpproxy.FromEnvironment()); err != nil {
		return nil, err
	}
	if err := e.dir.check(); err != nil {
		return nil, err
	}
	net := e.trust.Of(v.state)
	if err := e.awaitServers(ctx, net); err != nil {
		return nil, err
	}
	p := &prepared{vu: v, ledger: e.Ledger, means: receive.Means{Network: net, Patience: e.reconnect}}
	defer func() {
		if err != nil {
			p.close(ctx)
		}
	}()
	if o := e.options.Redis; o.URL != "" {
		if p.store, err = store.Open(ctx, net, o.URL, o.Prefix, e.Clock); err != nil {
			return nil, err
		}
		p.keeping = p.store.KeepTime(ctx, e.Clock)
	}
	if err := e.spans.open(ctx, e); err != nil {
		return nil, err
	}
	p.spans = e.spans
	hand := func(us []int64) { v.hand(ctx, us) }
	began := time.Now()
	p.receiver, err = e.options.source.Open(ctx, &e.parts, receive.NewSink(&e.parts, p.store != nil, hand), p.means)
	if err != nil {
		return nil, err
	}
	e.said(p.receiver, time.Since(began))
	e.receiver.Store(&p.receiver)
	e.sending.answers, _ = p.receiver.(receive.AnswerReceiver)
	close(e.opened)
	return p, e.awaitConsumers(ctx)
}

// close closes what is open. It may be called more than once.
func (p *prepared) close(ctx context.Context) {
	if p.canary != nil {
		p.canary.Close()
	}
	if p.receiver != nil {
		p.receiver.Close()
		p.vu.hand(ctx, p.ledger.Arrive(0, nil, nil)) // deliveries that came before their message was marked as sent
		p.vu.pending.end(ctx, p.vu.state)
	}
	p.spans.close()
	if p.keeping != nil {
		p.keeping()
	}
}
