package main

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync/atomic"

	"github.com/arrival-bench/arrival/extensions/k6/internal/receiver"
)

// sink takes what arrives, acknowledges it as the native subscriber would, and looks at nothing.
type sink struct{ taken atomic.Int64 }

// startSink holds the topics of the default flow until the row is over. Once so many bytes lie in its socket it is woken: 1 is a
// subscriber as others are, which is woken for each message while the broker keeps up.
func (b *bench) startSink(ctx context.Context, address string, wakes int) (*sink, error) {
	var stream net.Conn
	dial := func(ctx context.Context, network, address string) (conn net.Conn, err error) {
		stream, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return stream, err
	}
	conn, err := receiver.Connect(ctx, receiver.Options{URL: address, ClientID: "sink", Dial: dial})
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
	if wakes > 1 { // from here on: answers of the broker are shorter
		if err := wakeAt(stream, wakes); err != nil {
			return nil, err
		}
	}
	k := &sink{}
	go func() {
		err := conn.Read("", func(messages []receiver.Message) {
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
