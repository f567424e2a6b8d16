// Package store is the Redis of the pipeline: the clock of the run, and the place to look for missing messages.
package store

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/arrival-bench/arrival/extensions/k6/internal/address"
	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// Store is a Redis or a Redis Cluster.
type Store struct {
	*redis.Client                      // the node that the address names first: its TIME is the clock of the run
	cluster       *redis.ClusterClient // nil: a single node
	keys          keys
}

// patience is how long connecting to Redis may take.
const patience = 5 * time.Second

// Parse reads the address of a Redis, or those of some nodes of a Redis Cluster. The options are of the first
// node. Errors omit the address, which may hold a password.
func Parse(text string) (first *redis.Options, nodes []string, err error) {
	a, err := address.Parse(address.Redis, text)
	if err != nil {
		return nil, nil, err
	}
	for _, node := range a.Nodes {
		nodes = append(nodes, node.String())
	}
	first = &redis.Options{Network: "tcp", Addr: nodes[0], Username: a.Username, Password: a.Password, DB: a.Database}
	if a.Secure() {
		first.TLSConfig = &tls.Config{ServerName: a.Nodes[0].Host, MinVersion: tls.VersionTLS12}
	}
	return first, nodes, nil
}

// newClient makes a client of the first node of an address, which connects on first use; option names the
// address in an error.
func newClient(n network.Network, url, option string) (*redis.Client, []string, error) {
	o, nodes, err := Parse(url)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", option, err)
	}
	o.Dialer = n.DialContext
	o.DialTimeout = patience
	if secure := o.TLSConfig; secure != nil { // rediss: go-redis leaves it to the dialer
		own := n.TLS.Clone()
		own.ServerName = secure.ServerName
		o.Dialer = func(ctx context.Context, protocol, address string) (net.Conn, error) {
			conn, err := n.DialContext(ctx, protocol, address)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
			defer cancel()
			return network.Secure(ctx, conn, own, address)
		}
	}
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true // otherwise a read of a Redis that hangs ignores the caller's deadline
	o.DisableIdentity = true
	return redis.NewClient(o), nodes, nil
}

// Open connects to the Redis that is the clock of the run, and takes the first estimate. A node that does not
// report a cluster is taken for a single one. prefix is the pipeline's QUEUE_PREFIX; empty: the default one.
func Open(ctx context.Context, n network.Network, url, prefix string, c *clock.Clock) (*Store, error) {
	client, nodes, err := newClient(n, url, "redis.url (REDIS_URL)")
	if err != nil {
		return nil, err
	}
	o := client.Options()
	if err := c.Probe(ctx, client); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("redis %s can't be used as the run's clock (REDIS_URL): %w", o.Addr, network.Advise(err))
	}
	s := &Store{Client: client, keys: keysOf(prefix)}
	if info, err := client.Info(ctx, "cluster").Result(); err == nil && strings.Contains(info, "cluster_enabled:1") {
		s.cluster = redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: nodes, Username: o.Username, Password: o.Password, Dialer: o.Dialer, DialTimeout: o.DialTimeout,
			MaxRetries: o.MaxRetries, DisableIdentity: true, ContextTimeoutEnabled: true,
		})
	}
	return s, nil
}

// KeepTime probes the clock periodically until stop is called, which also closes the connections.
func (s *Store) KeepTime(ctx context.Context, c *clock.Clock) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Keep(ctx, s.Client)
	}()
	return func() {
		cancel()
		<-done
		_ = s.Close()
	}
}

// Holder is the node that holds a key.
func (s *Store) Holder(ctx context.Context, key string) (*redis.Client, error) {
	if s.cluster == nil {
		return s.Client, nil
	}
	return s.cluster.MasterForKey(ctx, key)
}

// Close closes the connections.
func (s *Store) Close() error {
	if s.cluster != nil {
		_ = s.cluster.Close()
	}
	return s.Client.Close()
}
