package arrival

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.k6.io/k6/v2/lib"

	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

// sender sends requests of the schedule and settles them.
type sender struct {
	*send.Poster
	engine  *engine
	samples *requestSamples
	waiter  *schedule.Waiter
	body    []byte
}

func newSender(e *engine, state *lib.State) *sender {
	p := send.NewPoster(e.options.Ingest, e.trust.Of(state), e.options.Timeout.duration())
	p.Opened = e.opened
	return &sender{Poster: p, engine: e, samples: newRequestSamples(e, state, p.URLs), waiter: schedule.NewWaiter()}
}

// send takes the next request, posts it, and settles it.
func (s *sender) send(ctx context.Context) bool {
	e := s.engine
	slot, ok := e.take(ctx, s.waiter)
	if !ok {
		return false
	}
	s.body = e.Bodies.Append(s.body[:0], slot)
	if e.options.Traces > 0 {
		parent := traces.Of(e.Bodies.ID(slot.FirstID))
		s.Fields = append(parent.AppendParent(append(s.Fields[:0], traces.Header+": "...)), "\r\n"...)
	}

	sent := time.Now()
	e.sent(slot, sent)
	var outcome ledger.Outcome
	if e.options.Ingest.Retries == 0 {
		outcome, _ = s.attempt(ctx, slot, sent)
	} else {
		outcome = s.persist(ctx, slot)
	}
	e.Ledger.Settle(slot, outcome)
	return true
}

// attempt posts once. An error means that a retry may help, and says when.
func (s *sender) attempt(ctx context.Context, slot pacer.Slot, sent time.Time) (ledger.Outcome, error) {
	a := s.Post(sent, s.body, slot.Messages)
	outcome := s.engine.answered(slot, a, sent)
	s.samples.push(ctx, slot, a.Status, sent, a.Done)
	if !mayHelp(a.Status) {
		return outcome, nil
	}
	after, err := strconv.Atoi(s.Header("Retry-After"))
	if a.Status == 0 || err != nil || after <= 0 {
		return outcome, errRetry
	}
	return outcome, backoff.RetryAfter(min(after, int(retryAfterMost/time.Second)))
}

// errRetry means that a retry may help.
var errRetry = errors.New("try again")

// answered records one attempt and its outcome for the messages.
func (e *engine) answered(slot pacer.Slot, a send.Answer, sent time.Time) ledger.Outcome {
	if a.Status != 0 {
		e.Ledger.Answered(slot.Phase, a.Done.Sub(sent).Microseconds())
	}
	switch {
	case a.Status == http.StatusUnauthorized:
		e.unauthorized.Add(1)
	case a.Status/100 == 2 && !e.anyAccepted.Load():
		e.anyAccepted.Store(true)
	}
	outcome, class, example := a.Outcome(e.options.Timeout.duration())
	if class != "" {
		e.count("request", class, example)
	}
	if e.options.Answers && outcome == ledger.Accepted {
		e.subscribers.Answered(slot, a.Done)
	}
	return outcome
}

// mayHelp reports whether a retry may help: after no answer, 429 or 5xx.
func mayHelp(status int) bool {
	return status == 0 || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// persist posts a request until it is accepted, with the same ids each time.
func (s *sender) persist(ctx context.Context, slot pacer.Slot) ledger.Outcome {
	vu := ctx // a halt ends the attempts, but not the pushing of their samples
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-s.engine.Halted:
			stop()
		case <-ctx.Done():
		}
	}()
	// The ingest may have accepted an attempt that got no answer, whatever later attempts return.
	unknown, first := false, true
	outcome, _ := backoff.Retry(ctx, func() (ledger.Outcome, error) {
		if !first {
			s.engine.Ledger.Retried()
		}
		first = false
		outcome, err := s.attempt(vu, slot, time.Now())
		unknown = unknown || outcome == ledger.Unknown
		return outcome, err
	}, backoff.WithMaxTries(uint(s.engine.options.Ingest.Retries)+1), backoff.WithMaxElapsedTime(0),
		backoff.WithBackOff(&backoff.ExponentialBackOff{
			InitialInterval: retryFirst, MaxInterval: retryLast, Multiplier: 2, RandomizationFactor: 0.5,
		}))
	if unknown && outcome != ledger.Accepted {
		return ledger.Unknown
	}
	return outcome
}

// Waits between attempts without Retry-After: exponential with jitter, so that the senders do not retry all at
// once.
const (
	retryFirst = 100 * time.Millisecond
	retryLast  = 5 * time.Second
	// retryAfterMost caps Retry-After.
	retryAfterMost = 30 * time.Second
)
