package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const hour = "phases: [{duration: 3600, arrivalRate: 50}]\nflows: [{name: one}]"

// slow is a pipeline that is too slow, however late the generator was.
func slow() *fake.Pipeline { return &fake.Pipeline{Delay: time.Second} }

// aborting is a threshold with abortOnFail.
func aborting(t *testing.T, source string) metrics.Thresholds {
	t.Helper()
	own := metrics.NewThresholds([]string{source})
	require.NoError(t, own.Parse())
	own.Thresholds[0].AbortOnFail = true
	return own
}

// abortedBy runs a script until k6 would end its test for a limit with abortOnFail: here the test takes the samples,
// judges them as k6 does and cancels the run.
func abortedBy(t *testing.T, f *fake.Pipeline, name, source string) *script {
	t.Helper()
	s := newScript(t, f, hour, "")
	e := s.engine
	own := aborting(t, source)
	s.state.Options.Thresholds = map[string]metrics.Thresholds{name: own}
	metric := s.registry.Get(name)
	require.NotNil(t, metric)
	metric.Thresholds = own
	ctx, cancel := context.WithTimeout(inScenario(t.Context()), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.collect(ctx, s.state, s.metrics) }()
	go sendAll(s)(ctx, e)
	for running := true; running; {
		select {
		case container := <-s.samples:
			for _, sample := range container.GetSamples() {
				sample.Metric.Sink.Add(sample)
			}
			if metric.Sink.IsEmpty() || metric.Thresholds.Abort {
				continue
			}
			held, err := metric.Thresholds.Run(metric.Sink, time.Second)
			require.NoError(t, err)
			if !held {
				cancel()
			}
		case err := <-ended:
			require.ErrorIs(t, err, errStopped)
			running = false
		}
	}
	return s
}

// Regression: k6 never got these figures before the end, so abortOnFail had no effect; a run that a limit of another
// metric ended was incomplete, "run it again", and the limit "not judged".
func TestARunThatAbortOnFailEndsFailsWithTheLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pipeline       *fake.Pipeline
		metric, source string
	}{
		"this module's p99":    {slow(), "arrival_p99", "value<0.001"},
		"k6's own":             {slow(), "arrival_latency", "p(99)<0.001"},
		"an end":               {&fake.Pipeline{Status: func(int) int { return 503 }}, "arrival_rejected", "count==0"},
		"failed, with its own": {&fake.Pipeline{Status: func(int) int { return 503 }}, "arrival_requests_failed", "count<2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := abortedBy(t, c.pipeline, c.metric, c.source)
			s.summary()
			r := s.written()
			assert.Nil(t, r.Run.Ended)
			if r.Verdict.Result == runfile.Invalid && c.pipeline.Delay > 0 { // a busy machine: the lateness may be as long
				assert.Contains(t, strings.Join(r.Verdict.Reasons, "\n"), "undecided")
				return
			}
			assert.Equal(t, runfile.Fail, r.Verdict.Result, r.Verdict.Reasons)
			assert.Contains(t, r.Verdict.Reasons[0], "abortOnFail")
			assert.Contains(t, r.Verdict.Reasons[0], "cut off at")
			var broken []runfile.Rule
			for _, rule := range r.Verdict.Rules {
				if rule.IsBroken() && rule.Limit != nil {
					broken = append(broken, rule)
				}
			}
			require.Len(t, broken, 1)
			require.NotNil(t, broken[0].Value)
			assert.Positive(t, *broken[0].Value)
			assert.Contains(t, r.Answer.Sentence, "abortOnFail")
			assert.NotContains(t, r.Answer.Sentence, "Run it again")
		})
	}
}

// Regression: test.abort(reason) left a report that says neither who ended the run nor why.
func TestTheReportSaysWhyK6EndedTheTest(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, hour, "")
	e := s.engine
	ctx, cancel := context.WithCancel(inScenario(t.Context()))
	go func() { <-e.Started; cancel() }()
	require.ErrorIs(t, e.collect(ctx, s.state, s.metrics), errStopped)
	s.summary() // handleSummary wrote it before k6 says why
	e.Conclude(End{Planned: true, Cause: errors.New("test aborted: enough"), Metrics: s.registry, Log: s.state.Logger})
	r := s.written()
	assert.Equal(t, runfile.Incomplete, r.Verdict.Result)
	assert.Contains(t, r.Verdict.Reasons[0], "test aborted: enough")
}

// Counts are pushed as they grow, so k6's sum is that of the account.
func TestACountWithALimitThatAbortsIsPushedOnce(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, "phases: [{duration: 3, arrivalRate: 20}]\nflows: [{name: one}]", "")
	s.state.Options.Thresholds = map[string]metrics.Thresholds{"arrival_arrived": aborting(t, "count<1000")}
	r := s.run()
	close(s.samples)
	samples, sum := 0, 0.0
	for container := range s.samples {
		for _, sample := range container.GetSamples() {
			if sample.Metric.Name == "arrival_arrived" {
				samples++
				sum += sample.Value
			}
		}
	}
	assert.Greater(t, samples, 1)
	assert.InDelta(t, r.Account.Arrived, sum, 0)
}

// A limit on lost messages ends no run: their number is known at the end only.
func TestALimitThatCannotAbortIsNamed(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, twenty, "")
	log, hook := logtest.NewNullLogger()
	for name, warned := range map[string]bool{
		"arrival_lost": true, "arrival_invalid": true, "arrival_p99": false, "http_reqs": false,
	} {
		hook.Reset()
		s.metrics.newAborts(s.engine, map[string]metrics.Thresholds{name: aborting(t, "count<1")}, log)
		entries := hook.AllEntries()
		if !warned {
			assert.Empty(t, entries, name)
			continue
		}
		require.Len(t, entries, 1, name)
		assert.Equal(t, logrus.WarnLevel, entries[0].Level)
		assert.Contains(t, entries[0].Message, name)
	}
}
