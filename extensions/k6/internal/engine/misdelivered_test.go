package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// fromUsers is a load of 60 messages to user/0, user/1 and user/2 in turn.
const fromUsers = "phases: [{duration: 1, arrivalRate: 60}]\nflows: [{name: direct, targets: 3}]"

// swapped delivers the messages of user/0 to user/1, and those of user/1 to user/0.
func swapped(_ int, target string) []string {
	return []string{strings.NewReplacer("user/0", "user/1", "user/1", "user/0").Replace(target)}
}

// toAll delivers each message to every target.
func toAll(int, string) []string { return []string{"user/0", "user/1", "user/2"} }

// holders are the ways to hold targets.
var holders = map[string]string{
	"MQTT":                  "mqtt: { url: 'BROKER' }, ",
	"MQTT, three clients":   "mqtt: { url: 'BROKER', connections: 3 }, ",
	"server-sent events":    "sse: { url: 'EVENTS?topic={{target}}' }, ",
	"WebSocket":             "websocket: { url: 'WS?topic={{target}}' }, ",
	"WebSocket, sent first": "websocket: { url: 'WS', send: ['{\"subscribe\":\"{{target}}\"}'], await: 'subscribed', connections: 3 }, ",
}

// heldBy is a script of a pipeline that ends where a holder holds its targets.
func heldBy(t *testing.T, f *fake.Pipeline, holder, options string) *script {
	t.Helper()
	if strings.Contains(holder, "mqtt") {
		return newScript(t, f, fromUsers, holder+options)
	}
	return pushed(t, f, &fake.Push{Ack: true}, fromUsers, holder+options)
}

// Regression: two recipients were swapped, nobody had what was theirs, and the run passed.
func TestAMessageAtAWrongRecipientHasNotArrived(t *testing.T) {
	t.Parallel()
	for name, holder := range holders {
		for _, way := range []struct {
			name                                 string
			route                                func(int, string) []string
			arrived, misdelivered, misdeliveries int
		}{{"swapped", swapped, 20, 40, 40}, {"to all", toAll, 60, 0, 120}} {
			t.Run(name+", "+way.name, func(t *testing.T) {
				t.Parallel()
				r := heldBy(t, &fake.Pipeline{Route: way.route}, holder, "idle: '1s', drain: 5").run()
				a := r.Account
				assert.Equal(t, []any{60, way.arrived, way.misdelivered, way.misdeliveries, 0, 0, true},
					[]any{a.Scheduled, a.Arrived, a.Misdelivered, a.Misdeliveries, a.Duplicates, a.Foreign, a.Balanced})
				assert.Regexp(t, fmt.Sprintf(`misdeliveries: %d of \d+ deliveries came to a recipient that they were not for, `+
					`like \S+ for user/\d, which came to user/\d`, way.misdeliveries), strings.Join(r.Verdict.Reasons, "\n"))
			})
		}
	}
}

// A message that does not say for whom it is can't come to a wrong recipient.
func TestAMessageWithoutATargetIsForAnyone(t *testing.T) {
	t.Parallel()
	toOne := &fake.Pipeline{Route: func(int, string) []string { return []string{"user/1"} }}
	r := heldBy(t, toOne, holders["WebSocket"], "body: '{\"id\":\"{{id}}\"}', idle: '1s'").run()
	assert.Equal(t, []int{60, 0}, []int{r.Account.Arrived, r.Account.Misdeliveries})
}

func TestARunOfWhichNothingReachedItsOwnFails(t *testing.T) {
	t.Parallel()
	rotated := strings.NewReplacer("user/0", "user/1", "user/1", "user/2", "user/2", "user/0")
	f := &fake.Pipeline{Route: func(_ int, target string) []string { return []string{rotated.Replace(target)} }}
	r := newScript(t, f, fromUsers, "idle: '1s', drain: 5").run()
	result, reasons, _ := verdict(r)
	assert.Equal(t, runfile.Fail, result, reasons)
	assert.Equal(t, 60, r.Account.Misdelivered)
}

// A script receives itself, and says whose recipient it is.
func TestAScriptSaysWhoReceives(t *testing.T) {
	t.Parallel()
	s := newScript(t, &fake.Pipeline{}, fromUsers, "mqtt: {}, arrived: { consumers: 0 }, idle: '1s', drain: 5")
	_, err := s.engine.Recipient("user/3")
	assert.ErrorContains(t, err, `has target "user/3", which no message of the run has; allowed: user/0 to user/2`)
}
