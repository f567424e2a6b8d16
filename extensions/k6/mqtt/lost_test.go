package mqtt

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const lostByEOF = "connection lost: EOF: call reconnect() to go on"

// droppable adds drop(id) to a script's globals: the broker closes that client's connection.
func droppable(t *testing.T, s *script, b *testBroker) *script {
	t.Helper()
	require.NoError(t, s.VU.Runtime().Set("drop", func(id string) { b.dropClient(t, id) }))
	return s
}

func TestLostConnection(t *testing.T) { eachVersion(t, testLostConnection) }

func testLostConnection(t *testing.T, v int) {
	b := newBroker(t, &rules{})
	s := droppable(t, newScript(t, v, b).start(), b)
	assert.Equal(t, []string{"error MQTTError connect " + lostByEOF + " false", "end"}, s.run(`
		const client = new Client({ client_id: "lost" });
		client.on("error", (e) => log("error", e.name, e.method, e.message, client.connected));
		client.on("end", () => log("end"));
		client.connect(broker);
		drop("lost");`))
}

func TestLostConnectionWithoutHandlerIsLogged(t *testing.T) {
	eachVersion(t, testLostConnectionWithoutHandlerIsLogged)
}

func testLostConnectionWithoutHandlerIsLogged(t *testing.T, v int) {
	b := newBroker(t, &rules{})
	s := droppable(t, newScript(t, v, b).start(), b)
	assert.Equal(t, []string{"end"}, s.run(`
		const client = new Client({ client_id: "lost" });
		client.on("end", () => log("end"));
		client.connect(broker);
		drop("lost");`))
	assert.Contains(t, s.logged(), "error MQTT: mqtt://"+b.address+": "+lostByEOF)
}

func TestLostConnectionFailsCallsInFlight(t *testing.T) {
	eachVersion(t, testLostConnectionFailsCallsInFlight)
}

func testLostConnectionFailsCallsInFlight(t *testing.T, v int) {
	s := newScript(t, v, nil).start()
	address := silentBroker(t, true)
	assert.Equal(t, []string{"error publish", "resolved", "error connect", "end"}, s.run(`
		const client = new Client();
		client.on("end", () => log("end"));
		client.on("connect", async () => {
			await client.publishAsync("close", "x", { qos: 1 });
			log("resolved");
		});
		client.on("error", (e) => log("error", e.method));
		client.connect("`+address+`");`))
}

func TestReconnectFromTheErrorHandler(t *testing.T) { eachVersion(t, testReconnectFromTheErrorHandler) }

func testReconnectFromTheErrorHandler(t *testing.T, v int) {
	b := newBroker(t, &rules{})
	s := droppable(t, newScript(t, v, b).start(), b)
	assert.Equal(t, []string{"connect", "error", "reconnect", "connect", "message", "end"}, s.run(`
		const client = new Client({ client_id: "again" });
		client.on("connect", () => log("connect"));
		client.on("reconnect", () => log("reconnect"));
		client.on("message", () => { log("message"); client.end(); });
		client.on("end", () => log("end"));
		client.on("error", () => {
			log("error");
			client.reconnect();
			client.subscribe("t");
			client.publish("t", "x");
		});
		client.connect(broker);
		drop("again");`))
}

func TestReconnectLaterAndWhileConnected(t *testing.T) {
	eachVersion(t, testReconnectLaterAndWhileConnected)
}

func testReconnectLaterAndWhileConnected(t *testing.T, v int) {
	b := newBroker(t, &rules{})
	s := droppable(t, newScript(t, v, b).start(), b)
	assert.Equal(t, []string{"connect", "error", "end", "reconnect", "connect", "reconnect", "connect", "end"}, s.run(`
		const client = new Client({ client_id: "later" });
		for (const event of ["connect", "reconnect", "end"]) client.on(event, () => log(event));
		client.on("error", () => { log("error"); setTimeout(later, 5); });
		const later = () => {
			client.reconnect();
			client.reconnect();
			setTimeout(() => client.end(), 1);
		};
		client.connect(broker);
		drop("later");`))
}

// A failing reconnect() in the error handler does not call the handler recursively.
func TestReconnectThatFailsInTheErrorHandler(t *testing.T) {
	eachVersion(t, testReconnectThatFailsInTheErrorHandler)
}

func testReconnectThatFailsInTheErrorHandler(t *testing.T, v int) {
	s := newScript(t, v, nil).start()
	assert.Equal(t, []string{"1", "2", "3", "end"}, s.run(`
		const client = new Client();
		let failures = 0, depth = 0;
		client.on("end", () => log("end"));
		client.on("error", () => {
			if (++depth > 1) throw new Error("nested");
			log(++failures);
			if (failures < 3) client.reconnect(); else client.end();
			depth--;
		});
		client.connect("`+closedPort(t)+`");`))
}

func TestWillIsPublishedOnAbnormalCloseOnly(t *testing.T) {
	eachVersion(t, testWillIsPublishedOnAbnormalCloseOnly)
}

