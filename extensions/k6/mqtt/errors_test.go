package mqtt

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestErrorsThrowRejectOrGoToTheHandler(t *testing.T) {
	eachVersion(t, testErrorsThrowRejectOrGoToTheHandler)
}

func testErrorsThrowRejectOrGoToTheHandler(t *testing.T, v int) {
	s := newScript(t, v, newBroker(t, &rules{noSubscribe: "secret/#"})).start()
	refused := "the broker refused the subscription to secret/#" +
		map[int]string{mqtt311: " (Unspecified error)", mqtt5: " (Not authorized)"}[v] + ": check its access rules"
	assert.Equal(t, []string{
		"thrown true MQTTError subscribe " + refused,
		"rejected MQTTError subscribe " + refused,
		`handler {"name":"MQTTError","message":"` + refused + `","method":"subscribe"}`,
		"sync goes on",
		`handler {"name":"MQTTError","message":"` + refused + `","method":"subscribe"}`,
		"async goes on",
	}, s.run(`
		const client = new Client();
		(async () => {
			client.connect(broker);
			try { client.subscribe(["open", "secret/#"]) }
			catch (e) { log("thrown", e instanceof Error, e.name, e.method, e.message) }
			await client.subscribeAsync("secret/#").catch((e) => log("rejected", e.name, e.method, e.message));
			client.on("error", (e) => { const { name, message, method } = e; log("handler", JSON.stringify({ name, message, method })) });
			client.subscribe("secret/#");
			log("sync goes on");
			await client.subscribeAsync("secret/#");
			log("async goes on");
			client.end();
		})();`))
}

func TestUnhandledErrorFailsTheIteration(t *testing.T) {
	eachVersion(t, testUnhandledErrorFailsTheIteration)
}

func testUnhandledErrorFailsTheIteration(t *testing.T, v int) {
	s := newScript(t, v, nil).start()
	require.ErrorContains(t, s.iterate(`new Client().publish("t", "x")`),
		"MQTTError: not connected: call connect() first")
	require.ErrorContains(t, s.iterate(`new Client().publishAsync("t", "x")`),
		"MQTTError: not connected: call connect() first")
}

// Regression: CONNECT had its length cut off, and the broker read the rest as other fields.
func TestAWillHasALongestPayload(t *testing.T) {
	s := newScript(t, mqtt311, nil).start()
	require.ErrorContains(t, s.iterate(`new Client({ will: { topic: "t", payload: new ArrayBuffer(65536) } })`),
		"TypeError: new Client: options.will.payload has 65536 bytes: 65535 are allowed")
	require.NoError(t, s.iterate(`new Client({ will: { topic: "t", payload: new ArrayBuffer(65535) } })`))
}

