package engine

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
	"github.com/arrival-bench/arrival/extensions/k6/internal/test"
)

// pushed returns a script whose messages p pushes. WS and EVENTS in options stand for its addresses.
func pushed(t *testing.T, f *fake.Pipeline, p *fake.Push, profile, options string) *script {
	t.Helper()
	f.Outlet = p
	test.Start(t, f)
	options = strings.NewReplacer("WS", p.WebSocketURL(), "EVENTS", p.EventsURL()).Replace(options)
	return newScriptAt(t, f, profile, "mqtt: {}, idle: '5s', "+options)
}

// pushes are the ways of pushing, with options that are alike. MORE stands for further ones.
var pushes = map[string]string{
	"WebSocket":          "websocket: { url: 'WS', MORE }",
	"server-sent events": "sse: { url: 'EVENTS', MORE }",
}

func with(options, more string) string { return strings.Replace(options, "MORE", more, 1) }

func TestMessagesArePushed(t *testing.T) {
	t.Parallel()
	for name, options := range pushes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake.Pipeline{Delay: 50 * time.Millisecond, Copies: func(nth int) int {
				switch {
				case nth%10 == 0:
					return 0
				case nth%25 == 1:
					return 2
				}
				return 1
			}}
			r := pushed(t, f, &fake.Push{}, fifty, with(options, "")).run()
			assert.Equal(t, []int{50, 45, 5, 2, 0}, []int{
				r.Account.Scheduled, r.Account.Arrived, r.Account.Lost, r.Account.Duplicates, r.Account.Foreign,
			})
			assert.True(t, r.Account.Balanced)
			assert.GreaterOrEqual(t, *r.Latency.Arrival.Min, 50.0)
			assert.Equal(t, runtime.GOOS == "linux", r.Health.ArrivalStamps.Kernel > 0, "the kernel's stamps are used")
		})
	}
}

const roomOfFive = "phases: [{duration: 1, arrivalRate: 50}]\nflows: [{name: room, targets: 4, deliveries: 5}]"

// A connection without a target gets every message.
func TestABroadcastReachesEveryConnection(t *testing.T) {
	t.Parallel()
	for name, options := range pushes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := pushed(t, &fake.Pipeline{}, &fake.Push{}, roomOfFive, with(options, "connections: 5")).run()
			result, reasons, _ := verdict(r)
			assert.Equal(t, runfile.Pass, result, reasons)
			assert.Equal(t, runfile.Deliveries{Due: 250, Arrived: 250}, r.Account.Deliveries)
			assert.Equal(t, []int{0, 0}, []int{r.Account.Duplicates, r.Account.Foreign})
		})
	}
}

// With a target each client has its own topics, and so has the canary.
func TestClientsHaveTargetsOfTheirOwn(t *testing.T) {
	t.Parallel()
	const mixed = "phases: [{duration: 1, arrivalRate: 50}]\nflows: [{name: room, targets: 8, target: room, deliveries: 5}, {name: direct, targets: 3}]"
	for name, options := range map[string]string{
		"WebSocket, sent first":        "websocket: { url: 'WS', connections: 20, send: ['{\"subscribe\":\"{{target}}\"}'], await: 'subscribed' }",
		"WebSocket, in the address":    "websocket: { url: 'WS?topic={{target}}' }",
		"server-sent events":           "sse: { url: 'EVENTS?topic={{ target }}' }",
		"WebSocket, as many as needed": "websocket: { url: 'WS', send: ['{\"subscribe\":\"{{target}}\"}'], await: 'subscribed' }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := pushed(t, &fake.Pipeline{}, &fake.Push{Ack: true}, mixed, options+", canary: true").run()
			result, reasons, _ := verdict(r)
			assert.Equal(t, runfile.Pass, result, reasons)
			assert.Equal(t, runfile.Deliveries{Due: 150, Arrived: 150}, r.Account.Deliveries)
			assert.Equal(t, []int{0, 0, 1}, []int{r.Account.Duplicates, r.Account.Foreign, r.Canary.Arrived})
		})
	}
}

