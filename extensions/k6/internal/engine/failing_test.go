package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

func ruleOf(r *runfile.Run, name string) *runfile.Rule {
	for i := range r.Verdict.Rules {
		if r.Verdict.Rules[i].Name == name {
			return &r.Verdict.Rules[i]
		}
	}
	return nil
}

// Regression: all requests failed while their messages arrived, and the run passed with "Carried 0 messages/s".
func TestFailedRequestsAreJudgedThoughTheirMessagesArrive(t *testing.T) {
	t.Parallel()
	fifth := func(status int) func(int) int {
		return func(nth int) int {
			if nth%5 == 0 {
				return status
			}
			return 202
		}
	}
	all := func(status int) func(int) int { return func(int) int { return status } }
	for name, c := range map[string]struct {
		status  func(int) int
		options string
		failed  int
		class   string
	}{
		"504":                {all(504), "", 20, "HTTP 504"},
		"400":                {all(400), "", 20, "HTTP 400"},
		"302":                {all(302), "", 20, "HTTP 302"},
		"429 and retries":    {all(429), "ingest: { url: 'PIPELINE', retries: 1 },", 20, "HTTP 429"},
		"a fifth 503":        {fifth(503), "", 4, "HTTP 503"},
		"a fifth, no answer": {fifth(0), "timeout: '3s', ", 4, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, &fake.Pipeline{Status: c.status, Anyway: func(int) bool { return true }}, twenty,
				c.options)
			r := s.run()
			assert.Equal(t, 20, r.Account.Arrived)
			assert.Equal(t, c.failed, r.Account.Requests.Failed)
			assert.True(t, r.Account.Balanced)
			rule := ruleOf(r, runfile.FailedRequests)
			require.NotNil(t, rule)
			assert.False(t, *rule.OK)
			assert.NotEqual(t, runfile.Pass, r.Verdict.Result)
			assert.Contains(t, rule.Reason, c.class)
			assert.Equal(t, 20, r.Steps[0].Taken)
			assert.Greater(t, r.Steps[0].CarriedPerS, r.Steps[0].ScheduledPerS/2, "they arrived")
			assert.Contains(t, r.Findings[0].Text, c.class)
			for _, file := range []string{"summary.md", "junit.xml"} {
				text, err := os.ReadFile(filepath.Join(s.dir, file))
				require.NoError(t, err)
				assert.Contains(t, string(text), c.class, file)
			}
		})
	}
}

// A script that means to be refused says how often.
func TestAScriptWidensTheLimitOfFailedRequests(t *testing.T) {
	t.Parallel()
	for limit, held := range map[string]bool{"count<=4": true, "count<4": false} {
		s := newScript(t, &fake.Pipeline{
			Status: func(nth int) int { return map[bool]int{true: 503, false: 202}[nth%5 == 0] },
			Anyway: func(int) bool { return true },
		}, twenty, "")
		own := metrics.NewThresholds([]string{limit})
		require.NoError(t, own.Parse())
		s.state.Options.Thresholds = map[string]metrics.Thresholds{"arrival_requests_failed": own}
		r := s.run()
		assert.Nil(t, ruleOf(r, runfile.FailedRequests), "the script's own limit replaces the rule")
		rule := ruleOf(r, "arrival_requests_failed")
		require.NotNil(t, rule)
		assert.Equal(t, held, *rule.OK, limit)
		assert.Equal(t, "requests", rule.Unit)
	}
}

func TestARetryThatIsAcceptedIsNoFailedRequest(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{Status: func(nth int) int { return map[bool]int{true: 429, false: 202}[nth <= 3] }},
		twenty,
		"ingest: { url: 'PIPELINE', retries: 3 }, canary: false,")
	r := s.run()
	assert.Zero(t, r.Account.Requests.Failed)
	assert.Equal(t, 3, r.Account.Requests.Retried)
	assert.True(t, *ruleOf(r, runfile.FailedRequests).OK)
}
