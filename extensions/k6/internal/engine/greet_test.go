package engine

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

const welcoming = `{"type":"welcome"}`

// targeted are the ways of pushing to clients with targets of their own.
var targeted = map[string]string{
	"WebSocket":                         "websocket: { url: 'WS?topic={{target}}' }",
	"WebSocket that answers to clients": `websocket: { url: 'WS', send: ['{"subscribe":"{{target}}"}'] }`,
	"server-sent events":                "sse: { url: 'EVENTS?topic={{target}}' }",
}

const twentyOfThree = "phases: [{duration: 1, arrivalRate: 20}]\nflows: [{name: direct, targets: 3}]"

// greeted is the class of the errors that count repeats of the first message.
func greeted(r *runfile.Run) (repeats int) {
	for _, e := range r.Errors {
		if e.Stage == "canary" && e.Class == "first message repeated" {
			repeats += e.Count
		}
	}
	return repeats
}

// Regression: any other message refused a pipeline that takes more than 3 s, with a false cause. The first message is
// repeated meanwhile, and its repeats, which come beside the load, are not part of the account.
func TestOtherMessagesDoNotRefuseASlowPipeline(t *testing.T) {
	t.Parallel()
	ways := map[string]string{}
	for name, options := range targeted {
		ways[name] = options + ", canary: true"
	}
	for name, options := range pushes {
		ways[name+" without targets"] = with(options, "") + ", canary: false, greet: true"
	}
	for name, options := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake.Pipeline{Delay: 3500 * time.Millisecond}
			r := pushed(t, f, &fake.Push{Hello: welcoming, Ack: true}, twentyOfThree, options).run()
			assert.Equal(t, []int{20, 0, 0}, []int{r.Account.Arrived, r.Account.Duplicates, r.Account.Altered})
			assert.NotZero(t, greeted(r))
			if strings.Contains(name, "without") {
				assert.Equal(t, 1, r.Account.Foreign, "the welcome, and no repeat")
			}
		})
	}
}

// Regression: what was sent before the server had subscribed the client was awaited for the whole time.
func TestAFirstMessageIsRepeatedUntilOneArrives(t *testing.T) {
	t.Parallel()
	for name, options := range targeted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := func(nth int) int { return min(nth-1, 1) } // is lost, as one is that comes before a subscription
			r := pushed(t, &fake.Pipeline{Copies: first}, &fake.Push{}, twentyOfThree, options+", canary: true").run()
			assert.Equal(t, []int{20, 0, 0}, []int{r.Account.Arrived, r.Account.Duplicates, r.Account.Foreign})
			assert.NotZero(t, greeted(r))
		})
	}
}

// Regression: the reason for which a server ended the connections was not shown, and the error came after the whole
// time.
func TestTheReasonOfAnEndedConnectionIsShown(t *testing.T) {
	t.Parallel()
	options := targeted["WebSocket that answers to clients"] + ", canary: true, drain: 90"
	s := pushed(t, &fake.Pipeline{}, &fake.Push{Bye: "bad token"}, twentyOfThree, options)
	began := time.Now()
	err := s.engine.collect(t.Context(), s.state, s.metrics)
	require.ErrorContains(t, err, "4001")
	require.ErrorContains(t, err, "bad token")
	assert.Less(t, time.Since(began), 90*time.Second)
}