func testWillIsPublishedOnAbnormalCloseOnly(t *testing.T, v int) {
	b := newBroker(t, &rules{})
	s := droppable(t, newScript(t, v, b).start(), b)
	assert.Equal(t, []string{"wills/lost gone"}, s.run(`
		const watcher = new Client();
		watcher.on("message", (topic, payload) => { log(topic, text(payload)); watcher.end(); });
		watcher.connect(broker);
		watcher.subscribe("wills/+");
		const will = (id) => ({ client_id: id, will: { topic: "wills/" + id, payload: "gone", qos: 1, retain: false } });
		const orderly = new Client(will("orderly")), lost = new Client(will("lost"));
		lost.on("error", () => {});
		orderly.connect(broker); lost.connect(broker);
		orderly.end();
		drop("lost");`))
}

// The client resends an unacknowledged message in the session's next connection.
func TestUnacknowledgedMessageIsSentAgain(t *testing.T) {
	eachVersion(t, testUnacknowledgedMessageIsSentAgain)
}

func testUnacknowledgedMessageIsSentAgain(t *testing.T, v int) {
	var first, second []byte
	var flags byte
	address := scripted(t,
		func(p *peer) {
			p.accept(0)
			_, first = p.expect(typePublish)
		},
		func(p *peer) {
			p.accept(1)
			flags, second = p.expect(typePublish)
			p.acknowledge(second)
			_, next := p.expect(typePublish)
			p.acknowledge(next)
			p.expect(14) // DISCONNECT
		})
	s := newScript(t, v, nil).start()
	require.NoError(t, s.VU.Runtime().Set("address", address))
	assert.Equal(t, []string{"error publish", "error connect", "again true"}, s.run(`
		const client = new Client({ client_id: "keeper" });
		client.on("error", (e) => {
			log("error", e.method);
			if (e.method === "connect") setTimeout(() => {
				client.reconnect();
				client.publish("t", "next", { qos: 1 });
				log("again", client.connected);
				client.end();
			}, 1);
		});
		client.connect(address, { clean_session: false });
		client.publish("t", "x", { qos: 1 });`))
	require.NotEmpty(t, first)
	assert.Equal(t, first, second, "the same packet")
	assert.NotZero(t, flags&8, "with DUP")
}

// QoS 2: a broker that misses PUBREC resends the message, in the same connection or in the
// session's next one. The script gets it once. PUBREL frees the packet id, and so does a lost
// session.
func TestQoS2DuplicateIsDeliveredOnce(t *testing.T) {
	eachVersion(t, testQoS2DuplicateIsDeliveredOnce)
}

func testQoS2DuplicateIsDeliveredOnce(t *testing.T, v int) {
	const dup = 8 // DUP flag
	publish := func(p *peer, id, text, flags byte) {
		body := []byte{0, 1, 't', 0, id}
		if v == mqtt5 {
			body = append(body, 0) // properties
		}
		body = append(body, text)
		_, _ = p.Write(append([]byte{0x34 | flags, byte(len(body))}, body...))
		p.expect(5) // PUBREC
	}
	release := func(p *peer, id byte) {
		_, _ = p.Write([]byte{0x62, 2, 0, id}) // PUBREL
		p.expect(7)                            // PUBCOMP
	}
	address := scripted(t,
		func(p *peer) {
			p.accept(0)
			publish(p, 8, '1', 0)
			publish(p, 8, '1', dup)
			release(p, 8)
			publish(p, 8, '2', dup) // the first PUBLISH got lost
		},
		func(p *peer) {
			p.accept(1)
			publish(p, 8, '2', dup)
			release(p, 8)
			publish(p, 8, '3', 0)
			publish(p, 9, '4', 0)
		},
		func(p *peer) {
			p.accept(0)
			publish(p, 8, '5', 0)
		},
		func(p *peer) {
			p.accept(1)
			publish(p, 9, '6', dup)
			p.expect(14) // DISCONNECT
		})
	s := newScript(t, v, nil).start()
	require.NoError(t, s.VU.Runtime().Set("address", address))
	assert.Equal(t, []string{"1", "2", "3", "4", "5", "6"}, s.run(`
		const client = new Client({ client_id: "keeper" });
		client.on("message", (_, payload) => { log(text(payload)); if (text(payload) === "6") client.end(); });
		client.on("error", () => client.reconnect());
		client.connect(address, { clean_session: false });`))
}

func TestKeepaliveFindsADeadBroker(t *testing.T) { eachVersion(t, testKeepaliveFindsADeadBroker) }

func testKeepaliveFindsADeadBroker(t *testing.T, v int) {
	released := make(chan struct{})
	address := scripted(t, func(p *peer) {
		p.accept(0)
		p.expect(12) // PINGREQ, left unanswered
		<-released
	})
	s := newScript(t, v, nil).start()
	require.NoError(t, s.VU.Runtime().Set("address", address))
	assert.Equal(t, []string{
		"connection lost: the broker is silent: no answer to a ping within 1s: call reconnect() to go on",
	}, s.run(`
		const client = new Client();
		client.on("error", (e) => log(e.message));
		client.connect(address, { keepalive: 1 });`))
	close(released)
}
