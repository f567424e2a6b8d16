package mqtt

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/sirupsen/logrus"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
)

// linkOptions is what a connection attempt needs besides the server.
type linkOptions struct {
	hello                   mqttwire.Connect
	session                 *session
	timeout, requestTimeout time.Duration
	dialer                  lib.DialContexter
	tls                     *tls.Config
	logger                  logrus.FieldLogger
	onMessage               func(*link, *incoming)
	onLost                  func(*link)
}

// openLink connects to one server and blocks until the broker's CONNACK, an error, connect_timeout or the context's end.
func openLink(ctx context.Context, s *server, o *linkOptions) (*link, error) {
	l := &link{
		ctx: ctx, limit: o.requestTimeout, logger: o.logger, onMessage: o.onMessage, onLost: o.onLost,
		over: make(chan struct{}), gone: make(chan struct{}),
	}
	hello := o.hello
	if hello.Username == "" && hello.Password == "" {
		hello.Username, hello.Password = s.Username, s.Password
	}
	limited, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	conn, err := s.open(limited, o.dialer, o.tls)
	if err != nil {
		return nil, connectError(s, err, o.timeout)
	}
	stop := context.AfterFunc(limited, func() { _ = conn.Close() }) // the wait for CONNACK has no context
	l.wire, err = connectWire(conn, &hello, o.session, l)
	inTime := stop()
	switch {
	case err == nil && !inTime: // CONNACK came together with the end of the wait
		l.abort(limited.Err())
		err = limited.Err()
	case !inTime:
		err = limited.Err()
	case err != nil:
		_ = conn.Close()
	}
	if err != nil {
		return nil, connectError(s, err, o.timeout)
	}
	return l, nil
}
