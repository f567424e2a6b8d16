package receive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/body"
	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
	"github.com/arrival-bench/arrival/extensions/k6/internal/words"
)

const (
	// greetingLeast is how long a greeting may take at least, however short the drain limit of the run is.
	greetingLeast = 10 * time.Second
	// greetingFirst is the number of the first greeting. Those that repeat it count down: a pipeline may drop a message
	// whose id it has had.
	greetingFirst = 999_999_999
	// greetingsMost bounds the greetings of a run.
	greetingsMost = 1000
	// againMost is the longest wait between two greetings. The first one is every, and each is twice the one before.
	againMost = 4 * time.Second
)

// welcome is a greeting that arrived.
type welcome struct {
	number  int
	altered string // its printable text if it was altered; empty: it came as it was sent
	at      time.Time
	place   string // where its id stood
}

// Greet sends a message through the pipeline, so that a caller learns before its load whether messages arrive. It waits
// for an ingest that takes nothing for now, and repeats the message until one has arrived: a server may subscribe a
// client only after it has accepted its connection. The error names the end at which the message stopped. altered is
// what it came as, printable, if that is not what was sent.
func (c *Canary) Greet(ctx context.Context) (altered string, err error) {
	patience := cmp.Or(c.Greeting, max(c.Drain, greetingLeast))
	until := time.Now().Add(patience)
	a := c.greet(greetingFirst)
	for (a.Status == http.StatusServiceUnavailable || a.Status == http.StatusTooManyRequests) &&
		time.Now().Before(until) {
		if !clock.SleepUntil(ctx, nil, time.Now().Add(every)) {
			return "", ctx.Err()
		}
		a = c.greet(greetingFirst)
	}
	at := c.ingest()
	var dial *send.DialError
	switch {
	case errors.As(a.Err, &dial):
		return "", fmt.Errorf("the ingest %s can't be reached (INGEST_URL): %w", at, network.Advise(a.Err))
	case a.Err != nil:
		_, class, example := a.Outcome(c.Timeout)
		return "", fmt.Errorf("the ingest %s took the connection, and a first message had no answer (%s): %s", at,
			class, example)
	case a.Status == http.StatusBadRequest:
		return "", fmt.Errorf("the ingest %s refuses messages: %s; posted, with the id at %s: %s", at, a.Describe(),
			c.Format.ID, c.posted())
	case a.Status >= 300:
		return "", fmt.Errorf("the ingest %s refuses messages: %s", at, a.Describe())
	}
	if c.Answered {
		return "", nil
	}
	if c.Greeting > 0 { // what is left of the time of all
		patience = max(time.Second, time.Until(until))
	}
	return c.await(ctx, patience)
}

// greet posts a greeting, and says so.
func (c *Canary) greet(n int) send.Result {
	if len(c.left) == 0 {
		c.step("posting", "%s to %s", c.posted(), c.ingest())
	}
	a := c.post(n)
	c.left[n] = a.Left
	c.slowest = max(c.slowest, a.Done.Sub(a.Left))
	switch {
	case a.Err != nil:
	case a.Status >= 300:
		c.step("answered", "%s", a.Describe())
	default:
		c.step("answered", "HTTP %d in %s", a.Status, millis(a.Done.Sub(a.Left)))
	}
	return a
}

func (c *Canary) step(step, what string, values ...any) {
	if c.Step != nil {
		c.Step(step, fmt.Sprintf(what, values...))
	}
}

func millis(d time.Duration) string {
	ms := float64(d.Microseconds()) / 1000
	return words.MS(&ms) + " ms"
}

// arrived says how the first greeting arrived.
func (c *Canary) arrived(came welcome) {
	c.step("arrived", "on %s after %s", c.At, millis(max(0, came.at.Sub(c.left[came.number]))))
	c.step("id", "%s", came.place)
}

// await waits for the greeting, which the ingest has accepted, and repeats it while an answer can still come in time.
func (c *Canary) await(ctx context.Context, patience time.Duration) (altered string, err error) {
	began, limit, wait := time.Now(), time.After(patience), every
	again := time.NewTimer(wait)
	defer again.Stop()
	for last := greetingFirst; ; {
		select {
		case came := <-c.greets:
			return c.round(greetingFirst-last, came, time.Since(began)), nil
		case err := <-c.ended:
			return "", fmt.Errorf("a first message was accepted by %s, and the connection on which it would arrive, %s, "+
				"ended: %w", c.ingest(), c.At, err)
		case err := <-c.failed():
			return "", fmt.Errorf("a first message was accepted by %s, and before one arrived on %s: %w", c.ingest(),
				c.At, err)
		case <-again.C:
			if since := time.Since(began); last > greetingFirst-greetingsMost+1 && since+c.slowest < patience {
				last--
				c.step("waiting", "it has not come on %s for %s, %s: posted again", c.At, since.Round(time.Second), c.came())
				c.note(c.greet(last))
			}
			wait = min(2*wait, againMost)
			again.Reset(wait)
		case <-limit:
			return c.late(began, patience, greetingFirst-last)
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return "", ctx.Err()
			}
			return c.late(began, time.Since(began), greetingFirst-last)
		}
	}
}

