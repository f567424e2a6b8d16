package mqtt

import (
	"testing"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUserProperties(t *testing.T) {
	for name, newBroker := range map[string]brokerMaker{"embedded": newBroker, "Mosquitto": newMosquitto} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, mqtt5, newBroker(t, &rules{})).start()
			assert.Equal(t, []string{
				`{"user":{"one":"1","many":["a","b"],"größe":"é","__proto__":"own"}}`,
				`{"user":{}}`,
				`{"user":{"one":"1","many":["a","b"],"größe":"é","__proto__":"own"}}`,
			}, s.run(`
				const client = new Client();
				let n = 0;
				client.on("message", (topic, payload, { properties }) => {
					log(JSON.stringify(properties));
					if (n++ === 0) client.publishAsync("t", "as it came", { properties });
					if (n === 3) client.end();
				});
				client.connect(broker);
				client.subscribe("t");
				const user = { one: "1", many: ["a", "b"], "größe": "é" };
				Object.defineProperty(user, "__proto__", { value: "own", enumerable: true });
				client.publish("t", "x", { qos: 1, properties: { user } });
				client.publish("t", "none");`))
		})
	}
}

func TestWillHasUserProperties(t *testing.T) {
	b := newBroker(t, &rules{})
	s := droppable(t, newScript(t, mqtt5, b).start(), b)
	assert.Equal(t, []string{`gone {"user":{"why":"lost"}}`}, s.run(`
		const watcher = new Client();
		watcher.on("message", (_, payload, { properties }) => { log(text(payload), JSON.stringify(properties)); watcher.end(); });
		watcher.connect(broker);
		watcher.subscribe("will");
		const lost = new Client({
			client_id: "lost", will: { topic: "will", payload: "gone", properties: { user: { why: "lost" } } },
		});
		lost.on("error", () => {});
		lost.connect(broker);
		drop("lost");`))
}

func TestPropertiesNeedMQTT5AndText(t *testing.T) {
	for code, want := range map[string]string{
		`new Client({ protocol_version: 3 })`:                                            `new Client: options.protocol_version must be 4 (MQTT 3.1.1) or 5, got the number 3`,
		`new Client().publish("t", "x", { properties: {} })`:                             `client.publish: options.properties needs MQTT 5: set protocol_version: 5 in new Client({…})`,
		`new Client({ will: { topic: "t", properties: {} } })`:                           `new Client: options.will.properties needs MQTT 5`,
		`five.publish("t", "x", { properties: 5 })`:                                      `client.publish: options.properties must be an object, got the number 5`,
		`five.publish("t", "x", { properties: { user: "x" } })`:                          `client.publish: options.properties.user must be an object, got the string "x"`,
		`five.publish("t", "x", { properties: { user: { a: 1 } } })`:                     `client.publish: options.properties.user.a must be a string or a non-empty array of strings, got the number 1`,
		`five.publish("t", "x", { properties: { user: { a: ["b", 1] } } })`:              `client.publish: options.properties.user.a[1] must be a string, got the number 1`,
		`five.publish("t", "x", { properties: { user: { a: "b\0" } } })`:                 `client.publish: options.properties.user.a has a NUL character`,
		`five.publish("t", "x", { properties: { user: { a: "x".repeat(65536) } } })`:     `client.publish: options.properties.user.a has 65536 bytes: 65535 are allowed`,
		`five.publish("t", "x", { properties: { user: { ["x".repeat(65536)]: "b" } } })`: `… has 65536 bytes: 65535 are allowed`,
	} {
		t.Run(code, func(t *testing.T) {
			s := newScript(t, mqtt311, nil).start()
			err := s.iterate(`const five = new Client({ protocol_version: 5 }); ` + code)
			require.ErrorContains(t, err, "TypeError: ")
			require.ErrorContains(t, err, want)
		})
	}
	s := newScript(t, mqtt5, newBroker(t, &rules{})).start()
	s.run(`
		const client = new Client();
		client.connect(broker);
		client.publish("t", "x", { properties: { user: {}, contentType: "text/plain" } });
		client.end();`)
	assert.Contains(t, s.logged(),
		"client.publish: options.properties.contentType is unknown and has no effect; known are user")
}

func TestArrivalOfMQTT311HasNoProperties(t *testing.T) {
	s := newScript(t, mqtt311, newBroker(t, &rules{})).start()
	assert.Equal(t, []string{`["received"] number undefined`}, s.run(`
		const client = new Client();
		client.on("message", (_, payload, arrival) => {
			log(JSON.stringify(Object.keys(arrival)), typeof arrival.received, typeof arrival.properties);
			client.end();
		});
		client.connect(broker);
		client.subscribe("t");
		client.publish("t", "x");`))
}