// The error of a first message that did not arrive has all that a user needs: what else came, what was posted, where it
// was expected, and for whom. Nothing of it is a secret.
func TestAFirstMessageThatDoesNotArriveIsDescribed(t *testing.T) {
	t.Parallel()
	const secret = `body: '{"id":"{{id}}","to":"{{target}}","apiKey":"hunter22"}', drain: 1, canary: true`
	for name, options := range map[string]string{
		"WebSocket":          `websocket: { url: 'WS?topic={{target}}&token=hunter22', send: ['{"token":"hunter22"}'] }`,
		"server-sent events": "sse: { url: 'EVENTS?topic={{target}}&token=hunter22' }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake.Pipeline{Copies: func(int) int { return 0 }}
			s := pushed(t, f, &fake.Push{Hello: welcoming}, twentyOfThree, options+", "+secret)
			e := s.engine
			err := e.collect(t.Context(), s.state, s.metrics)
			for _, says := range []string{
				"did not arrive", welcoming, "Either", "ID_KEY", `{"id":"` + e.parts.ID + `.canary.`,
				"k6 x arrival try", // a run without a first message writes no report
				"topic=canary/" + e.parts.ID, fmt.Sprintf("the target %q", "canary/"+e.parts.ID),
			} {
				require.ErrorContains(t, err, says)
			}
			assert.Equal(t, name == "WebSocket", strings.Contains(err.Error(), "WEBSOCKET_AWAIT"))
			assert.NotContains(t, err.Error(), "hunter22")
		})
	}
}

// Regression: a message that names the one before it ahead of its own id was counted rightly in the load, and the first
// message "did not arrive".
func TestAMessageThatNamesTheOneBeforeItIsGreeted(t *testing.T) {
	t.Parallel()
	f := &fake.Pipeline{Rewrite: func(_ int, message []byte) []byte {
		id, _, _ := bytes.Cut(message[len(`{"id":"`):], []byte(`"`))
		before := append(bytes.Clone(id[:len(id)-1]), '7')
		return fmt.Appendf(nil, `{"prev":"%s",%s`, before, message[1:])
	}}
	r := newScript(t, f, twentyOfThree, "canary: true, verify: 'off'").run()
	assert.Equal(t, []int{20, 0}, []int{r.Account.Arrived, r.Account.Duplicates})
	assert.Equal(t, 1, r.Canary.Arrived)
	assert.Zero(t, greeted(r))
}

// Regression: server-sent events carry no CR, so a first message with CR LF was refused as altered, and the load is
// not.
func TestAFirstMessageHasItsLines(t *testing.T) {
	t.Parallel()
	asLines := func(_ int, payload []byte) []byte {
		return fmt.Appendf(nil, "data: %s\n\n", strings.ReplaceAll(string(payload), "\r\n", "\ndata: "))
	}
	r := pushed(t, &fake.Pipeline{}, &fake.Push{Raw: asLines}, twentyOfThree,
		`sse: { url: 'EVENTS' }, body: '{"id":"{{id}}",\r\n"target":"{{target}}"}', verify: 1, greet: true`).run()
	assert.Equal(t, []int{20, 0}, []int{r.Account.Arrived, r.Account.Altered})
}

// Targets by name need no slash, and a filter of the user's has them in any level.
func TestTargetsByNameAreReached(t *testing.T) {
	t.Parallel()
	const named = "phases: [{duration: 1, arrivalRate: 30}]\nflows: [{name: direct, targets: [berlin, rome, 'a:b']}]"
	for name, options := range map[string]string{
		"MQTT":                 "canary: true",
		"every flow":           "canary: true, everyFlow: { targets: ['x', 'y', 'z'] }",
		"a WebSocket":          "mqtt: {}, canary: true, websocket: { url: 'WS?topic={{target}}' }",
		"subscriptions":        `mqtt: {}, canary: true, websocket: { url: 'WS', connections: 2, send: ['{"subscribe":"{{target}}"}'], await: 'subscribed' }`,
		"a server-sent events": "mqtt: {}, canary: true, sse: { url: 'EVENTS?topic={{target}}' }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake.Pipeline{}
			s := newScript
			if strings.Contains(options, "mqtt: {}") {
				s = func(t *testing.T, f *fake.Pipeline, profile, options string) *script {
					t.Helper()
					return pushed(t, f, &fake.Push{Ack: true}, profile, options)
				}
			}
			r := s(t, f, named, options).run()
			assert.Equal(t, []int{30, 0}, []int{r.Account.Arrived, r.Account.Foreign})
			require.Len(t, r.Targets.Rows, 3)
			assert.NotContains(t, r.Targets.Rows[0].Name, "/")
		})
	}
}
