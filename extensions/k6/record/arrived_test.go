package record

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

const received = `, "mqtt": null, "arrived": {}, "idle": "2s"`

// Regression: a caller could receive only by taking its answers for arrivals, and the second arrival of a message ended
// the recording.
func TestACallerReceives(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, "phases: [{duration: 1, arrivalRate: 10}]\nflows: [{name: direct}]", received)
	c.started()
	slots := c.slots(`{"next": 10}`)
	quoted := func(text string) string {
		b, err := json.Marshal(text)
		require.NoError(t, err)
		return string(b)
	}
	for i, s := range slots[:8] {
		if i == 3 { // arrives before the caller has said that it was sent
			time.Sleep(time.Until(c.clock.time(s.DueUS)))
			c.write(`{"arrived": %s, "at_us": %d}`, quoted(s.Body), c.clock.us(time.Now()))
		}
		c.send(s)
	}
	c.write(`{"arrived": %s, "at_us": %d, "subscriber": 1}`, quoted(slots[0].Body), c.clock.us(time.Now()))
	c.write(`{"arrived": %s}`, quoted(slots[0].IDs[0]))
	c.write(`{"arrived": [%s, %s, "of another run"]}`, quoted(slots[1].Body), quoted(slots[2].IDs[0]))
	c.write(`{"arrived": %q, "encoding": "base64"}`, base64.StdEncoding.EncodeToString([]byte(slots[4].Body)))
	for _, s := range slots[8:] {
		c.send(s)
	}
	r, _, _ := c.end()
	assert.Equal(t, [5]int{10, 5, 5, 1, 1}, [5]int{
		r.Account.Scheduled, r.Account.Arrived, r.Account.Lost, r.Account.Duplicates, r.Account.Foreign,
	})
	assert.True(t, r.Account.Balanced)
	assert.Equal(t, int64(5), r.Latency.Arrival.Count)
}

func TestACallerSaysWhoReceives(t *testing.T) {
	t.Parallel()
	c := record(t, &fake.Pipeline{}, "phases: [{duration: 1, arrivalRate: 10}]\nflows: [{name: direct, targets: 2}]",
		received)
	c.started()
	for _, s := range c.slots(`{"next": 10}`) { // the targets take turns
		c.send(s)
		c.write(`{"arrived": %q, "target": "user/0"}`, s.IDs[0])
	}
	r, _, _ := c.end()
	assert.Equal(t, [4]int{10, 5, 5, 5}, [4]int{
		r.Account.Scheduled, r.Account.Arrived, r.Account.Misdelivered, r.Account.Misdeliveries,
	})
	assert.Contains(t, r.Messages.Named[len(r.Messages.Named)-1].CameTo, "user/0")
}

func TestWrongArrivedLinesEndTheRecording(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"arrived": 5}`:                            "neither a text nor a list of texts",
		`{"arrived": [5]}`:                          "neither a text nor a list of texts",
		`{"arrived": "x", "subscriber": 0}`:         "subscriber 0; allowed: 1 to 1 (",
		`{"arrived": "x", "subscriber": 2}`:         "subscriber 2; allowed: 1 to 1 (", // regression: a panic
		`{"arrived": "x", "subscriber": 33}`:        "subscriber 33; allowed: 1 to 1 (",
		`{"arrived": "x", "at_us": 5}`:              "before the recorder began, so the clock is another one",
		`{"arrived": "x", "target": "user/100"}`:    `target "user/100", which no message of the run has; allowed: user/0 to user/99`,
		`{"arrived": "x", "at_us": 99999999999999}`: "in the future",
		`{"arrived": "x", "encoding": "hex"}`:       `encoding "hex"; allowed: "base64"`,
		`{"arrived": "*", "encoding": "base64"}`:    "is not base64",
		`{"arrived": "x", "sent": 1, "at_us": 5}`:   "2 of what it may say",
	} {
		c := record(t, &fake.Pipeline{}, "phases: [{duration: 1, arrivalRate: 10}]\nflows: [{name: direct}]", received)
		c.started()
		c.write("%s", line)
		l := c.expect(func(l answerLine) bool { return l.Error != nil })
		assert.Contains(t, l.Error.Message, want, line)
		<-c.code
	}
	c := record(t, &fake.Pipeline{}, "phases: [{duration: 1, arrivalRate: 10}]\nflows: [{name: direct}]", "")
	c.started()
	c.write(`{"arrived": "x"}`)
	l := c.expect(func(l answerLine) bool { return l.Error != nil })
	assert.Contains(t, l.Error.Message, `the option "arrived": {}`)
	<-c.code
}