func TestWrongArguments(t *testing.T) {
	s := newScript(t, mqtt311, newBroker(t, &rules{})).start()
	for code, want := range map[string]string{
		`new Client("id")`:                                  `new Client: options must be an object, got the string "id"`,
		`new Client({ client_id: 1 })`:                      `new Client: options.client_id must be a string, got the number 1`,
		`new Client({ credentials_provider: {} })`:          `new Client: options.credentials_provider must be a function, got Object`,
		`new Client({ will: "w" })`:                         `new Client: options.will must be an object, got the string "w"`,
		`new Client({ will: { payload: "w" } })`:            `new Client: options.will.topic must be a string, got undefined`,
		`new Client({ will: { topic: "a/#" } })`:            `new Client: options.will.topic: the topic "a/#" has a wildcard`,
		`new Client({ tags: { a: {} } })`:                   `new Client: options.tags.a must be a string, a number or a boolean, got Object`,
		`new Client({ tag_topic: "yes" })`:                  `new Client: options.tag_topic must be true or false, got the string "yes"`,
		`client.connect()`:                                  `client.connect: url must be a string, or an object with servers, got undefined`,
		`client.connect(1883)`:                              `client.connect: url must be a string, or an object with servers, got the number 1883`,
		`client.connect({})`:                                `client.connect: options.servers must be an array of broker addresses when there is no url, got undefined`,
		`client.connect({ servers: [1] })`:                  `client.connect: options.servers[0] must be a string, got the number 1`,
		`client.connect("http://secret@host")`:              `client.connect: url: its scheme is "http"; allowed: mqtt://host:port`,
		`client.connect("mqtt://")`:                         `client.connect: url: it has no host`,
		`client.connect("mqtt://secret@host:port")`:         `client.connect: url: its port is not a number`,
		`client.connect(broker, { keepalive: -1 })`:         `client.connect: options.keepalive must be a whole number of seconds from 0 (off) to 65535, got the number -1`,
		`client.connect(broker, { connect_timeout: "1s" })`: `client.connect: options.connect_timeout must be a whole number of milliseconds, at least 1, got the string "1s"`,
		`client.connect(broker, 5)`:                         `client.connect: options must be an object, got the number 5`,
		`client.subscribe()`:                                `client.subscribe: topic must be a string or a non-empty array of strings, got undefined`,
		`client.subscribe([])`:                              `client.subscribe: topic must be a string or a non-empty array of strings, got Array`,
		`client.subscribe(["a", null])`:                     `client.subscribe: topic[1] must be a string, got null`,
		`client.subscribe("a", { qos: 3 })`:                 `client.subscribe: options.qos must be 0, 1 or 2, got the number 3`,
		`client.subscribe("a", { qos: 0.5 })`:               `client.subscribe: options.qos must be 0, 1 or 2, got the number 0.5`,
		// Regression: memory for as many topics as the array said it had.
		`client.subscribe(new Array(4294967295))`:                   `client.subscribe: topic[0] must be a string, got undefined`,
		`client.unsubscribe(5)`:                                     `client.unsubscribe: topic must be a string or a non-empty array of strings, got the number 5`,
		`client.publish(undefined, "x")`:                            `client.publish: topic must be a string, got undefined`,
		`client.publish("t")`:                                       `client.publish: payload must be a string, an ArrayBuffer or a Uint8Array, got undefined`,
		`client.publish("t", { a: 1 })`:                             `client.publish: payload must be a string, an ArrayBuffer or a Uint8Array, got Object`,
		`client.publish("t", "x", { retain: 1 })`:                   `client.publish: options.retain must be true or false, got the number 1`,
		`client.on("message")`:                                      `client.on: handler must be a function, got undefined`,
		`client.on(1, () => {})`:                                    `client.on: event must be a string, got the number 1`,
		`client.end(true)`:                                          `client.end: options must be an object, got true`,
		`new Client({ credentials_provider() {} }).connect(broker)`: `client.connect: the value credentials_provider returns must be an object {username, password}, got undefined`,
	} {
		t.Run(code, func(t *testing.T) {
			err := s.iterate(`const client = new Client(); client.on("error", () => log("handler")); ` + code)
			require.ErrorContains(t, err, "TypeError: "+want)
			assert.NotContains(t, err.Error(), "secret@")
		})
	}
	assert.Equal(t, []string{
		`TypeError client.publishAsync: topic must be a string, got the number 1`,
		`TypeError client.endAsync: options must be an object, got the number 1`,
	}, s.run(`
		const client = new Client(), report = (e) => log(e.name, e.message);
		client.publishAsync(1).catch(report).then(() => client.endAsync(1)).catch(report);`),
		"wrong arguments reject the async forms and do not reach the error handler")
}

func TestWrongTopics(t *testing.T) { eachVersion(t, testWrongTopics) }

func testWrongTopics(t *testing.T, v int) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	for code, want := range map[string]string{
		`client.publish("", "x")`:                "the topic is empty",
		`client.publish("a/+", "x")`:             `the topic "a/+" has a wildcard: + and # are for subscribe`,
		`client.publish("a\0", "x")`:             "has a NUL character",
		`client.subscribe("a/#/b")`:              "# has to be the whole last level",
		`client.subscribe("a#")`:                 "# has to be the whole last level",
		`client.subscribe("a+/b")`:               "+ has to be a whole level",
		`client.unsubscribe(["a", ""])`:          "the topic is empty",
		`client.publish("x".repeat(65536), "x")`: "the topic has 65536 bytes: 65535 are allowed",
	} {
		t.Run(code, func(t *testing.T) {
			require.ErrorContains(t, s.iterate(`
				const client = new Client(); client.connect(broker);
				try { `+code+` } finally { client.end() }`), "MQTTError: ")
			require.ErrorContains(t, s.iterate(`
				const client = new Client(); client.connect(broker);
				try { `+code+` } finally { client.end() }`), want)
		})
	}
}

func TestOnWarns(t *testing.T) {
	s := newScript(t, mqtt311, newBroker(t, &rules{})).start()
	assert.Equal(t, []string{"second"}, s.run(`
		const client = new Client({ clientId: "misspelt" });
		client.on("connect", () => log("first"));
		client.on("connect", () => { log("second"); client.end(); });
		client.on("disconnect", () => log("never"));
		client.connect(broker);`))
	assert.Contains(t, s.logged(), `warning client.on: replacing the handler of "connect": a client has one an event`)
	assert.Contains(t, s.logged(), `warning client.on: there is no event "disconnect"`)
	assert.Contains(t, s.logged(),
		`warning new Client: options.clientId is unknown and has no effect; known are client_id,`)
}
