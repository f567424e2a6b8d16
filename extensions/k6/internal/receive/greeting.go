package receive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
	"github.com/arrival-bench/arrival/extensions/k6/internal/report"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
)

// greetingLeast is how long a greeting may take at least, however short the drain limit of the run is.
const greetingLeast = 10 * time.Second

// greeting is the number of the message that is sent before the run.
const greeting = 999_999_999

// Greet sends a message through the pipeline, so that a caller learns before its load whether messages arrive. It waits
// for an ingest that takes nothing for now. The error names the end at which the message stopped. altered is what it
// came as, printable, if that is not what was sent.
func (c *Canary) Greet(ctx context.Context) (altered string, err error) {
	patience := max(c.Drain, greetingLeast)
	until := time.Now().Add(patience)
	a := c.post(greeting)
	for (a.Status == http.StatusServiceUnavailable || a.Status == http.StatusTooManyRequests) &&
		time.Now().Before(until) {
		if !clock.SleepUntil(ctx, nil, time.Now().Add(every)) {
			return "", ctx.Err()
		}
		a = c.post(greeting)
	}
	at := report.Mask(strings.TrimSuffix(c.Ingest.URL, "/") + c.Ingest.Path)
	var dial *send.DialError
	switch {
	case errors.As(a.Err, &dial):
		return "", fmt.Errorf("the ingest %s can't be reached (INGEST_URL): %w", at, network.Advise(a.Err))
	case a.Err != nil:
		_, class, example := a.Outcome(c.Timeout)
		return "", fmt.Errorf("the ingest %s took the connection, and a first message had no answer (%s): %s", at,
			class, example)
	case a.Status == http.StatusBadRequest:
		return "", fmt.Errorf("the ingest %s refuses messages: HTTP 400 %s; has it another name for the id than %s?",
			at, a.Excerpt(), c.Format.ID)
	case a.Status >= 300:
		return "", fmt.Errorf("the ingest %s refuses messages: %s", at, a.Describe())
	}
	if c.Answered {
		return "", nil
	}
	return c.await(ctx, at, patience)
}

// changedMost is how long a greeting may take after something else has come to its own topic, which is the greeting as
// the pipeline has changed it.
const changedMost = 3 * time.Second

// await waits for the greeting, which the ingest has accepted.
func (c *Canary) await(ctx context.Context, ingest string, patience time.Duration) (altered string, err error) {
	limit, others, other := time.After(patience), c.others, ""
	if c.Common { // there may be messages of others
		others = nil
	}
	for {
		select {
		case altered = <-c.greets:
			return altered, nil
		case other = <-others:
			limit, others = time.After(changedMost), nil
		case <-limit:
			select {
			case other = <-c.others:
			default:
			}
			if other != "" {
				return "", fmt.Errorf("a first message was accepted by %s, and what came on %s %s", ingest, c.At, other)
			}
			return "", fmt.Errorf("a first message was accepted by %s, and did not arrive on %s within %s "+
				"(CANARY=off leaves it out)", ingest, c.At, patience)
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// describe says what another message on the canary's topic is. A filter of the user's may have messages of others.
func (c *Canary) describe(payload []byte) string {
	if !c.Common || bytes.Contains(payload, []byte(c.Name)) {
		return "does not hold its id as it was sent (ID_KEY, ID_FORMAT, ID_FROM, BODY; CANARY=off leaves it out): " +
			report.ExcerptOf(payload)
	}
	return "has no id of this run (FILTER, BODY, ID_FROM; CANARY=off leaves it out); the first was: " +
		report.ExcerptOf(payload)
}

// changed is a greeting that is not what was sent, printable; empty: it is.
func (c *Canary) changed(payload []byte) string {
	if bytes.Equal(payload, c.message(greeting)) {
		return ""
	}
	return report.ExcerptOf(payload)
}

// welcome notes the first arrival of the greeting, and as what it came if that is not what was sent.
func (c *Canary) welcome(altered string) {
	select {
	case c.greets <- altered:
	default: // a duplicate
	}
}
