package engine

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.k6.io/k6/v2/lib"
	"golang.org/x/time/rate"

	"github.com/arrival-bench/arrival/extensions/k6/internal/clock"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/send"
	"github.com/arrival-bench/arrival/extensions/k6/internal/traces"
)

// Sender sends requests for one VU, one at a time.
type Sender struct {
	*send.Poster
	limit   *rate.Limiter // k6's rps; nil: none
	engine  *Engine
	samples *requestSamples
	waiter  *schedule.Waiter
	body    []byte
	slot    pacer.Slot // the request
	again   bool       // it is sent again
	written bool       // it is known when it had been written
}

func NewSender(e *Engine, state *lib.State) *Sender {
	p := send.NewPoster(withK6(e.options.Ingest, state.Options), e.trust.Of(state), e.options.Timeout.duration())
	p.Opened = func(took time.Duration) { e.notes.note(func() { e.notes.connects.Add(took.Microseconds()) }) }
	if !e.Pacer.Closed() && !state.Options.LocalIPs.Valid { // else each sender keeps its own
		p.Idle = &e.idle
	}
	s := &Sender{
		Poster: p, limit: state.RPSLimit, engine: e, waiter: schedule.NewWaiter(),
		samples: &requestSamples{engine: e, state: state, urls: p.URLs},
	}
	p.Leaves = s.leaves
	return s
}

// leaves records when a request left, at its first attempt.
func (s *Sender) leaves(left, written time.Time) {
	if s.again {
		return
	}
	e := s.engine
	s.written = !written.IsZero()
	if !s.written {
		e.Ledger.Left(s.slot, e.Clock.At(left))
		return
	}
	e.Ledger.LeftAndWritten(s.slot, e.Clock.At(left), e.Clock.At(written))
}

// Send takes the next request and sends it. It reports false when none is left.
func (s *Sender) Send(ctx context.Context) bool {
	e := s.engine
	e.crew.free.Add(1)
	slot, ok := e.take(ctx, s.waiter)
	last := e.crew.free.Add(-1) == 0
	if !ok {
		return false
	}
	if last && s.limit == nil && e.crew.send(s.samples.state, slot) {
		return true
	}
	return s.post(ctx, slot)
}

// post sends a request, and reports whether it may send another one.
func (s *Sender) post(ctx context.Context, slot pacer.Slot) bool {
	e := s.engine
	s.body = e.parts.Bodies.Append(s.body[:0], slot)
	if s.Targeted() {
		s.Target = e.parts.Bodies.AppendTarget(s.Target[:0], slot, 0)
	}
	if e.traced() {
		s.Fields = append(e.appendParent(append(s.Fields[:0], traces.Header+": "...), slot), "\r\n"...)
	}

	if !s.admit(ctx) { // what waits is late: the stage schedule shows it
		e.drop(slot)
		return false
	}
	e.Ledger.Leaving(slot)
	e.turns.Taken()
	s.slot, s.again = slot, false
	var outcome ledger.Outcome
	if e.options.Ingest.Retries == 0 {
		outcome, _ = s.attempt(ctx, slot)
	} else {
		outcome = s.persist(ctx, slot)
	}
	e.Ledger.Settle(slot, outcome)
	return true
}

// admit waits until rps allows another attempt, as k6 does for each request. It reports false when the VU stops or the
// run is halted first.
func (s *Sender) admit(ctx context.Context) bool {
	if s.limit == nil {
		return true
	}
	ctx, stop := clock.Until(ctx, s.engine.Halted)
	defer stop()
	return s.limit.Wait(ctx) == nil
}

