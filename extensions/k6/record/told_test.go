package record

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const (
	toldProfile = "phases: [{name: warm-up, duration: 1, arrivalRate: 1, measured: false}, {name: load, duration: 1, " +
		"arrivalRate: 1}]\nflows: [{name: browse, target: direct}, {name: write, target: direct}]"
	toldOption = `, "told": true, "idle": "2s"`
)

// tellStart starts a run at this moment, and returns the prefix of its ids.
func (c *caller) tellStart() (prefix string, epoch time.Time) {
	c.t.Helper()
	ready := c.expect(func(l answerLine) bool { return l.Ready != nil || l.Error != nil }).Ready
	require.NotNil(c.t, ready)
	require.NotNil(c.t, ready.IDs)
	assert.Nil(c.t, ready.Requests)
	epoch = time.Now()
	at := c.clock.us(epoch)
	c.write(`{"start": {"at_us": %d}}`, at)
	started := c.expect(func(l answerLine) bool { return l.Started != nil }).Started
	require.NotNil(c.t, started)
	require.Equal(c.t, at, started.EpochUS, "however late the line is read")
	return ready.IDs.Prefix, epoch
}

// orderOf is a message of the caller's own: the id stands anywhere in it.
func orderOf(id string) string {
	return fmt.Sprintf(`{"order":{"ref":"order-%s"},"target":"direct/0"}`, id)
}

// post sends a message, and returns the answer's status.
func (c *caller) post(body string) int {
	answer, err := http.Post(c.f.IngestURL()+"/orders", "application/json", strings.NewReader(body))
	if !assert.NoError(c.t, err) {
		return 0
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	return answer.StatusCode
}

// Regression: the answer asked for the topics of the subscribers.
func TestACallerThatTellsNoRequestIsTheCause(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, toldProfile, toldOption)
	c.tellStart()
	r, _, _ := c.end()
	assert.Zero(t, r.Account.Scheduled)
	assert.Contains(t, r.Answer.Sentence, "the script sent no message")
	assert.NotContains(t, r.Answer.Sentence, "topics")
}

func TestACallerTellsItsRequests(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Copies: func(nth int) int {
		switch nth {
		case 5:
			return 0
		case 7:
			return 2
		}
		return 1
	}}
	c := record(t, f, toldProfile, toldOption)
	prefix, epoch := c.tellStart()
	for n := range 40 { // the numbers have holes, due times are as the caller says
		due := epoch.Add(time.Duration(n)*50*time.Millisecond + 5*time.Millisecond)
		time.Sleep(time.Until(due))
		c.write(`{"due": %d, "at_us": %d, "flow": %q}`, 3*n, c.clock.us(due), []string{"browse", "write"}[n%2])
		c.write(`{"sent": %d, "at_us": %d}`, 3*n, c.clock.us(time.Now()))
		status := c.post(orderOf(fmt.Sprint(prefix, 3*n)))
		c.write(`{"settled": %d, "at_us": %d, "status": %d}`, 3*n, c.clock.us(time.Now()), status)
	}
	c.write(`{"due": 1, "at_us": %d, "flow": "write"}`, c.clock.us(time.Now()))
	c.write(`{"unsent": 1, "message": "a hook failed"}`)
	c.write(`{"due": 2, "at_us": %d, "flow": "write"}`, c.clock.us(time.Now())) // and never sent
	r, _, _ := c.end()
	a := r.Account
	assert.Equal(t, [6]int{42, 39, 1, 2, 1, 0},
		[6]int{a.Scheduled, a.Arrived, a.Lost, a.Dropped, a.Duplicates, a.Foreign})
	assert.True(t, a.Balanced)
	assert.Equal(t, runfile.Open, r.Run.Model)
	require.Len(t, r.Steps, 2)
	assert.Equal(t, [2]int{20, 22}, [2]int{r.Steps[0].Requests, r.Steps[1].Requests}, "by the time they were due")
	assert.Equal(t, [2]int{10, 12}, [2]int{r.Flows[0].Scheduled, r.Flows[1].Scheduled}, "of the measured phase")
	assert.InDelta(t, 20, *r.Run.Profile.Phases[0].ArrivalRate, 0.1)
	scheduled := 0
	for _, second := range r.Timeline {
		scheduled += second.Scheduled
	}
	assert.Equal(t, 42, scheduled)
	require.NotNil(t, r.Health.Lateness)
	assert.Contains(t, r.Errors, runfile.ErrorClass{
		Stage: runfile.CallerStage, Class: runfile.UnsentClass, Count: 1, Example: "a hook failed",
	})
}

func TestWhatACallerTellsTooLateIsInItsLatency(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, toldProfile, toldOption)
	prefix, epoch := c.tellStart()
	time.Sleep(time.Until(epoch.Add(1500 * time.Millisecond)))
	due := epoch.Add(1100 * time.Millisecond)
	c.write(`{"due": 0, "at_us": %d, "flow": "write"}`, c.clock.us(due))
	c.write(`{"sent": 0, "at_us": %d}`, c.clock.us(time.Now()))
	c.write(`{"settled": 0, "at_us": %d, "status": %d}`, c.clock.us(time.Now()), c.post(orderOf(prefix+"0")))
	r, _, _ := c.end()
	assert.Equal(t, 1, r.Account.Arrived)
	require.NotNil(t, r.Latency.Arrival.Min)
	assert.Greater(t, *r.Latency.Arrival.Min, 400.0)
}

