package engine

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

const one = "phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: own, targets: 1}]"

// tried lets one message go round, and returns the steps.
func (s *script) tried(ctx context.Context, most time.Duration) (names, whats []string, err error) {
	s.t.Helper()
	err = s.engine.Try(ctx, s.state, s.metrics, most, func(step, what string) {
		names, whats = append(names, step), append(whats, what)
	})
	return names, whats, err
}

func TestATrySaysEachStep(t *testing.T) {
	t.Parallel()
	scripts := map[string]func() *script{
		"MQTT": func() *script { return newScript(t, &fake.Pipeline{}, one, "greet: true") },
		"a webhook": func() *script {
			return calling(t, &fake.Pipeline{}, &fake.Webhook{}, one, "webhook: { path: '/hooks' }, greet: true")
		},
	}
	for name, options := range pushes {
		scripts[name] = func() *script {
			return pushed(t, &fake.Pipeline{}, &fake.Push{}, one, with(options, "")+", greet: true")
		}
	}
	for name, script := range scripts {
		s := script()
		names, whats, err := s.tried(t.Context(), time.Minute)
		require.NoError(t, err, name)
		says := strings.Join(whats, "\n")
		first := map[bool]string{true: "listening", false: "connected"}[name == "a webhook"]
		assert.Equal(t, []string{first, "posting", "answered", "arrived", "id"}, names, "%s: %s", name, says)
		assert.Contains(t, says, "HTTP 202 in ", name)
		assert.Contains(t, whats[4], "found at $.id", name)
		assert.NotContains(t, says, "secret")
		assert.Empty(t, s.engine.dir.path(), "it leaves no run")
		assert.Equal(t, 0, s.engine.Conclude(End{Planned: true}))
	}
}

// The error of a try is that of a run's first message.
func TestATryEndsWhereItsMessageDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		f             *fake.Pipeline
		options, says string
	}{
		{&fake.Pipeline{Status: func(int) int { return http.StatusNotFound }}, "", "refuses messages: HTTP 404"},
		{&fake.Pipeline{Copies: func(int) int { return 0 }}, "", "did not arrive on messages/canary/"},
		{&fake.Pipeline{Rewrite: func(_ int, b []byte) []byte { return append(b, ' ') }}, "", "other content"},
		{&fake.Pipeline{}, "mqtt: { url: 'mqtt://127.0.0.1:1' }", "can't be reached"},
		{&fake.Pipeline{}, "ingest: { url: 'http://127.0.0.1:1' }", "can't be reached (INGEST_URL)"},
	} {
		s := newScript(t, c.f, one, "greet: true, "+c.options)
		_, _, err := s.tried(t.Context(), time.Second)
		require.ErrorContains(t, err, c.says)
		assert.Equal(t, 99, s.engine.Conclude(End{Planned: true}))
	}
}

// A server that takes the connection and says nothing does not hold a try for longer than its time. Regression: of
// WebSocket and server-sent events the error was "context deadline exceeded", without a server.
func TestATryIsOverInTime(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]string{
		"mqtt":      "mqtt: { url: 'mqtt://HOST' }",
		"websocket": "mqtt: {}, websocket: { url: 'ws://HOST' }",
		"sse":       "mqtt: {}, sse: { url: 'http://HOST' }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := silent(t)
			s := newScript(t, &fake.Pipeline{}, one, "greet: true, timeout: 3600, "+
				strings.Replace(options, "HOST", host, 1))
			_, _, err := s.tried(t.Context(), time.Second)
			require.ErrorContains(t, err, "longer than 1s (--timeout), connecting to ")
			require.ErrorContains(t, err, host)
		})
	}
	s := newScript(t, &fake.Pipeline{}, one, "greet: true, timeout: 3600, ingest: { url: 'http://"+silent(t)+"' }")
	_, _, err := s.tried(t.Context(), time.Second)
	require.ErrorContains(t, err, "had no answer")
}

// Regression: where the ingest had taken more than 2 s, the error was only that the try took longer than its time.
func TestATryWithASlowIngestSaysWhatDidNotCome(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Copies: func(int) int { return 0 }, Status: func(int) int {
		time.Sleep(2200 * time.Millisecond)
		return http.StatusAccepted
	}}
	s := newScript(t, f, one, "greet: true")
	names, _, err := s.tried(t.Context(), 6*time.Second)
	require.ErrorContains(t, err, "s to answer, and did not arrive on messages/canary/")
	assert.NotContains(t, err.Error(), "--timeout", "it was over in time")
	assert.Contains(t, names, "answered")
}

// Regression: a try said that nothing had come, whatever else came.
func TestATrySaysWhatElseCame(t *testing.T) {
	t.Parallel()
	for name, options := range pushes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			second := func(nth int) int { return min(nth-1, 1) }
			s := pushed(t, &fake.Pipeline{Copies: second}, &fake.Push{Hello: welcoming}, one, with(options, "")+", greet: true")
			names, whats, err := s.tried(t.Context(), time.Minute)
			require.NoError(t, err)
			at := slices.Index(names, "waiting")
			require.GreaterOrEqual(t, at, 0)
			assert.Contains(t, whats[at], "another message came: "+welcoming)
		})
	}
	t.Run("a webhook that refuses it", func(t *testing.T) {
		t.Parallel()
		s := calling(t, &fake.Pipeline{}, &fake.Webhook{}, one,
			"webhook: { secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }, greet: true")
		names, whats, err := s.tried(t.Context(), 3*time.Second)
		require.Error(t, err)
		at := slices.Index(names, "waiting")
		require.GreaterOrEqual(t, at, 0)
		assert.Contains(t, whats[at], "× signature (")
	})
}

func TestATryIsInterrupted(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{Copies: func(int) int { return 0 }}, one, "greet: true")
	ctx, cancel := context.WithCancel(t.Context())
	err := s.engine.Try(ctx, s.state, s.metrics, time.Minute, func(step, _ string) {
		if step == "answered" {
			cancel()
		}
	})
	require.ErrorIs(t, err, context.Canceled)
}

// silent is the address of a server that takes connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}
