package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/facts"
	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// Regression: "does the pipeline publish there?" though messages came, and "give it more cores" where the ingest
// refused all. The answer names the end at which messages stopped.
func TestTheAnswerNamesTheCause(t *testing.T) {
	t.Parallel()
	status := func(code int) func(int) int { return func(int) int { return code } }
	rewrite := func(with func(body []byte) []byte) func(int, []byte) []byte {
		return func(_ int, body []byte) []byte { return with(body) }
	}
	for name, c := range map[string]struct {
		pipeline *fake.Pipeline
		options  string
		says     []string
	}{
		"403": {&fake.Pipeline{Status: status(403)}, "", []string{"refused", "HTTP 403", "posted to http://127.0.0.1",
			"account"}},
		"404":       {&fake.Pipeline{Status: status(404)}, "", []string{"HTTP 404", "INGEST_PATH"}},
		"503":       {&fake.Pipeline{Status: status(503)}, "", []string{"HTTP 503"}},
		"302":       {&fake.Pipeline{Status: status(302)}, "", []string{"HTTP 302", "do not follow"}},
		"no answer": {&fake.Pipeline{Status: status(0)}, "timeout: '300ms', senders: 1, ", []string{"timeout", "TIMEOUT", "posted to"}},
		"nothing listens": {&fake.Pipeline{}, "ingest: { url: 'http://127.0.0.1:1', path: '/m?key=secret' }, ", []string{
			"no connection: refused", "posted to http://127.0.0.1:1/m?…"}},
		"an envelope with escaped quotes": {&fake.Pipeline{Rewrite: rewrite(func(b []byte) []byte {
			inner, _ := json.Marshal(string(b))
			return fmt.Appendf(nil, `{"event":%s}`, inner)
		})}, "", []string{"could not be read", "20 messages", `\"id\"`, "escaped"}},
		"an envelope": {&fake.Pipeline{Rewrite: wrapped}, "",
			[]string{"20 messages arrived with other content", "VERIFY=off", "posted to"}},
		"CBOR": {&fake.Pipeline{Rewrite: rewrite(func(b []byte) []byte { return packed("\xa1\x62id\x78", b) })}, "", []string{
			"20 messages", "could not be read", "\\u", "encoded"}},
		"MessagePack": {&fake.Pipeline{Rewrite: rewrite(func(b []byte) []byte { return packed("\x81\xa2id\xd9", b) })}, "", []string{
			"20 messages", "could not be read", "encoded"}},
		"CBOR with a binary id": {&fake.Pipeline{Rewrite: rewrite(func([]byte) []byte { return []byte("\xa1\x62id\x50\x00\x01\xff") })}, "", []string{
			"20 messages", "without an id of this run", "ID_KEY"}},
		"a changed id": {&fake.Pipeline{Rewrite: rewrite(func([]byte) []byte { return []byte(`{"id":"7c9e6679"}` + "\x1b[2J") })}, "",
			[]string{
				"without an id of this run", `{"id":"7c9e6679"}\u001b[2J`, "pass the id on"}},
		// Regression: "does the pipeline publish there?", though a first message had arrived.
		"only the greeting arrives": {&fake.Pipeline{Copies: func(nth int) int { return max(0, 2-nth) }}, "canary: false, greet: true, ", []string{
			"nothing of the load arrived", "targets of the load", "posted to"}},
		"published elsewhere": {&fake.Pipeline{}, "mqtt: { url: 'BROKER', filter: 'elsewhere/#' }, ", []string{
			"does the pipeline publish there?", "elsewhere/#", "posted to"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, c.pipeline, twenty, "idle: '2s', "+c.options)
			r := s.run()
			assert.Equal(t, runfile.Invalid, r.Verdict.Result)
			for _, text := range []string{r.Answer.Sentence, strings.Join(r.Verdict.Reasons, "\n")} {
				for _, says := range c.says {
					assert.Contains(t, text, says)
				}
				assert.NotContains(t, text, "more cores")
				assert.NotContains(t, text, "secret")
			}
		})
	}
}

// packed is a map with the id of a JSON message as its only field, in a binary format: head, the length in a byte, and
// the id.
func packed(head string, body []byte) []byte {
	var message struct{ ID string }
	_ = json.Unmarshal(body, &message)
	return append(append([]byte(head), byte(len(message.ID))), message.ID...)
}

// Regression: a script whose senders ended early was told to get more cores.
func TestSendersThatEndEarlyAreTheCause(t *testing.T) {
	t.Parallel()
	r := &runfile.Run{Scene: &runfile.Scene{Abandoned: "the senders ended after 5 of 20 requests"}}
	r.Account.Requests = runfile.Requests{Scheduled: 20, Sent: 5}
	r.Account.Scheduled, r.Account.Dropped, r.Account.Arrived, r.Account.Deliveries.Arrived = 20, 15, 5, 5
	assert.Contains(t, facts.Cause(r), "5 of 20 requests")
	assert.Contains(t, facts.Cause(r), "scenario")
}
