package facts

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// refusedRun is a run whose ingest refused nearly two thirds of the requests.
func refusedRun(body string) *runfile.Run {
	r := steadyRun(60, 400, 3)
	r.Account.Requests = runfile.Requests{Scheduled: 10_500, Sent: 10_500, Failed: 6_221}
	r.Account.Rejected, r.Account.Arrived = 6_221, r.Account.Scheduled-6_221
	r.Errors = []runfile.ErrorClass{{Stage: runfile.RequestStage, Class: "HTTP 503", Count: 6_221, Example: body}}
	r.Verdict.Result = runfile.Fail
	r.Verdict.Reasons = []string{"rejected: 6,221 of 24,000 messages", Failures(r)}
	return r
}

// Regression: the first sentence held {\"error\":\"a backlog of 100 … reaches the limit of 10…, then "its log says
// why", then the first reason once more.
func TestARefusalIsSaidOnceInTheWordsOfTheIngest(t *testing.T) {
	t.Parallel()
	r := refusedRun(`{"error":"a backlog of 100 messages reaches the limit of 100"}`)
	Conclude(r, "")
	const said = "The ingest refused 6,221 of 10,500 requests " +
		"(HTTP 503: “a backlog of 100 messages reaches the limit of 100”)"
	assert.Equal(t, 1, strings.Count(r.Answer.Sentence, said), r.Answer.Sentence)
	assert.Empty(t, r.Facts.Reasons)
	assert.NotContains(t, r.Answer.Sentence, "its log")
}

func TestTheSentenceOfAnAnswerIsWithoutItsSyntax(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"error":{"code":7,"message":"too many."}}`:   "too many",
		`{"title":"Busy","detail":"try again in 3 s"}`: "try again in 3 s",
		`"plain"`:      "plain",
		`queue full`:   "queue full",
		`{"ok":false}`: `{"ok":false}`,
		``:             "",
		strings.Repeat("a backlog of 12345 ", 10): strings.Repeat("a backlog of 12345 ", 6) + "a …",
	} {
		assert.Equal(t, want, sentenceOf(body))
	}
}

func TestSeveralKindsOfFailuresAreCounted(t *testing.T) {
	t.Parallel()
	r := refusedRun("full")
	r.Errors[0].Count = 3000
	r.Errors = append(r.Errors, runfile.ErrorClass{Stage: runfile.RequestStage, Class: "timeout", Count: 3221})
	assert.Equal(t, "6,221 of 10,500 requests got no 2xx: 3,000 × HTTP 503, 3,221 × timeout", Failures(r))
}
