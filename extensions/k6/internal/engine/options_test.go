package engine

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/arrival-bench/arrival/extensions/k6/internal/fake"
)

func TestInvalidOptionsAreRefused(t *testing.T) {
	t.Parallel()
	const good = `profile: 'phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a}]', ingest: {url: 'http://h'}, mqtt: {url: 'mqtt://h'}`
	for options, want := range map[string]string{
		"{" + good + ", sendrs: 3}":         `unknown option "sendrs"`,
		"{" + good + ", senders: 'x'}":      "senders is a text, but must be a whole number",
		"{" + good + ", senders: 0}":        "senders 0 is outside 1 to 10000",
		"{" + good + ", maxSenders: 10001}": "maxSenders 10001 (SENDERS) is outside 1 to 10000",
		"{profile: 'phases: [{duration: 1, vus: 1}]\\nflows: [{name: a}]', ingest: {url: 'http://h'}, mqtt: {url: 'mqtt://h'}, maxSenders: 3}": "maxSenders (SENDERS) is for the open model",
		"{" + good + ", timeout: 'x'}":                                           `options of Run: timeout is "x", which is not a duration: seconds, or a number with its unit`,
		"{" + good + ", clock: {limit: 'soon'}}":                                 `options of Run: clock.limit is "soon", which is not a duration`,
		"{" + good + ", drain: -1}":                                              "options of Run: drain is -1, which is not a duration",
		"{" + good + ", idle: true}":                                             "options of Run: idle is true, which is not a duration",
		"{" + good + ", everyFlow: {targets: 0}}":                                "every flow, targets: 0 is outside 1 to 100000",
		"{" + good + ", everyFlow: {payloadBytes: 7}, fuzz: {spec: '[a,int]'}}":  "everyFlow.payloadBytes and fuzz exclude each other",
		"{" + good + ", protocol: 'M|QTT'}":                                      `protocol "M|QTT" is what reports call the requests: up to 16 letters`,
		"{" + good + ", name: '../x'}":                                           `name "../x" names the run's directory`,
		"{" + good + ", id: 'a..b'}":                                             `id "a..b" is not the name of a field`,
		"{" + good + ", mqtt: {url: 'mqtt://h', qos: 3}}":                        "mqtt.qos 3 is not 0, 1 or 2",
		"{" + good + ", mqtt: {url: 'mqtt://h', version: '4'}}":                  `mqtt.version "4" is neither "5" nor "3.1.1"`,
		"{" + good + ", mqtt: {url: 'mqtt://h', session: 'long'}}":               `mqtt.session "long" is neither "clean" nor "persistent"`,
		"{" + good + ", mqtt: {url: 'mqtt://h', session: 'persistent', qos: 0}}": `mqtt.session "persistent" needs mqtt.qos 1 or 2`,
		"{" + good + ", mqtt: {url: 'mqtt://h', topics: 'all'}}":                 `mqtt.topics "all" is not "exact", "wildcard" or "shared"`,
		"{" + good + ", mqtt: {url: 'mqtt://h', connections: 33}}":               "mqtt.connections 33 is outside 1 to 32",
		"{" + strings.Replace(good, "name: a", "name: a, deliveries: 2", 1) + ", mqtt: {url: 'mqtt://h', topics: 'shared'}}": `mqtt.topics "shared" delivers each message once, but flow "a" has 2 deliveries`,
		"{" + good + ", inFlight: 0}":                                                           "inFlight 0 is outside 1 to 10000",
		"{" + good + ", ingest: {url: 'http://h', retries: -1}}":                                "ingest.retries -1 is outside 0 to 100",
		"{" + good + ", clock: {limit: '1ms'}}":                                                 "clock.limit is set, but there is no clock to hold to it",
		"{" + good + ", redis: {url: 'redis://h'}, clock: {limit: 0}}":                          "clock.limit 0: must be a time above 0",
		"{" + good + ", stages: ['a', 'b', 'c']}":                                               "stages (STAGES) is set, but the clock of its stamps is that of Redis: redis.url (REDIS_URL) is missing",
		"{" + good + ", mqtt: {url: ''}, canary: false, webhook: {hops: 'x'}}":                  "webhook.hops (HOPS) is set, but the clock",
		"{" + good + ", mqtt: {url: ''}, canary: false, sse: {url: 'http://h', hops: 'x'}}":     "sse.hops (HOPS) is set, but the clock",
		"{" + good + ", mqtt: {url: ''}, canary: false, websocket: {url: 'ws://h', hops: 'x'}}": "websocket.hops (HOPS) is set, but the clock",
		"{" + good + ", id: 'meta.id', body: '{{id}}'}":                                         "id (ID_KEY) is of the message that is made without body (BODY)",
		"{" + good + ", mqtt: {url: ''}}":                                                       "mqtt.url (MQTT_URL) is not set",
		"{" + good + ", mqtt: {url: 'amqp://h'}}":                                               `mqtt.url (MQTT_URL): its scheme is "amqp"`,
		"{" + good + ", redis: {url: 'http://h'}}":                                              `redis.url (REDIS_URL): its scheme is "http"`,
		"{" + strings.Replace(good, "name: a", "name: a, messages: 2", 1) +
			", ingest: {url: 'http://h', path: '/{{target}}'}}": `ingest.path (INGEST_PATH) has {{target}}`,
		"{" + good + ", ingest: {url: 'h:1'}}":                                              `ingest.url (INGEST_URL): it has no scheme`,
		"{" + good + ", ingest: {url: 'htp://b:p@h'}}":                                      `ingest.url (INGEST_URL): its scheme is "htp"`,
		"{" + good + ", ingest: {url: 'http://b:p@h'}}":                                     "ingest.url (INGEST_URL): it has a user or a password",
		"{" + good + ", redis: {url: 'redis://h', prefix: 'a*'}}":                           "redis.prefix (QUEUE_PREFIX) is \"a*\"; allowed",
		"{" + good + ", redis: {prefix: 'a'}}":                                              "redis.url (REDIS_URL) is missing",
		"{" + good + ", redis: {url: 'redis://u:p%2@h'}}":                                   "redis.url (REDIS_URL): a % of a user or a password is written %25",
		"{" + good + ", phases: {x: {duration: 3}}}":                                        `profile profile has no phase "x"; it has: phase 1`,
		"{" + good + ", ca: 'ca.pem'}":                                                      "ca (TLS_CA) holds no certificate",
		"{" + good + ", runs: 'file:///a%zz'}":                                              `runs is not a file:// URL: invalid URL escape "%zz"`,
		"{" + good + ", mqtt: {url: 'mqtt://h', status: 'status/+/'}}":                      `mqtt.status "status/+/" begins the name of a topic`,
		"{" + good + ", canary: false, mqtt: {url: 'mqtt://h', filter: 'a/#/b'}}":           "whole last level",
		"{" + good + ", canary: false, mqtt: {url: 'mqtt://h', filter: 'a/b#'}}":            "whole last level",
		"{" + good + ", canary: false, mqtt: {url: 'mqtt://h', filter: 'a+/b'}}":            "not a whole level",
		"{" + good + ", canary: false, mqtt: {url: 'mqtt://h', filter: '$share/g/a'}}":      "shared subscription",
		"{" + good + ", canary: false, mqtt: {url: 'mqtt://h', filter: 'a\\0b'}}":           "control character",
		"{" + good + ", canary: false, mqtt: {url: 'mqtt://h', filter: 'a'.repeat(65536)}}": "may have 65535",
		"{" + good + ", mqtt: {url: 'mqtt://h', prefix: '#/'}}":                             `mqtt.prefix (TOPIC_PREFIX) "#/"`,
		"{" + good + ", mqtt: {url: 'mqtt://h', prefix: '$share/g/'}}":                      "nobody can publish there",
		"{" + good + ", mqtt: {url: 'mqtt://h', prefix: 'a+/'}}":                            "+ and # are not allowed",
		"{" + good + ", mqtt: {url: 'mqtt://h', prefix: 'a\\n/'}}":                          "line break",
		"{" + good + ", ingest: {url: 'http://h', path: 'x'}}":                              "does not begin with /",
		"{" + good + ", ingest: {url: 'http://h', headers: {'X:': '1'}}}":                   "not the name of a header field",
		"{profile: ''}": "profile profile is empty",
	} {
		_, err := made(t, options)
		assert.ErrorContains(t, err, want, options)
	}
}

