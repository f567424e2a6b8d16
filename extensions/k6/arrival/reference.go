package arrival

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"go.k6.io/k6/v2/lib"
)

// redisPatience is how long a connection to Redis may take, unless its URL says it.
const redisPatience = 5 * time.Second

// connectRedis connects to the Redis that is the clock of the run, and takes the first estimate. It returns nil where the
// run has none: then the pipeline's stamps are left aside, and only this process's own clock counts.
func (e *engine) connectRedis(ctx context.Context, state *lib.State) (*store, error) {
	if e.options.Redis.URL == "" {
		return nil, nil
	}
	client, err := e.redisClient(state, e.options.Redis.URL, "redis.url (REDIS_URL)")
	if err != nil {
		return nil, err
	}
	if err := e.Clock.Probe(ctx, client); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("redis %s can't be used as the run's clock (REDIS_URL): %w", client.Options().Addr, advise(err))
	}
	return openStore(ctx, client, e.options.Redis.URL), nil
}

// redisClient makes a client that speaks through the VU's dialer. It connects when it is used; option names the URL in an error. Of a cluster it is
// a client of the first node.
func (e *engine) redisClient(state *lib.State, address, option string) (*redis.Client, error) {
	o, _, err := parseRedis(address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, withoutURL(err))
	}
	o.Dialer = state.Dialer.DialContext
	o.DialTimeout = cmp.Or(o.DialTimeout, redisPatience)
	if secure := o.TLSConfig; secure != nil { // rediss: go-redis leaves it to the dialer
		own := e.trust.config(state)
		own.ServerName = secure.ServerName
		o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := state.Dialer.DialContext(ctx, network, address)
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
	return redis.NewClient(o), nil
}

// keepTime asks Redis for the time, again and again, until the function that it returns is called. That one closes the client.
func (e *engine) keepTime(ctx context.Context, client *store) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Clock.Keep(ctx, client.Client)
	}()
	return func() {
		cancel()
		<-done
		_ = client.Close()
	}
}
