package arrival

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receiver"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
)

// canary sends one message a second all the way round, over connections of its own and to a topic of its own. Where the load
// is slow and the canary is slow, the pipeline is; where the canary is fast, it is what only the load has: its
// connections, and the instrument behind them. It is no part of the account.
type canary struct {
	engine *engine
	poster *poster
	conn   *receiver.Conn
	body   string // up to the number
	tail   string // after it
	topic  string
	greets chan struct{} // holds a token when the greeting has arrived
	work   sync.WaitGroup
	land   context.CancelFunc // ends all of it

	mu      sync.Mutex
	sent    int
	seconds []float64 // latency of the one that was due in each second, ms; below 0: has not arrived
	latency ledger.Series
}

// canaryEvery is the time between two of its messages.
const canaryEvery = time.Second

// newCanary connects and subscribes. It sends nothing before fly.
func (e *engine) newCanary(ctx context.Context, state *lib.State) (*canary, error) {
	target := "canary/" + e.name
	before, after := e.options.fixed(e.name+".canary.", target)
	c := &canary{
		engine: e, poster: newPoster(e, state), latency: ledger.NewSeries(), greets: make(chan struct{}, 1),
		body: before, tail: after, topic: e.options.MQTT.Prefix + target,
	}
	var err error
	if c.conn, err = receiver.Connect(ctx, e.receiverOptions(state, "canary")); err != nil {
		return nil, err
	}
	if err := c.conn.Subscribe(ctx, []string{c.topic}, byte(e.options.MQTT.QoS)); err != nil {
		c.conn.Close()
		return nil, fmt.Errorf("%w (the canary's topic; canary: false leaves it out)", err)
	}
	ctx, c.land = context.WithCancel(ctx)
	c.work.Go(func() { c.listen(ctx) })
	return c, nil
}

// greeting is the number of a message that is sent before the run.
const greeting = 999_999_999_999

// greet sends a message all the way round, so that a caller learns before its load that nothing would arrive.
func (c *canary) greet(ctx context.Context) error {
	o := c.engine.options
	a := c.poster.post(time.Now(), []byte(c.body+strconv.Itoa(greeting)+c.tail), 1)
	switch {
	case a.err != nil:
		return fmt.Errorf("the ingest %s can't be reached (INGEST_URL): %w", mask(o.Ingest.URL), advise(a.err))
	case a.status == http.StatusBadRequest:
		return fmt.Errorf("the ingest %s refuses messages: HTTP 400 %s; has it another name for the id than %s?", mask(o.Ingest.URL), excerpt(a.body()), o.ID)
	case a.status >= 300:
		return fmt.Errorf("the ingest %s refuses messages: HTTP %d %s", mask(o.Ingest.URL), a.status, excerpt(a.body()))
	}
	select {
	case <-c.greets:
		return nil
	case <-time.After(o.Drain.duration()):
		return fmt.Errorf("a first message was accepted, and did not arrive on %s within %s (canary: false leaves it out)", c.topic, o.Drain.duration())
	case <-ctx.Done():
		return errStopped
	}
}

// fly sends until the schedule is over.
func (c *canary) fly(ctx context.Context) {
	c.work.Go(func() { c.send(ctx) })
}

func (c *canary) send(ctx context.Context) {
	e := c.engine
	for n := 0; e.Pacer.Closed() || n < int(e.options.profile.Duration()/canaryEvery); n++ {
		if !clock.SleepUntil(ctx, e.Halted, c.due(n)) || e.turns.Over() {
			return
		}
		c.mu.Lock()
		c.sent++
		c.seconds = append(c.seconds, -1)
		c.mu.Unlock()
		a := c.poster.post(time.Now(), []byte(c.body+strconv.Itoa(n)+c.tail), 1)
		switch {
		case a.err != nil:
			c.engine.count("canary", classOf(a.err), a.err.Error())
		case a.status >= 300:
			c.engine.count("canary", "HTTP "+strconv.Itoa(a.status), excerpt(a.body()))
		}
	}
}

// due is the middle of each second: the cuts of the timeline are elsewhere.
func (c *canary) due(n int) time.Time {
	return c.engine.Epoch.Add(time.Duration(n)*canaryEvery + canaryEvery/2)
}

// listen reads until the run ends, and connects anew where the connection is lost.
func (c *canary) listen(ctx context.Context) {
	prefix := []byte(c.engine.name + ".canary.")
	for {
		err := c.conn.Read("", func(messages []receiver.Message) {
			for _, m := range messages {
				if n, ok := numberAfter(m.Payload, prefix, false); ok {
					c.arrive(n, c.engine.Clock.At(m.At))
				}
			}
		})
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return
		}
		c.engine.count("canary", "connection lost", err.Error())
		if _, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, c.reconnect(ctx) },
			backoff.WithMaxElapsedTime(c.engine.comeBack), backoff.WithBackOff(reconnectWaits())); err != nil {
			c.engine.count("canary", "did not come back", err.Error())
			return
		}
	}
}

func (c *canary) reconnect(ctx context.Context) error {
	conn, err := c.conn.Reconnect(ctx)
	if err != nil {
		return err
	}
	if err := conn.Subscribe(ctx, []string{c.topic}, byte(c.engine.options.MQTT.QoS)); err != nil {
		conn.Close()
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		conn.Close()
		return ctx.Err()
	}
	c.conn = conn
	return nil
}

// settle waits for the last of its messages, not longer than a while.
func (c *canary) settle(ctx context.Context) {
	for end := time.Now().Add(canaryEvery); time.Now().Before(end) && ctx.Err() == nil; {
		c.mu.Lock()
		missing := c.sent - int(c.latency.Count)
		c.mu.Unlock()
		if missing == 0 {
			return
		}
		clock.SleepUntil(ctx, nil, time.Now().Add(look))
	}
}

func (c *canary) arrive(n int, at int64) {
	if n == greeting {
		select {
		case c.greets <- struct{}{}:
		default: // a duplicate
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n >= len(c.seconds) || c.seconds[n] >= 0 {
		return
	}
	us := max(0, at-c.engine.Clock.At(c.due(n)))
	c.seconds[n] = float64(us) / 1000
	c.latency.Add(us)
}

// at is the latency of the message that was due in a second of the run; nil when it has not arrived.
func (c *canary) at(second int) *float64 {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if second >= len(c.seconds) || c.seconds[second] < 0 {
		return nil
	}
	return new(c.seconds[second])
}

func (c *canary) describe(lossless bool) *report.Canary {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return &report.Canary{
		Sent: c.sent, Arrived: int(c.latency.Count), IntervalS: canaryEvery.Seconds(),
		Latency: report.NewLatency(&c.latency, lossless),
	}
}

func (c *canary) close() {
	c.land()
	c.mu.Lock()
	c.conn.Close()
	c.mu.Unlock()
	c.work.Wait()
}
