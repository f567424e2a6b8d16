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

// Regression: "3,496 of 6,500 requests got no 2xx: 3,496 × timeout".
func TestOneKindOfFailuresIsNotCountedTwice(t *testing.T) {
	t.Parallel()
	r := refusedRun("")
	r.Errors[0].Class = "timeout"
	assert.Equal(t, "6,221 of 10,500 requests got no 2xx (timeout)", Failures(r))
	r.Errors[0].Count++ // a request that was repeated
	assert.Equal(t, "6,221 of 10,500 requests got no 2xx: 6,222 × timeout", Failures(r))
}

// Regression: the box of a verdict counted the refused messages in four places, and k6's share of them in a fifth.
func TestRefusedRequestsAreSaidOnce(t *testing.T) {
	t.Parallel()
	r := refusedRun("full")
	broken := func(name string, value float64) runfile.Rule {
		return runfile.Rule{Name: name, Value: &value, Op: "<=", Limit: new(0.0), OK: new(false), Result: runfile.Fail}
	}
	rate := broken("http_req_failed rate", 0.592)
	rate.Reason = rate.Broken()
	r.Verdict.Rules = append(r.Verdict.Rules, broken("rejected", 6_221), broken(runfile.FailedRequests, 6_221), rate)
	r.Verdict.Reasons = append(r.Verdict.Reasons, rate.Reason)
	r.Scene = &runfile.Scene{URL: "http://ingest/m"}
	Conclude(r, "")
	assert.Equal(t, "6,221 messages were rejected", r.Verdict.Meaning)
	assert.Regexp(t,
		`^The ingest refused 6,221 of 10,500 requests \(HTTP 503: “full”\), posted to http://ingest/m\. Held `,
		r.Answer.Sentence)
	assert.Equal(t, 1, strings.Count(r.Answer.Sentence, "6,221"), r.Answer.Sentence)
	assert.Empty(t, r.Facts.Reasons)
	r.Verdict.Rules = []runfile.Rule{rate}
	Conclude(r, "")
	assert.Equal(t, rate.Reason, r.Verdict.Meaning, "the script's limit alone")
}

// Regression: a run of which nothing arrived was "disturbed", though the instrument had disturbed nothing.
func TestARunWithoutADeliveryIsNotDisturbed(t *testing.T) {
	t.Parallel()
	const why = "no delivery was measured, so there is no latency to judge"
	r := refusedRun("full")
	r.Verdict.Result = runfile.Invalid
	r.Verdict.Reasons = []string{why + "; the ingest refused all"}
	assert.Equal(t, why, meaning(r))
}

// Regression: the page of a run whose broker was stopped said that it was cut off, and nothing of the broker.
func TestARunThatWasCutOffNamesTheSubscriberThatItLost(t *testing.T) {
	t.Parallel()
	r := steadyRun(60, 400, 3)
	r.Run.Ended, r.Verdict.Result = nil, runfile.Incomplete
	r.Errors = []runfile.ErrorClass{{Stage: "delivery", Class: runfile.LostClass, Count: 1, Example: "MQTT broker b: EOF"}}
	assert.Regexp(t, `^Not finished: .* had arrived by then\. A subscriber was lost: MQTT broker b: EOF\. Run it again`,
		unusable(r))
}

// Regression: the advice beside "a backlog of 30 messages reaches the limit of 30" was to look into the ingest's log.
func TestARefusalThatSaysWhyNeedsNoLog(t *testing.T) {
	t.Parallel()
	assert.Contains(t, findings(refusedRun(""))[0].Next, logSaysWhy)
	assert.Regexp(t, "^lower the rate.*, or let the ingest take more$", findings(refusedRun("a backlog of 30"))[0].Next)
}
