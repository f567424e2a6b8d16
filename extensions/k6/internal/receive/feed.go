package receive

import (
	"bytes"
	"context"
	"net"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// Feed is the Line of a canary whose messages arrive where those of the load do: their receiver offers it what it
// reads.
type Feed struct {
	offered chan fed
	closed  chan struct{}
	once    sync.Once
}

type fed struct {
	payload []byte
	at      socket.Arrival
}

// feedMost bounds the messages that wait for the reader.
const feedMost = 64

// NewFeed makes a Feed.
func NewFeed() *Feed { return &Feed{offered: make(chan fed, feedMost), closed: make(chan struct{})} }

// Offer hands on a copy of a message, unless too many wait.
func (f *Feed) Offer(payload []byte, at socket.Arrival) {
	select {
	case f.offered <- fed{bytes.Clone(payload), at}:
	default:
	}
}

// Read implements Line.
func (f *Feed) Read(take func(payload []byte, at socket.Arrival)) error {
	for {
		select {
		case one := <-f.offered:
			take(one.payload, one.at)
		case <-f.closed:
			return net.ErrClosed
		}
	}
}

// Retry implements Line: a Feed is never lost.
func (*Feed) Retry(context.Context, time.Duration) error { return nil }

// Close implements Line.
func (f *Feed) Close() { f.once.Do(func() { close(f.closed) }) }
