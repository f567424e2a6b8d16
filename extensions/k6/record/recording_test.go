package record

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/errext/exitcodes"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/schedule"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

func TestARecorderAccountsForItsCallersMessages(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, test.Steady, "")
	c.started()
	c.sendAll()
	r, last, code := c.end()
	assert.Equal(t, runfile.Tool{Name: "other", Version: "1.2"}, r.Run.Tool)
	assert.Equal(t, r.Latency.Arrival.P99, last.Latency.P99)
	if test.CheckSteady(t, r) == 0 {
		assert.Zero(t, code)
		assert.Zero(t, last.Exit)
	}
}

func TestARecorderReportsProgressAndTwoProcesses(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, "phases: [{duration: 2, arrivalRate: 50}]\nflows: [{name: direct}]", "")
	c.started()
	c.sendAll()
	r, _, _ := c.end()
	require.Len(t, r.Resources, 2)
	assert.Equal(t, []string{"other", "recorder"}, []string{r.Resources[0].Process, r.Resources[1].Process})
	live := r.Resources[1].Figures.Gauges["live_heap_mb"]
	require.NotEmpty(t, live)
	assert.Positive(t, *live[0], "the heap after the last garbage collection")
	arrived, latencies := int64(0), 0
	for _, l := range c.skipped {
		require.NotNil(t, l.Progress)
		arrived += l.Progress.Arrived
		latencies += len(l.Progress.Latencies)
	}
	assert.Equal(t, int64(100), arrived, "the last second is reported before the result")
	assert.Equal(t, 100, latencies)
}

// TestRejectedAndUnansweredRequestsAreCountedApart (arrival) checks the native sender.
func TestARecorderClassifiesAnswersLikeTheNativeSender(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Status: test.Statuses(map[int]int{1: http.StatusServiceUnavailable, 2: http.StatusBadGateway})}
	c := record(t, f, "phases: [{duration: 1, arrivalRate: 10}]\nflows: [{name: direct}]", `, "idle": "2s"`)
	c.started()
	slots := c.slots(`{"next": 10}`)
	for _, s := range slots[:4] {
		c.send(s)
	}
	for i, failure := range []string{
		`"error": "refused", "message": "connect ECONNREFUSED"`, `"error": "name not resolved"`, `"error": "TLS"`,
		`"error": "timeout"`, `"error": "reset", "retries": 2`, `"error": "reset", "connected": false`,
	} {
		s := slots[4+i]
		c.write(`{"sent": %d, "at_us": %d}`, s.N, s.DueUS)
		time.Sleep(time.Until(c.clock.time(s.DueUS)))
		c.write(`{"settled": %d, "at_us": %d, %s}`, s.N, c.clock.us(time.Now()), failure)
	}
	r, _, code := c.end()
	assert.Equal(t, exitcodes.ThresholdsHaveFailed, code)
	assert.Equal(t, [4]int{5, 3, 2, 2}, [4]int{r.Account.Rejected, r.Account.Unknown, r.Account.Arrived,
		r.Account.Requests.Retried})
	assert.True(t, r.Account.Balanced)
	classes := map[string]string{}
	for _, e := range r.Errors {
		classes[e.Class] = e.Example
	}
	assert.Equal(t, map[string]string{
		"HTTP 503": "status 503", "HTTP 502": "status 502", "no connection: refused": "connect ECONNREFUSED",
		"no connection: name not resolved": "name not resolved", "TLS": "TLS", "timeout": "no answer within 10s",
		"reset": "reset", "no connection: reset": "reset",
	}, classes)
}

func TestARecorderDropsUnsentMessages(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, "phases: [{duration: 60, arrivalRate: 10}]\nflows: [{name: direct}]", "")
	c.started()
	slots := c.slots(`{"next": 5}`)
	c.send(slots[0])
	c.write(`{"sent": %d, "at_us": %d}`, slots[1].N, c.clock.us(time.Now()))
	c.write(`{"end": true}`)
	assert.Empty(t, c.slots(`{"next": 5}`), "the load has ended")
	// One sender does not know of the end yet.
	c.write(`{"sent": %d, "at_us": %d}`, slots[2].N, c.clock.us(time.Now()))
	c.write(`{"settled": %d, "at_us": %d, "status": 202}`, slots[2].N, c.clock.us(time.Now()))
	c.write(`{"settled": %d, "at_us": %d, "status": 503}`, slots[1].N, c.clock.us(time.Now()))
	c.expect(func(l answerLine) bool { return l.Summary != "" })
	assert.Equal(t, exitcodes.ThresholdsHaveFailed, <-c.code)
	r := c.written()
	assert.Equal(t, [4]int{600, 1, 1, 598}, [4]int{r.Account.Scheduled, r.Account.Arrived, r.Account.Rejected,
		r.Account.Dropped})
	assert.True(t, r.Account.Balanced)
	assert.NotNil(t, r.Run.Ended)
	assert.Contains(t, strings.Join(r.Verdict.Reasons, "\n"), "598 of 600 messages")
}

func TestARequestSentTooLateIsDropped(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, "phases: [{duration: 1, arrivalRate: 3}]\nflows: [{name: direct}]", "")
	c.started()
	slots := c.slots(`{"next": 3}`)
	c.send(slots[0])
	c.write(`{"now": true}`)
	c.expect(func(l answerLine) bool { return l.Now != nil }) // the recorder has read the earlier lines
	c.recording.desk.dropUnsent(c.clock.time(slots[1].DueUS).Add(schedule.LateLimit + time.Millisecond))
	c.write(`{"sent": %d, "at_us": %d}`, slots[1].N, c.clock.us(time.Now()))
	c.write(`{"settled": %d, "at_us": %d, "status": 202}`, slots[1].N, c.clock.us(time.Now()))
	time.Sleep(time.Until(c.clock.time(slots[2].DueUS)))
	c.send(slots[2])
	r, _, _ := c.end()
	assert.Equal(t, [3]int{3, 2, 1}, [3]int{r.Account.Scheduled, r.Account.Arrived, r.Account.Dropped})
	assert.Equal(t, "sent too late", r.Errors[0].Class)
}

func TestLimitsBecomeRules(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{Delay: 20 * time.Millisecond},
		"phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct}]",
		`, "limits": {"arrival_p99": ["value<1"], "arrival_latency": ["p(50)<1"], "arrival_arrived": ["count>=20", "rate<1000"]}`)
	c.started()
	c.sendAll()
	r, last, code := c.end()
	assert.Equal(t, exitcodes.ThresholdsHaveFailed, code)
	assert.Equal(t, int(code), last.Exit)
	held := map[string]bool{}
	for _, rule := range r.Verdict.Rules {
		if strings.HasPrefix(rule.Name, "arrival_") {
			held[rule.Name] = rule.OK != nil && *rule.OK // nil where a busy machine made the generator late
		}
	}
	assert.Equal(t, map[string]bool{
		"arrival_p99": false, "arrival_latency p(50)": false, "arrival_arrived": true, "arrival_arrived rate": true,
	}, held)
}