// In MQTT 3.1.1 a broker cannot refuse a message. It acknowledges the message and drops it.
func TestRefusedMessage(t *testing.T) {
	s := newScript(t, mqtt5, newBroker(t, &rules{noPublish: "secret"})).start()
	for qos := 1; qos <= 2; qos++ {
		require.NoError(t, s.VU.Runtime().Set("qos", qos))
		require.ErrorContains(t, s.iterate(`
			const client = new Client();
			client.connect(broker);
			try { client.publish("secret", "x", { qos }) } finally { client.end() }`),
			"MQTTError: the broker refused the message on secret: Not authorized: check its access rules")
	}
}

func TestLimitsOfTheBroker(t *testing.T) {
	address := func(t *testing.T) string {
		return scripted(t, func(p *peer) {
			p.expect(1)
			// limits: QoS 1, nothing retained, 100 bytes
			_, _ = p.Write([]byte{0x20, 12, 0, 0, 9, 0x24, 1, 0x25, 0, 0x27, 0, 0, 0, 100})
			kind, _ := p.expect(typePublish)
			assert.Zero(t, kind, "the client sends nothing beyond the limits")
		})
	}
	for code, want := range map[string]string{
		`client.publish("t", "x", { qos: 2 })`:            "the broker takes messages of QoS 1 at most, this one has 2",
		`client.publish("t", "x", { retain: true })`:      "the broker keeps no retained messages: leave retain out",
		`client.publish("t", "x".repeat(100))`:            "the message makes a packet of 106 bytes: 100 are allowed",
		`client.publish("t", "x".repeat(93), { qos: 1 })`: "the message makes a packet of 101 bytes: 100 are allowed",
		`client.publish("t", "x", { properties: { user: { key: "x".repeat(90) } } })`: "the message makes a packet of " +
			"105 bytes: 100 are allowed",
	} {
		t.Run(code, func(t *testing.T) {
			s := newScript(t, mqtt5, nil).start()
			require.ErrorContains(t, s.iterate(`
				const client = new Client();
				client.connect("`+address(t)+`");
				try { `+code+` } finally { client.end() }`), "MQTTError: "+want)
		})
	}
}

func TestReasonOfDisconnect(t *testing.T) {
	s := newScript(t, mqtt5, newBroker(t, &rules{})).start()
	assert.Equal(t, []string{
		"connection lost: the broker ended the connection: Session taken over (session takeover): call reconnect() to go on",
	}, s.run(`
		const first = new Client({ client_id: "same" }), second = new Client({ client_id: "same" });
		first.on("error", (e) => { log(e.message); second.end(); });
		first.connect(broker);
		second.connect(broker);`))
}

// With Receive Maximum 2 the client has at most two messages in flight and keeps their order.
func TestReceiveMaximum(t *testing.T) {
	for qos := 1; qos <= 2; qos++ {
		b := newBroker(t, &rules{limit: func(c *broker.Capabilities) { c.ReceiveMaximum = 2 }})
		s := newScript(t, mqtt5, b).start()
		require.NoError(t, s.VU.Runtime().Set("qos", qos))
		assert.Equal(t, []string{"true 50"}, s.run(`
			const client = new Client(), got = [], all = [];
			const arrived = new Promise((resolve) => client.on("message", (_, payload) => {
				if (got.push(Number(text(payload))) === 50) resolve();
			}));
			client.connect(broker);
			client.subscribe("t");
			for (let i = 0; i < 50; i++) all.push(client.publishAsync("t", String(i), { qos }));
			Promise.all([arrived, ...all]).then(() => client.end());
			client.on("end", () => log(got.every((n, i) => n === i), got.length));`))
	}
}

func TestServersThatAreNotMQTT5Brokers(t *testing.T) {
	for name, test := range map[string]struct {
		answer []byte
		want   string
	}{
		"MQTT 3.1.1 only": {[]byte{0x20, 2, 0, 1}, "the broker refused: it speaks MQTT 3.1.1 only: leave protocol_version out"},
		"HTTP":            {[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), "is it an MQTT broker, with TLS as the scheme says?"},
		"not CONNACK":     {[]byte{0xd0, 0}, "it answered CONNECT with PINGRESP"},
		"silent":          {nil, "is it an MQTT broker, with TLS as the scheme says?"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, mqtt5, nil).start()
			address := scripted(t, func(p *peer) {
				p.expect(1)
				_, _ = p.Write(test.answer)
			})
			err := s.iterate(`new Client().connect("` + address + `")`)
			require.ErrorContains(t, err, "MQTTError: "+address+": ")
			require.ErrorContains(t, err, test.want)
		})
	}
}
