package engine

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Regression: a server without a broker could not be measured, as the options required an MQTT URL.
func TestAnAnswerIsTheArrivalWithoutABroker(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Copies: func(int) int { return 0 }}
	r := newScript(t, f, twenty, "answers: true, mqtt: undefined").run()
	result, reasons, _ := verdict(r)
	assert.Equal(t, runfile.Pass, result, reasons)
	assert.Equal(t, r.Account.Scheduled, r.Account.Arrived)
	assert.Equal(t, r.Latency.HTTP.Count, r.Latency.Arrival.Count)
	assert.Equal(t, r.Latency.Arrival.Count, r.Latency.Stages["request"].Count)
	assert.Len(t, r.Latency.Stages, 2)
	if stamps := r.Health.ArrivalStamps; assert.EqualValues(t, r.Account.Arrived, stamps.Kernel+stamps.Read) &&
		runtime.GOOS == "linux" {
		assert.Positive(t, stamps.Kernel)
	}
}

func TestInvalidAnswersOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		"mqtt: {url: 'mqtt://h'}":   "answers is set, so nothing arrives by mqtt",
		"queue: {url: 'redis://h'}": "queue and answers are set",
		"canary: true":              "answers is set, and an answer is not a message of a canary: canary: false",
	} {
		_, err := made(t,
			fmt.Sprintf("{ ingest: {url: 'http://h'}, answers: true, canary: false, profile: %q, %s }", twenty, options))
		assert.ErrorContains(t, err, want)
	}
}

// Regression: without a broker no message went ahead, and a wrong path cost the whole load.
func TestAGreetingNeedsNoMoreThanAnAnswer(t *testing.T) {
	t.Parallel()
	const greets = "answers: true, mqtt: undefined, greet: true"
	refusing := &fake.Pipeline{Status: func(int) int { return 404 }}
	s := newScript(t, refusing, twenty, greets)
	err := s.engine.collect(t.Context(), s.state, s.metrics)
	require.ErrorContains(t, err, "refuses messages: HTTP 404")
	assert.Equal(t, 1, refusing.Requests(), "nothing of the load is sent")
	f := &fake.Pipeline{Copies: func(int) int { return 0 }}
	r := newScript(t, f, twenty, greets).run()
	assert.Equal(t, []int{20, 21}, []int{r.Account.Arrived, f.Requests()})
}