func TestDurationsAreSecondsOrHaveAUnit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		`2`: 2 * time.Second, `0.25`: 250 * time.Millisecond, `"1"`: time.Second, `"0.5"`: 500 * time.Millisecond, `"1ms"`: time.Millisecond, `"2m"`: 2 * time.Minute,
	} {
		var s seconds
		require.NoError(t, json.Unmarshal([]byte(text), &s), text)
		assert.Equal(t, want, s.duration(), text)
	}
}

// Regression: a file URL was used as a path, so a checkout in "my project" wrote to "my%20project".
func TestRunsIsAPathOrAFileURL(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "50% 성능")
	for _, runs := range []string{dir, (&url.URL{Scheme: "file", Path: dir}).String()} {
		s := newScript(t, &fake.Pipeline{}, twenty, fmt.Sprintf("dir: '', runs: %q", runs))
		e := s.engine
		require.NoError(t, e.dir.create(time.Now()))
		assert.Equal(t, dir, filepath.Dir(e.dir.at))
	}
}

func TestInvalidQueueOptionsAreRefused(t *testing.T) {
	t.Parallel()
	const one, five = "phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a}]",
		"phases: [{duration: 1, arrivalRate: 1}]\nflows: [{name: a, deliveries: 5}]"
	for _, c := range []struct{ profile, options, want string }{
		{one, "queue: {url: 'redis://h'}", "queue is set, and no canary arrives there: canary: false"},
		{one, "canary: false, queue: {url: 'redis://h', kind: 'heap'}",
			"queue.kind \"heap\" is not \"stream\" or \"list\""},
		{one, "canary: false, queue: {url: 'http://h'}", `queue.url (QUEUE_URL): its scheme is "http"`},
		{one, "canary: false, queue: {url: 'redis://h,i'}", "queue.url (QUEUE_URL) names several nodes"},
		{five, "canary: false, queue: {url: 'redis://h'}",
			"the queue hands out each message once, but flow \"a\" has 5 deliveries"},
	} {
		_, err := made(t,
			fmt.Sprintf("{ ingest: {url: 'http://h'}, mqtt: {url: 'mqtt://h'}, profile: %q, %s }", c.profile, c.options))
		assert.ErrorContains(t, err, c.want)
	}
}

// Regression: which of several wrong options an error named differed from run to run.
func TestAnErrorNamesTheFirstWrongOption(t *testing.T) {
	t.Parallel()
	for range 20 {
		o := Options{Protocol: "HTTP", Name: "a/b", Topology: "a/b", Network: "a/b"}
		require.ErrorContains(t, o.checkNames(), "name ")
		o = Options{Protocol: "HTTP", Name: "a", Topology: "a", Network: "a",
			Facts: map[string]any{"b": nil, "a": nil, "c": nil}}
		require.ErrorContains(t, o.checkNames(), "facts.a ")
	}
}
