// Package store is the Redis of the pipeline: the clock of the run, and where the messages that did not arrive may be found.
package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// Store is a Redis, or a Redis Cluster.
type Store struct {
	*redis.Client                      // the node that the address names first: its TIME is the clock of the run
	cluster       *redis.ClusterClient // nil: it is the only one
}

// patience is how long a connection to Redis may take, unless its URL says it.
const patience = 5 * time.Second

// addressNodes are the parts of "redis://user:password@host:port,host:port/db" before, in, and after the list of nodes.
var addressNodes = regexp.MustCompile(`^(rediss?://(?:[^@/]*@)?)([^/?]+)(.*)$`)

// Parse reads the address of a Redis, or those of some nodes of a Redis Cluster. The options are of the first node. An error does not
// hold the address, in which there may be a password.
func Parse(address string) (first *redis.Options, nodes []string, err error) {
	parts := addressNodes.FindStringSubmatch(address)
	if parts == nil {
		first, err = redis.ParseURL(address)
		return first, nil, withoutURL(err)
	}
	for i, host := range strings.Split(parts[2], ",") {
		o, err := redis.ParseURL(parts[1] + host + parts[3])
		if err != nil {
			return nil, nil, withoutURL(err)
		}
		if nodes = append(nodes, o.Addr); i == 0 {
			first = o
		}
	}
	return first, nodes, nil
}

// withoutURL takes the address off an error of net/url.
func withoutURL(err error) error {
	var wrong *url.Error
	if errors.As(err, &wrong) {
		return wrong.Err
	}
	return err
}

// newClient makes a client of the first node of an address. It connects when it is used; option names the address in an error.
func newClient(n network.Network, address, option string) (*redis.Client, []string, error) {
	o, nodes, err := Parse(address)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", option, err)
	}
	o.Dialer = n.Dialer.DialContext
	o.DialTimeout = cmp.Or(o.DialTimeout, patience)
	if secure := o.TLSConfig; secure != nil { // rediss: go-redis leaves it to the dialer
		own := n.TLS.Clone()
		own.ServerName = secure.ServerName
		o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := n.Dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
			defer cancel()
			encrypted := tls.Client(conn, own)
			if err := encrypted.HandshakeContext(ctx); err != nil {
				_ = conn.Close()
				return nil, err
			}
			return encrypted, nil
		}
	}
	o.MaxRetries = -1
	o.ContextTimeoutEnabled = true // else a read of a Redis that hangs takes its own time, whatever the caller's
	o.DisableIdentity = true
	return redis.NewClient(o), nodes, nil
}

// Open connects to the Redis that is the clock of the run, and takes the first estimate. A node that does not say that it belongs to a
// cluster is taken for the only one.
func Open(ctx context.Context, n network.Network, address string, c *clock.Clock) (*Store, error) {
	client, nodes, err := newClient(n, address, "redis.url (REDIS_URL)")
	if err != nil {
		return nil, err
	}
	o := client.Options()
	if err := c.Probe(ctx, client); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("redis %s can't be used as the run's clock (REDIS_URL): %w", o.Addr, network.Advise(err))
	}
	s := &Store{Client: client}
	if info, err := client.Info(ctx, "cluster").Result(); err == nil && strings.Contains(info, "cluster_enabled:1") {
		s.cluster = redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: nodes, Username: o.Username, Password: o.Password, Dialer: o.Dialer, DialTimeout: o.DialTimeout,
			MaxRetries: o.MaxRetries, DisableIdentity: true, ContextTimeoutEnabled: true,
		})
	}
	return s, nil
}

// KeepTime asks Redis for the time, again and again, until the function that it returns is called. That one closes the connections.
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

// Holder is the node that has a key.
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
