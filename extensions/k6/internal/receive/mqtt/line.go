package mqtt

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receiver"
)

// topicsPerSubscribe bounds one SUBSCRIBE packet.
const topicsPerSubscribe = 1000

// line is a subscribed connection with one reading goroutine, which reconnects it after a loss.
type line struct {
	options receiver.Options
	topics  []string
	qos     byte
	whole   bool   // subscribed to all of its topics
	topic   []byte // of the message that is taken

	within func(payload []byte, header body.Header) []byte // of a canary: where its ids stand; nil: in the payload

	mu   sync.Mutex
	conn *receiver.Conn // replaced under the lock; nil before the first
}

// connect opens or reopens the connection, and subscribes unless the broker still has its session.
func (l *line) connect(ctx context.Context) error {
	conn, err := l.conn, error(nil)
	if conn != nil {
		conn, err = conn.Reconnect(ctx)
	} else {
		conn, err = receiver.Connect(ctx, l.options)
	}
	if err != nil {
		return network.Advise(err)
	}
	if !conn.SessionPresent() || !l.whole {
		l.whole = false
		for some := range slices.Chunk(l.topics, topicsPerSubscribe) {
			if err := conn.Subscribe(ctx, some, l.qos); err != nil {
				conn.Close()
				return err
			}
		}
	}
	l.whole = true
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		conn.Close()
		return ctx.Err()
	}
	l.conn = conn
	return nil
}

// Retry reconnects after a loss, and retries until patience has passed.
func (l *line) Retry(ctx context.Context, patience time.Duration) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := l.connect(ctx)
		if errors.Is(err, imqtt.ErrRefused) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(patience), backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: 20 * time.Millisecond, MaxInterval: time.Second, Multiplier: 2, RandomizationFactor: 0.5,
	}))
	return err
}

// Close ends the connection.
func (l *line) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.Close()
	}
}
