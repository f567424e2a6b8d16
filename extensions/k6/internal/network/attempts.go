package network

import (
	"context"
	"errors"
	"net"
	"time"
)

// An address whose server is gone, as of a pod that moved, may swallow packets. So the first attempt to connect is
// short, and the next one goes to where the name leads by then. Each may take twice as long as the one before, for slow
// networks.
const (
	firstAttempt = 2 * time.Second
	lastAttempt  = 16 * time.Second
)

// DialContext connects through k6's dialer. Where an attempt fails, it looks the name up anew; where one gets no
// answer in time, it makes another one, until the context ends.
func (n Network) DialContext(ctx context.Context, protocol, address string) (net.Conn, error) {
	for most := firstAttempt; ; most *= 2 {
		conn, isLate, err := n.attempt(ctx, most, protocol, address)
		if !isLate || most >= lastAttempt {
			return conn, err
		}
	}
}

// attempt makes one attempt, and reports whether it, and not the caller's context, ran out of time.
func (n Network) attempt(ctx context.Context, most time.Duration, protocol, address string) (net.Conn, bool, error) {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	conn, err := n.dial(limited, protocol, address)
	var timed net.Error // the dialer's own timer may end before the context
	return conn, errors.As(err, &timed) && timed.Timeout() && ctx.Err() == nil, err
}
