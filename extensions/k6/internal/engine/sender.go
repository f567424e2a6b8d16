package engine

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.k6.io/k6/v2/lib"
	"golang.org/x/time/rate"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

// Sender sends requests for one VU, one at a time.
type Sender struct {
	*send.Poster
	limit   *rate.Limiter // k6's rps; nil: none
	sending *sending
	samples *requestSamples
	waiter  *schedule.Waiter
	body    []byte
	slot    pacer.Slot // the request
	again   bool       // it is sent again
	written bool       // it is known when it had been written
}

// NewSender makes a sender for a VU.
func NewSender(e *Engine, state *lib.State) *Sender { return newSender(e.sending, state) }

func newSender(from *sending, state *lib.State) *Sender {
	p := send.NewPoster(withK6(from.options.Ingest, state.Options), from.trust.Of(state), from.timeout)
	p.Stamps = bool(from.options.Answers)
	p.Opened = func(took time.Duration) { from.notes.note(func() { from.notes.connects.Add(took.Microseconds()) }) }
	if !from.Pacer.Closed() && !state.Options.LocalIPs.Valid { // else each sender keeps its own
		p.Idle = &from.idle
	}
	s := &Sender{
		Poster: p, limit: state.RPSLimit, sending: from, waiter: schedule.NewWaiter(),
		samples: &requestSamples{sending: from, state: state, urls: p.URLs},
	}
	p.Leaves = s.leaves
	return s
}

// leaves records when a request left, at its first attempt.
func (s *Sender) leaves(left, written time.Time) {
	if s.again {
		return
	}
	shared := s.sending
	s.written = !written.IsZero()
	if !s.written {
		shared.Ledger.Left(s.slot, shared.Clock.At(left))
		return
	}
	shared.Ledger.LeftAndWritten(s.slot, shared.Clock.At(left), shared.Clock.At(written))
}

// Send takes the next request and sends it. It reports false when none is left.
func (s *Sender) Send(ctx context.Context) bool {
	shared := s.sending
	shared.crew.free.Add(1)
	slot, ok := shared.take(ctx, s.waiter)
	last := shared.crew.free.Add(-1) == 0
	if !ok {
		return false
	}
	if last && s.limit == nil && shared.crew.send(s.samples.state, slot) {
		return true
	}
	return s.post(ctx, slot)
}

// post sends a request, and reports whether it may send another one.
func (s *Sender) post(ctx context.Context, slot pacer.Slot) bool {
	shared := s.sending
	s.body = shared.parts.Bodies.Append(s.body[:0], slot)
	if s.Targeted() {
		s.Target = shared.parts.Bodies.AppendTarget(s.Target[:0], slot, 0)
	}
	if shared.traced() {
		s.Fields = append(shared.appendParent(append(s.Fields[:0], traces.Header+": "...), slot), "\r\n"...)
	}

	if !s.admit(ctx) { // what waits is late: the stage schedule shows it
		shared.drop(slot)
		return false
	}
	shared.Ledger.Leaving(slot)
	shared.turns.Taken()
	s.slot, s.again = slot, false
	var outcome ledger.Outcome
	if shared.options.Ingest.Retries == 0 {
		outcome, _ = s.attempt(ctx, slot)
	} else {
		outcome = s.persist(ctx, slot)
	}
	shared.Ledger.Settle(slot, outcome)
	return true
}

// admit waits until rps allows another attempt, as k6 does for each request. It reports false when the VU stops or the
// run is halted first.
func (s *Sender) admit(ctx context.Context) bool {
	if s.limit == nil {
		return true
	}
	ctx, stop := clock.Until(ctx, s.sending.Halted)
	defer stop()
	return s.limit.Wait(ctx) == nil
}

// attempt posts once. An error means that a retry may help, and says when.
func (s *Sender) attempt(ctx context.Context, slot pacer.Slot) (ledger.Outcome, error) {
	a := s.Post(time.Now(), s.body, slot.Messages)
	if !s.again && (!s.written || a.Resent) && !a.Written.IsZero() {
		s.sending.Ledger.Written(slot, s.sending.Clock.At(a.Written))
	}
	s.again = true
	if a.Resent {
		s.sending.Ledger.Retried()
	}
	outcome := s.sending.answered(slot, a, a.Left)
	s.samples.push(ctx, slot, a.Status, a.Left, a.Done)
	if !mayHelp(a.Status) {
		return outcome, nil
	}
	if a.Status == 0 {
		return outcome, errRetry
	}
	after := s.RetryAfter(a.Done, retryAfterMost)
	if after == 0 {
		return outcome, errRetry
	}
	return outcome, &backoff.RetryAfterError{Duration: after}
}

var errRetry = errors.New("try again")

// persist posts a request until it is accepted, with the same ids each time.
func (s *Sender) persist(ctx context.Context, slot pacer.Slot) ledger.Outcome {
	vu := ctx // a halt ends the attempts, but not the pushing of their samples
	ctx, stop := clock.Until(ctx, s.sending.Halted)
	defer stop()
	// The ingest may have accepted an attempt that got no answer, whatever later attempts return.
	unknown, first := false, true
	var outcome ledger.Outcome // what the last attempt came to
	_, _ = backoff.Retry(ctx, func() (ledger.Outcome, error) {
		if !first {
			if !s.admit(ctx) {
				return outcome, backoff.Permanent(errRetry)
			}
			s.sending.Ledger.Retried()
		}
		first = false
		var err error
		outcome, err = s.attempt(vu, slot)
		unknown = unknown || outcome == ledger.Unknown
		return outcome, err
	}, backoff.WithMaxTries(uint(s.sending.options.Ingest.Retries)+1), backoff.WithMaxElapsedTime(0),
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
