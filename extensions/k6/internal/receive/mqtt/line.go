package mqtt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// topicsPerSubscribe bounds one SUBSCRIBE packet.
const topicsPerSubscribe = 1000

// line is a subscribed connection with one reading goroutine, which reconnects it after a loss.
type line struct {
	options SubscriberOptions
	topics  []string
	qos     byte
	whole   bool   // subscribed to all of its topics
	topic   []byte // the topic of the message that is being taken

	within func(payload []byte, header body.Header) []byte // finds a canary's id; nil: it is in the payload

	mu   sync.Mutex
	conn *Subscriber // replaced under the lock; nil before the first
}

// connect opens or reopens the connection, and subscribes unless the broker still has its session.
func (l *line) connect(ctx context.Context) error {
	conn, err := l.conn, error(nil)
	if conn != nil {
		conn, err = conn.Reconnect(ctx)
	} else {
		conn, err = Connect(ctx, l.options)
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
		if errors.Is(err, mqtt.ErrRefused) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(patience), backoff.WithBackOff(&backoff.ExponentialBackOff{
		InitialInterval: 20 * time.Millisecond, MaxInterval: time.Second, Multiplier: 2, RandomizationFactor: 0.5,
	}))
	return err
}

// Listen implements receive.Session.
func (l *line) Listen(taker *receive.Taker) error {
	var m Message
	// The header fields of a message are its user properties. There is one closure for all messages, since each costs
	// memory.
	header := func(name string) string { return string(mqtt.FindUserProperty(m.Properties, name)) }
	return l.conn.Read(hops.Property, func(messages []Message) {
		for _, m = range messages {
			l.topic = m.Topic
			taker.TakeAs(taker.Within(m.Payload, header), m.Payload, m.Hops, m.Arrival)
		}
		taker.Flush()
	})
}

// Close ends the connection.
func (l *line) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		l.conn.Close()
	}
}

// Canary connects the canary, and subscribes to the topic of its target. With a filter of the user's its messages have
// the target of the first flow, since that arrives there.
func (o *Options) Canary(ctx context.Context, parts *run.Parts, m receive.Means) (*receive.Path, error) {
	target := receive.CanaryTarget(parts)
	topic := o.Prefix + target
	if o.Filter != "" {
		target, topic = parts.Profile.Flows[0].TargetOf(0), o.Filter
	}
	l := o.line(m.Network, parts.Name, "canary", []string{topic})
	if err := l.connect(ctx); err != nil {
		return nil, fmt.Errorf("%w (the canary's topic; canary: false leaves it out)", err)
	}
	if parts.Bodies.InHeader() {
		l.within = parts.Bodies.Within
	}
	path := &receive.Path{Target: target, At: topic, Line: l}
	if o.Filter != "" {
		path.Ask = ", what others publish there: FILTER"
	}
	return path, nil
}

// Read implements receive.Line.
func (l *line) Read(take func(payload []byte, at socket.Arrival)) error {
	return l.conn.Read("", func(messages []Message) {
		for _, m := range messages {
			text := m.Payload
			if l.within != nil {
				text = l.within(text,
					func(name string) string { return string(mqtt.FindUserProperty(m.Properties, name)) })
			}
			take(text, m.Arrival)
		}
	})
}
