package arrival

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/grafana/sobek"
	"github.com/sirupsen/logrus"

	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/arrived"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

const (
	// consumersMost is how long the consumers of a script may take to connect and subscribe.
	consumersMost = 20 * time.Second
	// consumersLast is how long a consumer may take to end after the run.
	consumersLast = 10 * time.Second
	// probe is the interval at which a consumer's event loop is looked at. With many consumers it is longer: all
	// of them together cost at most as many looks as probesMost consumers.
	probe      = 2 * time.Millisecond
	probesMost = 8
)

// consumers are the VUs of a script that receives.
type consumers struct {
	wanted int  // that the run waits for
	fanOut bool // each has a subscriber's number of its own

	ready chan struct{} // closed when as many as wanted have subscribed
	over  chan struct{} // closed when the run has collected everything, or has failed
	end   sync.Once

	mu         sync.Mutex
	subscribed int
}

func newConsumers(o *options) *consumers {
	c := &consumers{ready: make(chan struct{}), over: make(chan struct{})}
	if o.Arrived != nil {
		c.wanted, c.fanOut = o.Arrived.Count(o.profile), o.profile.Subscribers() > 1
	}
	return c
}

// next counts a consumer, and returns its number.
func (c *consumers) next() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribed++; c.subscribed == c.wanted {
		close(c.ready)
	}
	return c.subscribed
}

func (c *consumers) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subscribed
}

// release lets the consumers end.
func (c *consumers) release() { c.end.Do(func() { close(c.over) }) }

// awaitConsumers waits until the script's consumers have subscribed, so that nothing is sent that nobody receives.
func (e *engine) awaitConsumers(ctx context.Context) error {
	c := e.consumers
	if c.wanted == 0 || e.external != nil { // a caller starts the schedule when it receives
		return nil
	}
	patience := time.NewTimer(consumersMost)
	defer patience.Stop()
	select {
	case <-c.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-patience.C:
		return fmt.Errorf("%d of %d consumers have called run.subscribed() within %s: "+
			"a scenario's function has to call it when its connection would receive every message (run.scenarios() "+
			"has one that calls consumer(); "+
			"arrived.consumers says how many there are)", c.count(), c.wanted, consumersMost)
	}
}

// consumer is a VU that receives.
type consumer struct {
	number int             // from 1
	fanOut bool            // its number is that of its subscriber
	ctx    context.Context // of its iteration
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
func (c *consumer) subscriber(e *engine, given int) (int, error) {
	switch {
	case given > 0:
		return given - 1, nil
	case c == nil || !c.fanOut:
		return 0, nil
	}
	if err := e.checkSubscriber(c.number); err != nil {
		return 0, fmt.Errorf("by consumer %d does not say which subscriber received the message: %w", c.number, err)
	}
	return c.number - 1, nil
}

// checkSubscriber refuses the number of a subscriber, from 1, that the run does not have.
func (e *engine) checkSubscriber(n int) error {
	if most := e.options.profile.Subscribers(); n < 1 || n > most {
		return fmt.Errorf("subscriber %d; allowed: 1 to %d (a message's deliveries in the profile, or "+
			"arrived.consumers)", n, most)
	}
	return nil
}

// subscribed is run.subscribed(): this VU receives every message that is sent from now on. The promise that it returns
// is resolved when the run has collected everything.
func (m *instance) subscribed(e *engine) sobek.Value {
	state := m.inScenario("run.subscribed()")
	ctx := m.vu.Context()
	switch {
	case e.options.Arrived == nil:
		m.refuse("run.subscribed()", errors.New("is for a run with the option arrived: {}"))
	case m.consumer != nil && m.consumer.ctx == ctx:
		return m.consumer.ended
	}
	c := &consumer{ctx: ctx, fanOut: e.consumers.fanOut}
	if m.consumer != nil { // of an earlier iteration
		c.number = m.consumer.number
		if r, ok := e.receives().(*arrived.Receiver); ok {
			r.Back(c.number)
		}
	} else {
		c.number = e.consumers.next()
	}
	m.consumer = c
	promise, resolve, _ := m.vu.Runtime().NewPromise()
	c.ended = m.vu.Runtime().ToValue(promise)
	e.waiting.Add(1) // for the run to begin, like the senders
	go func() {
		select {
		case <-e.Started:
		case <-ctx.Done():
		case <-e.consumers.over:
		}
		e.waiting.Add(-1)
	}()
	go c.watch(e, m.vu.RegisterCallback(), m.vu.RegisterCallback, func() error { return resolve(nil) }, state.Logger)
	return c.ended
}

// watch looks how late the event loop is, and resolves the promise in it at the end of the run. again registers another
// callback; it may be called in the event loop only.
func (c *consumer) watch(e *engine, callback func(func() error), again func() func(func() error), resolve func() error,
	logger logrus.FieldLogger) {
	looks := time.NewTicker(probe * time.Duration(max(1, e.consumers.wanted/probesMost)))
	defer looks.Stop()
	callbacks := make(chan func(func() error), 1)
	callbacks <- callback
	for {
		select {
		case <-e.consumers.over:
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
	case <-time.After(consumersLast):
		logger.Warnf("consumer %d has not ended %s after the run: its function has to close what it receives from "+
			"when the promise of run.subscribed() resolves, or when run.receiving() is false", c.number, consumersLast)
	}
}

// abandon records that the consumer ended before the run.
func (c *consumer) abandon(e *engine, callbacks <-chan func(func() error)) {
	(<-callbacks)(func() error { return nil }) // k6 waits until each callback has been called, and runs a waiting probe
	if r, ok := e.receives().(*arrived.Receiver); ok {
		r.Lost(c.number, "its iteration ended before the run: did it throw? k6's log says it")
	}
}
