package receive

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receiver"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
)

// Canary sends one message a second through the pipeline, over its own connections and to its own topic. If
// load and canary are slow, the pipeline is slow. If only the load is slow, the cause is the load's connections
// or the instrument behind them. Its messages are not part of the account.
type Canary struct {
	Circling
	*run.Parts
	poster *send.Poster
	line   *line
	body   string // before the number
	tail   string // after it
	topic  string
	greets chan struct{} // holds a token when the greeting has arrived
	work   sync.WaitGroup
	land   context.CancelFunc // ends everything

	mu      sync.Mutex
	sent    int
	seconds []float64 // latency of the message due in each second, ms; negative: not arrived
	latency ledger.Series
}

// Circling are the settings of a Canary.
type Circling struct {
	MQTT     Options
	Ingest   send.Ingest
	Timeout  time.Duration // of a request
	Format   body.Format
	Network  network.Network
	Patience time.Duration // how long a broker may be unreachable
	Drain    time.Duration // how long the greeting may take
}

// every is the interval between messages.
const every = time.Second

// NewCanary connects and subscribes. It sends nothing before Fly or Greet.
func NewCanary(ctx context.Context, parts *run.Parts, o Circling) (*Canary, error) {
	target := "canary/" + parts.Name
	before, after := o.Format.Fixed(parts.Name+".canary.", target)
	c := &Canary{
		Circling: o, Parts: parts, poster: send.NewPoster(o.Ingest, o.Network, o.Timeout), latency: ledger.NewSeries(),
		greets: make(chan struct{}, 1), body: before, tail: after, topic: o.MQTT.Prefix + target,
	}
	c.line = o.MQTT.line(o.Network, parts.Name, "canary", []string{c.topic})
	if err := c.line.connect(ctx); err != nil {
		return nil, fmt.Errorf("%w (the canary's topic; canary: false leaves it out)", err)
	}
	ctx, c.land = context.WithCancel(ctx)
	c.work.Go(func() { c.listen(ctx) })
	return c, nil
}

// greeting is the number of the message that is sent before the run.
const greeting = 999_999_999_999

// Greet sends a message through the pipeline, so that a caller learns before its load whether messages arrive.
func (c *Canary) Greet(ctx context.Context) error {
	a := c.post(greeting)
	at := report.Mask(c.Ingest.URL)
	switch {
	case a.Err != nil:
		return fmt.Errorf("the ingest %s can't be reached (INGEST_URL): %w", at, network.Advise(a.Err))
	case a.Status == http.StatusBadRequest:
		return fmt.Errorf("the ingest %s refuses messages: HTTP 400 %s; has it another name for the id than %s?", at, a.Excerpt(), c.Format.ID)
	case a.Status >= 300:
		return fmt.Errorf("the ingest %s refuses messages: HTTP %d %s", at, a.Status, a.Excerpt())
	}
	select {
	case <-c.greets:
		return nil
	case <-time.After(c.Drain):
		return fmt.Errorf("a first message was accepted, and did not arrive on %s within %s (canary: false leaves it out)", c.topic, c.Drain)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Canary) post(n int) send.Answer {
	return c.poster.Post(time.Now(), []byte(c.body+strconv.Itoa(n)+c.tail), 1)
}

// Fly starts sending, until over is closed or for the length of the load; 0: not known.
func (c *Canary) Fly(ctx context.Context, load time.Duration, over func() bool) {
	c.work.Go(func() { c.send(ctx, load, over) })
}

func (c *Canary) send(ctx context.Context, load time.Duration, over func() bool) {
	for n := 0; load == 0 || n < int(load/every); n++ {
		if !clock.SleepUntil(ctx, c.Halted, c.Epoch.Add(due(n))) || over() {
			return
		}
		c.mu.Lock()
		c.sent++
		c.seconds = append(c.seconds, -1)
		c.mu.Unlock()
		a := c.post(n)
		switch {
		case a.Err != nil:
			c.Count("canary", network.ClassOf(a.Err), a.Err.Error())
		case a.Status >= 300:
			c.Count("canary", "HTTP "+strconv.Itoa(a.Status), a.Excerpt())
		}
	}
}

// due is the middle of each second since the epoch, away from the timeline's ticks.
func due(n int) time.Duration { return time.Duration(n)*every + every/2 }

// listen reads until the run ends, and reconnects after a loss.
func (c *Canary) listen(ctx context.Context) {
	prefix := []byte(c.Name + ".canary.")
	for {
		err := c.line.conn.Read("", func(messages []receiver.Message) {
			for _, m := range messages {
				if n, ok := body.NumberAfter(m.Payload, prefix, false); ok {
					c.arrive(n, c.Clock.At(m.At))
				}
			}
		})
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return
		}
		c.Count("canary", "connection lost", err.Error())
		if err := c.line.retry(ctx, c.Patience); err != nil {
			c.Count("canary", "did not come back", err.Error())
			return
		}
	}
}

// look is the interval of the check whether all messages have arrived.
const look = 20 * time.Millisecond

// Settle waits for the last messages, up to a limit.
func (c *Canary) Settle(ctx context.Context) {
	for end := time.Now().Add(every); time.Now().Before(end) && ctx.Err() == nil; {
		c.mu.Lock()
		missing := c.sent - int(c.latency.Count)
		c.mu.Unlock()
		if missing == 0 {
			return
		}
		clock.SleepUntil(ctx, nil, time.Now().Add(look))
	}
}

func (c *Canary) arrive(n int, at int64) {
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
	us := max(0, at-c.Clock.At(c.Epoch.Add(due(n))))
	c.seconds[n] = float64(us) / 1000
	c.latency.Add(us)
}

// At is the latency of the message that was due in a second of the run; nil: not arrived.
func (c *Canary) At(second int) *float64 {
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

// Describe is the canary's part of the report. lossless adds the histogram.
func (c *Canary) Describe(lossless bool) *report.Canary {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return &report.Canary{
		Sent: c.sent, Arrived: int(c.latency.Count), IntervalS: every.Seconds(),
		Latency: report.NewLatency(&c.latency, lossless),
	}
}

func (c *Canary) Close() {
	c.land()
	c.line.close()
	c.work.Wait()
}