// late is the end of the wait for a greeting: it may have come while another one was posted.
func (c *Canary) late(began time.Time, within time.Duration, repeats int) (altered string, err error) {
	select {
	case came := <-c.greets:
		return c.round(repeats, came, time.Since(began)), nil
	default:
		return "", c.missed(within, repeats+1)
	}
}

// round notes that a greeting went round.
func (c *Canary) round(repeats int, came welcome, after time.Duration) (altered string) {
	c.arrived(came)
	c.repeated(repeats, came, after)
	return came.altered
}

// came says what else has come.
func (c *Canary) came() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.others.String()
}

// failed receives the error of a subscriber of the load that ended early.
func (c *Canary) failed() <-chan error {
	if c.Receiver == nil {
		return nil
	}
	return c.Receiver.Failed()
}

// repeated counts the greetings that were sent besides the first one. They are not part of the account, whenever they
// arrive.
func (c *Canary) repeated(times int, came welcome, after time.Duration) {
	example := fmt.Sprintf("the first one arrived after %.1f s", after.Seconds())
	if lost := greetingFirst - came.number; lost > 0 {
		example = fmt.Sprintf("number %d was the first to arrive, after %.1f s: does the server subscribe a client "+
			"later than it accepts its connection?", lost+1, after.Seconds())
	}
	for range times {
		c.Count("canary", "first message repeated", example)
	}
}

// ingest is where messages are posted, without secrets.
func (c *Canary) ingest() string {
	path := strings.ReplaceAll(c.Ingest.Path, send.Target, c.Target)
	return words.MaskAddress(strings.TrimSuffix(c.Ingest.URL, "/")+path, c.Target)
}

// posted is the first greeting, printable and without secrets.
func (c *Canary) posted() string {
	return runfile.ExcerptOf([]byte(c.secrets.Replace(string(c.messages.Message(greetingFirst)))))
}

// missed is the error of a greeting that did not arrive, however often it was sent. It names what else came: that need
// not be the greeting as the pipeline has changed it.
func (c *Canary) missed(patience time.Duration, times int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	what := fmt.Sprintf("a first message was accepted by %s%s, and did not arrive on %s within %s", c.ingest(), c.slow(),
		c.At, patience.Round(100*time.Millisecond))
	sent := fmt.Sprintf("it was posted %d times for the target %q, as %s", times, c.Target, c.posted())
	if c.Greeting == 0 {
		sent += " (CANARY=off leaves it out)"
	}
	switch o := &c.others; {
	case o.changed != nil:
		return fmt.Errorf("%s; what came does not hold its id as it was sent (ID_KEY, ID_FORMAT, ID_FROM, BODY): %s; %s",
			what, runfile.ExcerptOf(o.changed), sent)
	case o.number > 0:
		return fmt.Errorf("%s; %s. Either these come by themselves (a welcome, a heartbeat, a retained message%s), "+
			"and the message was lost or takes longer; or it is among them without its id as it was sent "+
			"(ID_KEY, ID_FORMAT, ID_FROM, BODY); %s", what, o, c.Ask, sent)
	}
	return fmt.Errorf("%s; %s", what, sent)
}

// slow says how long the ingest took, where that left less time for the message; empty: it was quick.
func (c *Canary) slow() string {
	if c.Greeting == 0 || c.slowest < time.Second {
		return ""
	}
	return fmt.Sprintf(", which took %s to answer", millis(c.slowest))
}

// Others are messages that came where another one is awaited.
type Others struct {
	number      int
	first, last []byte // their beginnings
	changed     []byte // one that has an id of the canary's, in another place or form; nil: there is none
}

// othersRead is how many bytes of another message are kept.
const othersRead = 4 << 10

// Add notes a message. It keeps no reference to it.
func (o *Others) Add(payload []byte) {
	o.number++
	o.last = append(o.last[:0], payload[:min(len(payload), othersRead)]...)
	if o.number == 1 {
		o.first = bytes.Clone(o.last)
	}
}

// String says what came.
func (o *Others) String() string {
	switch o.number {
	case 0:
		return "no other message came"
	case 1:
		return "another message came: " + runfile.ExcerptOf(o.first)
	}
	return fmt.Sprintf("%d other messages came, the first: %s, the last: %s", o.number, runfile.ExcerptOf(o.first),
		runfile.ExcerptOf(o.last))
}

// welcome notes the first greeting that arrives, when, and as what it came. alone: its payload holds no other message.
func (c *Canary) welcome(number int, payload []byte, at time.Time, alone bool) {
	came := welcome{number: number, at: at}
	if c.Step != nil {
		came.place = c.messages.Place(number, payload)
	}
	sent := c.messages.MessageLike(number, payload)
	if alone && !bytes.Equal(payload, sent) && !(c.IDs && c.messages.IsID(payload)) &&
		!(c.Lines && body.SameLines(payload, sent)) {
		came.altered = runfile.ExcerptOf(payload)
	}
	select {
	case c.greets <- came:
	default: // a repeat, or a duplicate
	}
}
