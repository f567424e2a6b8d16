package arrival

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"

	"github.com/arrival-bench/arrival/extensions/k6/internal/engine"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/arrived"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

const (
	// probe is the interval at which a consumer's event loop is looked at. With many consumers it is longer: all
	// of them together cost at most as many looks as probesMost consumers.
	probe      = 2 * time.Millisecond
	probesMost = 8
)

// consumer is a VU that receives.
type consumer struct {
	number int             // its number, from 1
	fanOut bool            // its subscriber has the same number
	ctx    context.Context // ends with its iteration
	ended  sobek.Value     // the promise that run.subscribed() returned

	seen  atomic.Bool               // its event loop has run a probe in this iteration
	asked atomic.Pointer[time.Time] // since when a probe waits for the event loop; nil: none does
}

// late is how long the message that is handled now may have waited for the event loop; negative: that is not known,
// because a call that blocks the loop receives there.
func (c *consumer) late(now time.Time) time.Duration {
	if c == nil || !c.seen.Load() {
		return socket.Unknown
	}
	if asked := c.asked.Load(); asked != nil {
		return max(0, now.Sub(*asked))
	}
	return 0
}

// subscriber is the number of a subscriber in the ledger, from the one that the script gave; 0: none. Where each
// message is due once, all consumers are one subscriber: a second copy is a duplicate.
func (c *consumer) subscriber(e *engine.Engine, given int) (int, error) {
	switch {
	case given > 0:
		return given - 1, nil
	case c == nil || !c.fanOut:
		return 0, nil
	}
	if err := e.CheckSubscriber(c.number); err != nil {
		return 0, fmt.Errorf("by consumer %d does not say which subscriber received the message: %w", c.number, err)
	}
	return c.number - 1, nil
}

// subscribed is run.subscribed(): this VU receives every message that is sent from now on. The promise that it returns
// is resolved when the run has collected everything.
func (m *instance) subscribed(e *engine.Engine) sobek.Value {
	state := m.inScenario("run.subscribed()")
	ctx := m.vu.Context()
	switch {
	case !e.Arrives():
		m.refuse("run.subscribed()", errors.New("is for a run with the option arrived: {}"))
	case m.consumer != nil && m.consumer.ctx == ctx:
		return m.consumer.ended
	}
	c := &consumer{ctx: ctx, fanOut: e.Consumers().FanOut}
	if m.consumer != nil { // it had an earlier iteration
		c.number = m.consumer.number
		if r, ok := e.Receiver().(*arrived.Receiver); ok {
			r.Back(c.number)
		}
	} else {
		c.number = e.Consumers().Next()
	}
	m.consumer = c
	promise, resolve, _ := m.vu.Runtime().NewPromise()
	c.ended = m.vu.Runtime().ToValue(promise)
	e.Await(ctx) // counts this VU among those that wait for the run to begin
	go c.watch(e, m.vu.RegisterCallback(), m.vu.RegisterCallback, func() error { return resolve(nil) }, state.Logger)
	return c.ended
}

// watch looks how late the event loop is, and resolves the promise in it at the end of the run. again registers another
// callback; it may be called in the event loop only.
func (c *consumer) watch(e *engine.Engine, callback func(func() error), again func() func(func() error),
	resolve func() error, logger logrus.FieldLogger) {
	looks := time.NewTicker(probe * time.Duration(max(1, e.Consumers().Wanted/probesMost)))
	defer looks.Stop()
	callbacks := make(chan func(func() error), 1)
	callbacks <- callback
	for {
		select {
		case <-e.Consumers().Over():
			c.finish(callbacks, resolve, logger)
			return
		case <-c.ctx.Done():
			c.abandon(e, callbacks)
			return
		case <-looks.C:
		}
		select {
		case callback = <-callbacks:
		default: // the last probe waits
			continue
		}
		now := time.Now()
		c.asked.Store(&now)
		callback(func() error {
			c.asked.Store(nil)
			c.seen.Store(true)
			callbacks <- again()
			return nil
		})
	}
}

// finish resolves the promise. A consumer that goes on nevertheless is named: k6 waits for it.
func (c *consumer) finish(callbacks <-chan func(func() error), resolve func() error, logger logrus.FieldLogger) {
	(<-callbacks)(resolve)
	select {
	case <-c.ctx.Done():
	case <-time.After(engine.ConsumersLast):
		logger.Warnf("consumer %d has not ended %s after the run: its function has to close what it receives from "+
			"when the promise of run.subscribed() resolves, or when run.receiving() is false", c.number, engine.ConsumersLast)
	}
}

// abandon records that the consumer ended before the run.
func (c *consumer) abandon(e *engine.Engine, callbacks <-chan func(func() error)) {
	(<-callbacks)(func() error { return nil }) // k6 waits until each callback has been called, and runs a waiting probe
	if r, ok := e.Receiver().(*arrived.Receiver); ok {
		r.Lost(c.number, "its iteration ended before the run: did it throw? k6's log says it")
	}
}
