package engine

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"
	"golang.org/x/time/rate"
	"gopkg.in/guregu/null.v3"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

// Regression: retries went out as fast as their waits allowed. k6 limits each request.
func TestTheRateLimitHoldsForRetries(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	url, _ := ingest(t, false, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	four := "phases: [{duration: 1, arrivalRate: 4}]\nflows: [{name: direct}]"
	s := newScript(t, &fake.Pipeline{}, four, at(url, "retries: 4"))
	s.state.RPSLimit = rate.NewLimiter(4, 1) // the waits between attempts alone are over after some 3 s
	began := time.Now()
	s.runWith(4, sendAll(s))
	assert.Equal(t, int64(20), asked.Load())
	assert.GreaterOrEqual(t, time.Since(began), 4700*time.Millisecond, "20 at 4/s, the first at once")
}

// Regression: a request that rps held back was sent after the run was halted, and its message was lost.
func TestAHaltEndsTheWaitOfTheRateLimit(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, thirty, "idle: '100ms'")
	limit := rate.NewLimiter(rate.Every(time.Hour), 1)
	s.state.RPSLimit = limit
	require.True(t, limit.Allow())
	ctx, cancel := context.WithCancel(t.Context()) // no deadline: the limiter would refuse at once
	defer cancel()
	defer time.AfterFunc(20*time.Second, cancel).Stop()
	e := s.engine
	waiting := NewSender(e, s.state)
	e.Halt()
	assert.False(t, waiting.admit(ctx))
	assert.NoError(t, ctx.Err(), "the halt ended it")
}

// Regression: a VU that stopped while rps held its request back left a closed run without an end.
func TestAVUThatStopsInTheWaitOfTheRateLimitDropsItsRequest(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 2, vus: 2}]\nflows: [{name: direct}]", "idle: '2s'")
	s.state.RPSLimit = rate.NewLimiter(rate.Every(time.Minute), 1)
	r := s.runWith(2, func(ctx context.Context, e *Engine) {
		<-e.Started
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		time.AfterFunc(time.Second, cancel)
		for vu := NewSender(e, s.state); vu.Send(ctx); {
		}
	})
	assert.Equal(t, r.Account.Scheduled, r.Account.Arrived+r.Account.Dropped)
	assert.Positive(t, r.Account.Dropped)
}

// Regression: the greeting had the sender's own user agent, so an ingest that wants another one refused the run.
func TestTheGreetingHasTheUserAgentOfK6(t *testing.T) {
	t.Parallel()
	var agent atomic.Value
	url, _ := ingest(t, false, func(w http.ResponseWriter, r *http.Request) {
		agent.CompareAndSwap(nil, r.UserAgent())
		w.WriteHeader(http.StatusForbidden)
	})
	s := newScript(t, &fake.Pipeline{}, twenty, at(url, "")+", greet: true")
	s.state.Options = lib.Options{UserAgent: null.StringFrom("k6 of mine")}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	assert.Error(t, s.engine.collect(ctx, s.state, s.metrics), "refused with 403")
	assert.Equal(t, "k6 of mine", agent.Load())
}