// The client reconnects after a loss, and the report has the gap.
func TestALostConnectionIsRestoredAndItsGapRecorded(t *testing.T) {
	t.Parallel()
	for name, options := range pushes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake.Pipeline{}
			f.Copies = func(nth int) int {
				if nth == 25 {
					f.Cut()
					return 0
				}
				return 1
			}
			r := pushed(t, f, &fake.Push{}, "phases: [{duration: 2, arrivalRate: 50}]\nflows: [{name: direct}]",
				with(options, "")).run()
			require.Len(t, r.Health.Gaps, 1)
			require.NotNil(t, r.Health.Gaps[0].ToS)
			assert.Equal(t, 100, r.Account.Arrived+r.Account.Lost)
			assert.Positive(t, r.Account.Lost)
			assert.Greater(t, r.Account.Arrived, 24, "it arrives again")
			assert.Equal(t, runfile.Invalid, r.Verdict.Result, "the loss is the instrument's")
		})
	}
}

// A server of events learns which one the client had last, and how long the client has to wait.
func TestTheLastEventIDIsSentAgain(t *testing.T) {
	t.Parallel()
	p := &fake.Push{Raw: func(nth int, payload []byte) []byte {
		text := strings.Replace(string(payload), `,"target"`, ",\ndata: \"target\"", 1)
		return fmt.Appendf(nil, ": a comment\r\nid: e%d\r\nretry: 30\r\ndata: %s\r\n\r\n: another\n\n", nth,
			strings.ReplaceAll(text, "\n", "\r\n"))
	}}
	f := &fake.Pipeline{}
	f.Copies = func(nth int) int {
		if nth == 25 {
			f.Cut()
			return 0
		}
		return 1
	}
	r := pushed(t, f, p, fifty, "sse: { url: 'EVENTS' }, verify: 'off'").run()
	assert.Greater(t, r.Account.Arrived, 23)
	assert.Equal(t, []string{"", "e24"}, p.Seen)
}

// An end of an address that cannot be used is refused before the load.
func TestAServerThatRefusesIsNamed(t *testing.T) {
	t.Parallel()
	refusing := &fake.Push{Join: func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}}
	other := &fake.Push{Join: func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write([]byte("<html>"))
		return false
	}}
	for name, c := range map[string]struct {
		p             *fake.Push
		options, want string
	}{
		"WebSocket 401":           {refusing, "websocket: { url: 'WS' }", "HTTP 401"},
		"events 401":              {refusing, "sse: { url: 'EVENTS' }", "HTTP 401"},
		"no WebSocket":            {other, "websocket: { url: 'WS' }", "HTTP 200"},
		"no events":               {other, "sse: { url: 'EVENTS' }", "not text/event-stream"},
		"another sub-protocol":    {&fake.Push{}, "websocket: { url: 'WS', protocol: 'mine' }", `does not speak the sub-protocol "mine"`},
		"nobody there":            {&fake.Push{}, "websocket: { url: 'ws://127.0.0.1:1' }", "can't be reached"},
		"nobody there for events": {&fake.Push{}, "sse: { url: 'http://127.0.0.1:1' }", "can't be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake.Pipeline{}
			p := &fake.Push{Join: c.p.Join}
			s := pushed(t, f, p, fifty, c.options)
			err := s.engine.collect(t.Context(), s.state, s.metrics)
			require.ErrorContains(t, err, c.want)
			assert.Zero(t, f.Requests())
		})
	}
}

// A sub-protocol and header fields reach the server.
func TestHeadersAndSubProtocolReachTheServer(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]string{
		"WebSocket":          "websocket: { url: 'WS', protocol: 'arrival', headers: { Authorization: 'Bearer x' } }",
		"server-sent events": "sse: { url: 'EVENTS', headers: { Authorization: 'Bearer x' } }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var seen []string
			p := &fake.Push{Join: func(_ http.ResponseWriter, r *http.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, r.Header.Get("Authorization"), r.Header.Get("Sec-Websocket-Protocol"))
				return true
			}}
			r := pushed(t, &fake.Pipeline{}, p, fifty, options).run()
			assert.Equal(t, 50, r.Account.Arrived)
			mu.Lock()
			defer mu.Unlock()
			assert.Equal(t, "Bearer x", seen[0])
			assert.Equal(t, name == "WebSocket", seen[1] == "arrival")
		})
	}
}

