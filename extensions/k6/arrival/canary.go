package arrival

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.k6.io/k6/v2/lib"

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
		engine: e, poster: newPoster(e, state), latency: ledger.NewSeries(),
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

// fly sends until the schedule is over.
func (c *canary) fly(ctx context.Context) {
	c.work.Go(func() { c.send(ctx) })
}

func (c *canary) send(ctx context.Context) {
	e := c.engine
	for n := 0; e.pacer.Closed() || n < int(e.options.profile.Duration()/canaryEvery); n++ {
		if !sleepUntil(ctx, e.halted, c.due(n)) || e.turn.Load().over {
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
	return c.engine.epoch.Add(time.Duration(n)*canaryEvery + canaryEvery/2)
}

// listen reads until the run ends, and connects anew where the connection is lost.
func (c *canary) listen(ctx context.Context) {
	prefix := []byte(c.engine.name + ".canary.")
	for {
		err := c.conn.Read("", func(messages []receiver.Message) {
			for _, m := range messages {
				if n, ok := numberAfter(m.Payload, prefix, false); ok {
					c.arrive(n, c.engine.clock.At(m.At))
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
		sleepUntil(ctx, nil, time.Now().Add(look))
	}
}

func (c *canary) arrive(n int, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n >= len(c.seconds) || c.seconds[n] >= 0 {
		return
	}
	us := max(0, at-c.engine.clock.At(c.due(n)))
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
