package receive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

// Canary sends one message a second through the pipeline, over its own connections and to its CanaryTarget. If
// load and canary are slow, the pipeline is slow. If only the load is slow, the cause is the load's connections
// or the instrument behind them. Its messages are not part of the account.
type Canary struct {
	CanaryOptions
	*run.Parts
	*Path
	messages *body.Single
	poster   *send.Poster
	secrets  *strings.Replacer
	greets   chan welcome // holds the first greeting that arrived
	ended    chan error   // holds why nothing can arrive any more
	work     sync.WaitGroup
	stop     context.CancelFunc

	left    map[int]time.Time // when each greeting left; for who greets
	slowest time.Duration     // until the answer to a greeting

	mu      sync.Mutex
	others  Others // what else came
	sent    int
	seconds []float64 // latency of the message due in each second, ms; negative: not arrived
	latency ledger.Series
}

// CanaryTarget is the target of a canary: its own, or the first where targets have names, as a pipeline may refuse
// others.
func CanaryTarget(parts *run.Parts) string {
	if flows := parts.Profile.Flows; len(flows) > 0 && flows[0].Names != nil {
		return flows[0].TargetOf(0)
	}
	return "canary/" + parts.Name
}

// Path is where the messages of a canary arrive.
type Path struct {
	Target string // that they name
	At     string // the address of that target at the receiving end, without secrets
	Ask    string // what a user who gets other messages there may have to set; empty: nothing
	IDs    bool   // an id alone may arrive in place of its message
	Lines  bool   // line ends arrive as LF, whichever were sent
	// Answered means that nothing arrives: a request has gone round when it is answered.
	Answered bool
	Line
}

// Line is a connection of one reader, which it restores after a loss.
type Line interface {
	// Read hands on what arrives, until the connection ends. It returns net.ErrClosed after Close.
	Read(take func(payload []byte, at socket.Arrival)) error
	// Retry restores the connection, and retries until patience has passed.
	Retry(ctx context.Context, patience time.Duration) error
	Close()
}

// CanaryOptions are the settings of a Canary.
type CanaryOptions struct {
	Ingest  send.Ingest
	Timeout time.Duration // of one request
	Format  body.Format
	Drain   time.Duration // how long the first message may take
	// Greeting is how long a first message may take that is all of a run; 0: as Drain says.
	Greeting time.Duration
	// Step gets what the first message comes through, in order; nil: nobody asks.
	Step func(step, what string)
	Means
}

// canaryPrefix begins the ids of a run's canary.
func canaryPrefix(parts *run.Parts) string { return parts.Name + ".canary." }

// every is the interval between messages.
const every = time.Second

// NewCanary makes the canary of a path, and listens. It sends nothing before Start or Greet.
func NewCanary(ctx context.Context, parts *run.Parts, at *Path, o CanaryOptions) *Canary {
	c := &Canary{
		CanaryOptions: o, Parts: parts, Path: at, poster: send.NewPoster(o.Ingest, o.Network, o.Timeout),
		messages: body.NewSingle(o.Format, canaryPrefix(parts), at.Target), secrets: o.Ingest.Secrets(),
		greets: make(chan welcome, 1), ended: make(chan error, 1), left: map[int]time.Time{},
	}
	c.poster.Target = []byte(at.Target)
	ctx, c.stop = context.WithCancel(ctx)
	c.work.Go(func() { c.listen(ctx) })
	return c
}

func (c *Canary) post(n int) send.Result {
	a := c.poster.Post(time.Now(), c.messages.Message(n), 1)
	a.Secrets = c.secrets
	return a
}

// Start starts sending, until over or for the length of the load; 0: not known.
func (c *Canary) Start(ctx context.Context, load time.Duration, over func() bool) {
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
		c.note(c.post(n))
	}
}

// note counts an answer that does not accept the message.
func (c *Canary) note(a send.Result) {
	switch {
	case a.Err != nil:
		c.Count("canary", network.ClassOf(a.Err), a.Err.Error())
	case a.Status >= 300:
		_, class, example := a.Outcome(c.Timeout)
		c.Count("canary", class, example)
	}
}

// due is the middle of each second since the epoch, away from the timeline's ticks.
func due(n int) time.Duration { return time.Duration(n)*every + every/2 }

// listen reads until the run ends, and reconnects after a loss.
func (c *Canary) listen(ctx context.Context) {
	for short := 0; ; {
		since := time.Now()
		err := c.Read(c.take)
		if errors.Is(err, net.ErrClosed) || ctx.Err() != nil {
			return
		}
		c.Count("canary", runfile.LostClass, words.Printable(err.Error()))
		if short++; time.Since(since) > shortLived {
			short = 0
		}
		if short == shortMost {
			err = fmt.Errorf("%w (%d connections in a row did not last %s)", err, short, shortLived)
		} else {
			err = c.Retry(ctx, c.Patience)
		}
		if err != nil {
			c.Count("canary", "did not come back", words.Printable(err.Error()))
			c.ended <- err
			return
		}
	}
}

// take notes a message that arrived.
func (c *Canary) take(payload []byte, at socket.Arrival) {
	numbers := c.messages.Numbers(payload)
	for _, n := range numbers {
		if n > greetingFirst-greetingsMost {
			c.welcome(n, payload, at.At, len(numbers) == 1)
		} else {
			c.arrive(n, c.Clock.At(at.At))
		}
	}
	if len(numbers) == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.others.Add(payload)
		if c.others.changed == nil && c.messages.Mentions(payload) {
			c.others.changed = bytes.Clone(c.others.last)
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if n >= len(c.seconds) || c.seconds[n] >= 0 {
		return
	}
	us := max(0, at-c.Clock.At(c.Epoch.Add(due(n))))
	c.seconds[n] = float64(us) / 1000
	c.latency.Add(us)
}

// LatencyOf is the latency of the message that was due in a second of the run, in ms; nil: it has not arrived.
func (c *Canary) LatencyOf(second int) *float64 {
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
func (c *Canary) Describe(lossless bool) *runfile.Canary {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return &runfile.Canary{
		Sent: c.sent, Arrived: int(c.latency.Count), IntervalS: every.Seconds(),
		Latency: runfile.NewLatency(&c.latency, lossless),
	}
}

// Close ends sending and listening.
func (c *Canary) Close() {
	c.stop()
	c.Line.Close()
	c.work.Wait()
}
