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

// startSink holds the topics of the default flow until the row is over. rest is how long it leaves the broker alone once it has read all
// that there was: 0 is a subscriber as others are, which is woken for each message while the broker keeps up.
func (b *bench) startSink(ctx context.Context, address string, rest time.Duration) (*sink, error) {
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil || rest == 0 {
			return conn, err
		}
		return &resting{Conn: conn, rest: rest}, nil
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

// resting is a connection whose reads let bytes gather.
type resting struct {
	net.Conn
	rest  time.Duration
	empty bool // the last read took all that there was
}

func (r *resting) Read(p []byte) (int, error) {
	if r.empty {
		time.Sleep(r.rest)
	}
	n, err := r.Conn.Read(p)
	r.empty = n < len(p)
	return n, err
}

func (k *sink) count() (int64, error) { return k.taken.Load(), nil }

// ignore is for a subscriber to whom nobody sends.
func ignore(net.Conn) {}
