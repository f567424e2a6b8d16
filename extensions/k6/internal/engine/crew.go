package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// crew are more senders of an open load, beside k6's VUs. The last VU that waits for a request to be due hands that
// over and waits for the next one. So as many are under way as the load needs, up to a limit: a pipeline that stands
// still delays no request that is due meanwhile.
type crew struct {
	sending *sending
	ctx     context.Context // the collecting VU's, which outlives the requests; set before the first one
	free    atomic.Int64    // VUs that wait for a request to be due

	mu    sync.Mutex
	idle  []*Sender
	made  int
	most  int // that may be made
	posts sync.WaitGroup
}

// send hands a request to a sender of the crew; false: all of them are busy. state is of a sending VU.
func (c *crew) send(state *lib.State, slot pacer.Slot) bool {
	s := c.take(state)
	if s == nil {
		return false
	}
	c.posts.Go(func() {
		s.post(c.ctx, slot)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.idle = append(c.idle, s)
	})
	return true
}

// take returns an idle sender, or makes one; nil: there are as many as may be, and none is idle.
func (c *crew) take(state *lib.State) *Sender {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		s := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return s
	}
	if c.made >= c.most {
		return nil
	}
	c.made++
	return newSender(c.sending, state)
}