// attempt posts once. An error means that a retry may help, and says when.
func (s *Sender) attempt(ctx context.Context, slot pacer.Slot) (ledger.Outcome, error) {
	a := s.Post(time.Now(), s.body, slot.Messages)
	if !s.again && (!s.written || a.Resent) && !a.Written.IsZero() {
		s.engine.Ledger.Written(slot, s.engine.Clock.At(a.Written))
	}
	s.again = true
	if a.Resent {
		s.engine.Ledger.Retried()
	}
	outcome := s.engine.answered(slot, a, a.Left)
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

// answered records one attempt and its outcome for the messages.
func (e *Engine) answered(slot pacer.Slot, a send.Answer, sent time.Time) ledger.Outcome {
	if a.Status != 0 {
		e.Ledger.Answered(slot.Phase, a.Done.Sub(sent).Microseconds())
	}
	switch {
	case a.Status == http.StatusUnauthorized:
		e.unauthorized.Add(1)
	case a.Status/100 == 2 && !e.anyAccepted.Load():
		e.anyAccepted.Store(true)
	}
	a.Secrets = e.secrets
	outcome, class, example := a.Outcome(e.options.Timeout.duration())
	if class != "" {
		e.notes.Count("request", class, example)
	}
	if r, ok := e.Receiver().(receive.AnswerReceiver); ok && outcome == ledger.Accepted {
		r.Answered(slot.FirstSeq, slot.Messages, a.Done)
	}
	return outcome
}

// mayHelp reports whether a retry may help: after no answer, 429 or 5xx.
func mayHelp(status int) bool {
	return status == 0 || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// persist posts a request until it is accepted, with the same ids each time.
func (s *Sender) persist(ctx context.Context, slot pacer.Slot) ledger.Outcome {
	vu := ctx // a halt ends the attempts, but not the pushing of their samples
	ctx, stop := clock.Until(ctx, s.engine.Halted)
	defer stop()
	// The ingest may have accepted an attempt that got no answer, whatever later attempts return.
	unknown, first := false, true
	var outcome ledger.Outcome // of the last attempt
	_, _ = backoff.Retry(ctx, func() (ledger.Outcome, error) {
		if !first {
			if !s.admit(ctx) {
				return outcome, backoff.Permanent(errRetry)
			}
			s.engine.Ledger.Retried()
		}
		first = false
		var err error
		outcome, err = s.attempt(vu, slot)
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

// take returns the next request when it is due, or when it is the sender's turn. ok is false when none is left,
// the run was halted or the VU stopped.
func (e *Engine) take(ctx context.Context, w *schedule.Waiter) (slot pacer.Slot, ok bool) {
	select {
	case <-e.Started: // much cheaper than the select below; closed from the first request on
	default:
		select {
		case <-e.Started:
		case <-ctx.Done():
			return slot, false
		}
	}
	switch {
	case e.turns == nil:
		return e.open.Take(ctx, w)
	case !e.turns.Choose(w.Flow > 0):
		e.notes.Count("request", "not sent", "the flows of this run's requests are chosen by run.next(flow), so there are "+
			"none to send in turn")
		return slot, false
	}
	return e.turns.Take(ctx, w)
}

func (e *Engine) sent(slot pacer.Slot, at time.Time) {
	e.Ledger.Sent(slot, e.Clock.At(at))
	e.turns.Taken()
}

// drop drops a request that was taken and will not be sent.
func (e *Engine) drop(slot pacer.Slot) {
	e.Ledger.Drop(slot)
	e.turns.Taken()
}

// Pump sends until the schedule is empty, without running JavaScript, with as many requests in flight as a VU
// may have.
func (e *Engine) Pump(ctx context.Context, state *lib.State) {
	if e.options.Publishers != nil {
		e.publish(ctx, state)
		return
	}
	var senders sync.WaitGroup
	for range e.options.InFlight {
		senders.Go(func() {
			for s := NewSender(e, state); s.Send(ctx); {
			}
		})
	}
	senders.Wait()
}

// publishWriters is the number of publishing goroutines: several, so that a connection that the broker does not
// read blocks only one.
const publishWriters = 16

func (e *Engine) publish(ctx context.Context, state *lib.State) {
	select {
	case <-e.Started:
	case <-ctx.Done():
		return
	}
	o := e.options.Publishers
	numbers := make([]int, e.segment.Scale(o.Connections))
	for n := range numbers {
		numbers[n] = e.segment.Unscale(n+1) - 1
	}
	p := send.Publish(ctx, &e.parts, send.PublishersSettings{
		PublisherOptions: o, Prefix: e.options.MQTT.Prefix, Network: e.trust.Of(state),
		Timeout: e.options.Timeout.duration(),
		Numbers: numbers, Stamped: e.options.Redis.URL != "", Figure: e.notes.figure,
	})
	var writers sync.WaitGroup
	for range publishWriters {
		writers.Go(func() {
			w := schedule.NewWaiter()
			for slot, ok := e.take(ctx, w); ok; slot, ok = e.take(ctx, w) {
				p.Send(ctx, slot)
			}
		})
	}
	writers.Wait()
	p.Close(ctx)
}