// Stamps may come in a field of the message, as a text or a list.
func TestStampsComeInAField(t *testing.T) {
	t.Parallel()
	for name, options := range pushes {
		for _, form := range []string{`"%s"`, "[%s]"} {
			f := &fake.Pipeline{Redis: &fake.Redis{}}
			f.Rewrite = func(_ int, body []byte) []byte {
				stamps := fmt.Sprintf(form, fmt.Sprintf("%d, 10, 20, 30", time.Now().UnixMicro()))
				if form == `"%s"` {
					stamps = strings.ReplaceAll(stamps, " ", "")
				}
				return fmt.Appendf(nil, `{"meta":{"hops":%s},%s`, stamps, body[1:])
			}
			r := pushed(t, f, &fake.Push{}, fifty,
				"redis: { url: 'REDIS' }, verify: 'off', "+with(options, "hops: 'meta.hops'")).run()
			assert.Equal(t, 50, r.Account.Arrived, name)
			assert.Equal(t, int64(50), r.Latency.Stages["queue"].Count, name)
		}
	}
}

func TestWrongOptionsOfPushesAreRefused(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		"websocket: {}":                                                        "websocket.url (WEBSOCKET_URL)",
		"websocket: { url: 'http://h' }":                                       "allowed: ws:// or wss://",
		"websocket: { url: 'ws://u:p@h' }":                                     "has a user or a password",
		"websocket: { url: 'ws://h', connections: -1 }":                        "websocket.connections -1",
		"websocket: { url: 'ws://h', connections: 3 }":                         `flow "direct" has 1 deliveries`,
		"websocket: { url: 'ws://h', connections: 1000 }":                      "websocket.connections 1000",
		"websocket: { url: 'ws://h', protocol: 'a b' }":                        `websocket.protocol "a b"`,
		"websocket: { url: 'ws://h', await: 'x' }":                             "websocket.await",
		"websocket: { url: 'ws://h', send: [''] }":                             "empty message",
		"websocket: { url: 'ws://h', headers: { 'a b': '' } }":                 `field "a b"`,
		"websocket: { url: 'ws://h', connections: 101, send: ['{{target}}'] }": "targets for 100",
		"websocket: { url: 'ws://h/{{target}}', connections: 5 }":              "leave it out",
		"websocket: { url: 'ws://h' }, canary: true":                           "canary: false",
		"websocket: { url: 'ws://h' }, sse: { url: 'http://h' }":               "websocket and sse are set",
		"sse: { url: 'ws://h' }":                                               "sse.url (SSE_URL)",
		"sse: { url: 'http://h', send: ['x'] }":                                `unknown option "sse.send"`,
		"sse: { url: 'http://h', hops: 'a|b' }":                                `sse.hops "a|b"`,
	} {
		_, err := made(t, fmt.Sprintf("{ profile: %q, ingest: { url: 'http://h' }, canary: false, %s }", fifty, options))
		assert.ErrorContains(t, err, want, options)
	}
}

// Regression: server-sent events carry no CR, so each message of a body with CR LF counted as altered. One that differs
// in more is altered all the same.
func TestEventsHaveTheLinesOfTheirMessage(t *testing.T) {
	t.Parallel()
	const body = `body: '{"id":"{{id}}",\r\n"target":"{{target}}"\r}\r\n', verify: 1`
	asLines := func(payload []byte) []byte {
		text := strings.NewReplacer("\r\n", "\ndata: ", "\r", "\ndata: ").Replace(string(payload))
		return []byte("data: " + text + "\n\n")
	}
	for name, c := range map[string]struct {
		raw     func(nth int, payload []byte) []byte
		altered int
	}{
		"as the protocol has them": {func(_ int, payload []byte) []byte { return asLines(payload) }, 0},
		"with a line less":         {func(_ int, payload []byte) []byte { return asLines(bytes.TrimSuffix(payload, []byte("\r\n"))) }, 50},
		"with another text": {func(_ int, payload []byte) []byte {
			return bytes.Replace(asLines(payload), []byte(`"target"`), []byte(`"tarxet"`), 1)
		}, 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := pushed(t, &fake.Pipeline{}, &fake.Push{Raw: c.raw}, fifty, "sse: { url: 'EVENTS' }, "+body).run()
			assert.Equal(t, []int{50 - c.altered, c.altered}, []int{r.Account.Arrived, r.Account.Altered})
		})
	}
}