// A message may arrive before the caller tells what it was sent with.
func TestWhatACallerTellsThatItSentIsCompared(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Rewrite: func(nth int, body []byte) []byte {
		if nth%4 != 0 {
			return body
		}
		return bytes.Replace(body, []byte("order-"), []byte("ORDER-"), 1)
	}}
	c := record(t, f, toldProfile, toldOption+`, "verify": 1`)
	prefix, epoch := c.tellStart()
	for n := range 24 {
		at := c.clock.us(epoch.Add(time.Millisecond))
		body := orderOf(fmt.Sprint(prefix, n))
		status := c.post(body)
		c.write(`{"due": %d, "at_us": %d, "flow": "write"}`, n, at)
		if n < 20 {
			c.write(`{"sent": %d, "at_us": %d, "body": %q}`, n, at, body)
		} else { // what it was sent with is not known
			c.write(`{"sent": %d, "at_us": %d}`, n, at)
		}
		c.write(`{"settled": %d, "at_us": %d, "status": %d}`, n, c.clock.us(time.Now()), status)
	}
	r, _, _ := c.end()
	a := r.Account
	assert.Equal(t, [4]int{24, 19, 5, 0}, [4]int{a.Scheduled, a.Arrived, a.Altered, a.Lost})
	assert.True(t, a.Balanced)
	at := slices.IndexFunc(r.Errors, func(e runfile.ErrorClass) bool { return e.Class == "altered" })
	require.GreaterOrEqual(t, at, 0)
	assert.Equal(t, 5, r.Errors[at].Count)
	assert.Contains(t, r.Errors[at].Example, prefix)
}

// Regression: a lost message that was told was shown at the first target of its flow, and so was each that came over
// WebSocket or server-sent events.
func TestTheTargetOfWhatIsToldIsWhereItCame(t *testing.T) {
	t.Parallel()
	const profile = "phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: write, targets: [a, b, c]}]"
	for name, c := range map[string]struct {
		options string
		known   bool
	}{
		"MQTT":                             {"", true},
		"WebSocket":                        {`, "mqtt": {}, "websocket": {"url": "WS?topic={{target}}"}`, true},
		"server-sent events":               {`, "mqtt": {}, "sse": {"url": "EVENTS?topic={{target}}"}`, true},
		"WebSocket with targets in common": {`, "mqtt": {}, "websocket": {"url": "WS"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake.Pipeline{Copies: func(nth int) int { return min(1, 9-nth) }} // the last one is lost
			if name != "MQTT" {
				f.Outlet = &fake.Push{}
			}
			call := record(t, f, profile, toldOption+c.options)
			prefix, epoch := call.tellStart()
			want := map[string]string{}
			for n := range 9 {
				id, target := fmt.Sprint(prefix, n), []string{"a", "b", "c"}[n%3]
				call.write(`{"due": %d, "at_us": %d, "flow": "write"}`, n, call.clock.us(epoch.Add(time.Millisecond)))
				call.write(`{"sent": %d, "at_us": %d}`, n, call.clock.us(time.Now()))
				status := call.post(fmt.Sprintf(`{"id":%q,"target":%q}`, id, target))
				call.write(`{"settled": %d, "at_us": %d, "status": %d}`, n, call.clock.us(time.Now()), status)
				if want[id] = target; !c.known || n == 8 {
					want[id] = ""
				}
			}
			r, _, _ := call.end()
			assert.Equal(t, [2]int{8, 1}, [2]int{r.Account.Arrived, r.Account.Lost})
			got := map[string]string{}
			for _, one := range r.Messages.Slowest {
				got[one.ID] = one.Target
			}
			for _, one := range r.Messages.Named {
				got[one.ID] = one.Target
			}
			assert.Equal(t, want, got)
			for _, row := range r.Targets.Rows {
				most := 3 // the lost one was for c
				if !c.known {
					most = 0
				}
				assert.LessOrEqual(t, row.Arrival.Count, int64(most), row.Name)
			}
		})
	}
}

func TestWrongLinesOfACallerThatTells(t *testing.T) {
	t.Parallel()
	for line, wrong := range map[string]string{
		`{"next": 1}`: "next is not for a run whose requests are told",
		`{"due": 0, "at_us": AT, "flow": "none"}`:   `no flow "none"`,
		`{"due": 0, "flow": "write"}`:               "at_us is missing",
		`{"due": -1, "at_us": AT, "flow": "write"}`: "request -1",
		`{"due": 0, "at_us": AT, "flow": "write"}` + "\n" + `{"due": 0, "at_us": AT, "flow": "write"}`: "told already",
	} {
		t.Run(wrong, func(t *testing.T) {
			t.Parallel()
			c := record(t, &fake.Pipeline{}, toldProfile, toldOption)
			c.tellStart()
			c.write("%s", strings.ReplaceAll(line, "AT", fmt.Sprint(c.clock.us(time.Now()))))
			l := c.expect(func(l answerLine) bool { return l.Error != nil })
			assert.Contains(t, l.Error.Message, wrong)
			<-c.code
		})
	}
}
