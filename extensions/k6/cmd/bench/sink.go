package main

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/receiver"
)

// sink takes what arrives, acknowledges it as the native subscriber would, and looks at nothing.
type sink struct{ taken atomic.Int64 }

// startSink holds the topics of the default flow until the row is over.
func (b *bench) startSink(ctx context.Context, address string) (*sink, error) {
	conn, err := receiver.Connect(ctx, receiver.Options{URL: address, ClientID: "sink", Dial: (&net.Dialer{}).DialContext})
	if err != nil {
		return nil, err
	}
	topics := make([]string, 100)
	for i := range topics {
		topics[i] = "messages/user/" + strconv.Itoa(i)
	}
	if err := conn.Subscribe(ctx, topics, 1); err != nil {
		conn.Close()
		return nil, err
	}
	b.closers = append(b.closers, conn.Close)
	k := &sink{}
	go func() {
		err := conn.Read("", func() int64 { return 0 }, func(_ int64, _ time.Duration, messages []receiver.Message) {
			k.taken.Add(int64(len(messages)))
		})
		if !errors.Is(err, net.ErrClosed) {
			b.say("the sink: %s", err)
		}
	}()
	return k, nil
}

func (k *sink) count() (int64, error) { return k.taken.Load(), nil }

// ignore is for a subscriber to whom nobody sends.
func ignore(net.Conn) {}
