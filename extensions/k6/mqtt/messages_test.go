package mqtt

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAsyncForms(t *testing.T) { eachBroker(t, testAsyncForms) }

func testAsyncForms(t *testing.T, v int, newBroker brokerMaker) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	assert.Equal(t, []string{
		"subscribed", "published", "unsubscribed", "end", "ended false a payload",
	}, s.run(`
		const client = new Client();
		const arrived = new Promise((resolve) => client.on("message", (_, payload) => resolve(text(payload))));
		client.on("end", () => log("end"));
		client.on("connect", async () => {
			await client.subscribeAsync(["a", "b"], { qos: 1 }); log("subscribed");
			await client.publishAsync("a", "a payload", { qos: 1 }); log("published");
			const payload = await arrived;
			await client.unsubscribeAsync("a"); log("unsubscribed");
			await client.endAsync(); log("ended", client.connected, payload);
		});
		client.connect(broker);`))
}

func TestQoS(t *testing.T) { eachBroker(t, testQoS) }

func testQoS(t *testing.T, v int, newBroker brokerMaker) {
	for qos := range 3 {
		t.Run(fmt.Sprint(qos), func(t *testing.T) {
			s := newScript(t, v, newBroker(t, &rules{})).start()
			assert.Equal(t, []string{"m0", "m1", "m2", "end"}, s.run(fmt.Sprintf(`
				const qos = %d, client = new Client();
				let n = 0;
				client.on("message", (_, payload) => { log(text(payload)); if (++n === 3) client.end(); });
				client.on("end", () => log("end"));
				client.connect(broker);
				client.subscribe("q", { qos });
				for (let i = 0; i < 3; i++) client.publish("q", "m" + i, { qos });`, qos)))
		})
	}
}

func TestRetained(t *testing.T) { eachBroker(t, testRetained) }

func testRetained(t *testing.T, v int, newBroker brokerMaker) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	assert.Equal(t, []string{"kept"}, s.run(`
		const client = new Client();
		client.on("message", (_, payload) => { log(text(payload)); client.end(); });
		client.connect(broker);
		client.publish("state", "not kept");
		client.publish("state", "kept", { retain: true, qos: 1 });
		client.subscribe("state");`))
}

func TestUnsubscribe(t *testing.T) { eachBroker(t, testUnsubscribe) }

func testUnsubscribe(t *testing.T, v int, newBroker brokerMaker) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	assert.Equal(t, []string{"a 1", "c 5"}, s.run(`
		const client = new Client();
		client.on("message", (topic, payload) => { log(topic, text(payload)); if (topic === "c") client.end(); });
		client.connect(broker);
		client.subscribe(["a", "b", "c"]);
		client.publish("a", "1", { qos: 1 });
		client.unsubscribe(["a", "b"]);
		client.publish("a", "2", { qos: 1 });
		client.publish("b", "3", { qos: 1 });
		client.publish("c", "5", { qos: 1 });`))
}

func TestPayloadIsCopied(t *testing.T) { eachBroker(t, testPayloadIsCopied) }

func testPayloadIsCopied(t *testing.T, v int, newBroker brokerMaker) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	assert.Equal(t, []string{"AA"}, s.run(`
		const client = new Client(), bytes = new Uint8Array([65, 65]);
		client.on("message", (_, payload) => { log(text(payload)); client.end(); });
		client.connect(broker);
		client.subscribe("t");
		client.publishAsync("t", bytes.buffer);
		bytes.fill(66);`))
}

func TestTimersWithinHandlers(t *testing.T) { eachBroker(t, testTimersWithinHandlers) }

func testTimersWithinHandlers(t *testing.T, v int, newBroker brokerMaker) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	lines := s.run(`
		const client = new Client();
		client.on("message", async (_, payload) => {
			await new Promise((resolve) => setTimeout(resolve, 1));
			log(text(payload));
			if (text(payload) === "2") setTimeout(() => client.end(), 1);
		});
		client.on("connect", () => {
			client.subscribe("tick");
			let n = 0;
			const ticking = setInterval(() => {
				client.publish("tick", String(n), { qos: 1 });
				if (++n === 3) clearInterval(ticking);
			}, 1);
		});
		client.connect(broker);`)
	assert.Equal(t, []string{"0", "1", "2"}, lines)
}

func TestTenThousandMessagesInOrder(t *testing.T) { eachVersion(t, testTenThousandMessagesInOrder) }

func testTenThousandMessagesInOrder(t *testing.T, v int) {
	const messages = 10_000
	for qos := range byte(2) {
		t.Run(fmt.Sprint("qos ", qos), func(t *testing.T) {
			b := newBroker(t, &rules{})
			s := newScript(t, v, b).start()
			require.NoError(t, s.VU.Runtime().Set("flood", func() {
				go func() {
					for i := range messages {
						_ = b.Publish("flood", fmt.Append(nil, i), false, qos)
					}
				}()
			}))
			assert.Equal(t, []string{"in order 10000"}, s.run(fmt.Sprintf(`
				const client = new Client();
				let n = 0;
				client.on("message", (_, payload) => {
					if (text(payload) !== String(n)) throw new Error("got " + text(payload) + " instead of " + n);
					if (++n === %d) { client.end(); log("in order", n); }
				});
				client.connect(broker);
				client.subscribe("flood", { qos: %d });
				flood();`, messages, qos)))
		})
	}
}

func TestAsyncPublishesKeepTheirOrder(t *testing.T) { eachBroker(t, testAsyncPublishesKeepTheirOrder) }

func testAsyncPublishesKeepTheirOrder(t *testing.T, v int, newBroker brokerMaker) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	assert.Equal(t, []string{"true 2000 2000"}, s.run(`
		const client = new Client(), got = [];
		let resolved = 0;
		client.on("message", (_, payload) => { got.push(Number(text(payload))); if (got.length === 2000) client.end(); });
		client.connect(broker);
		client.subscribe("t");
		const all = [];
		for (let i = 0; i < 2000; i++) all.push(client.publishAsync("t", String(i)).then(() => resolved++));
		client.on("end", () => log(got.every((n, i) => n === i), got.length, resolved));
	`))
}

// grafana/xk6-mqtt discards messages that have arrived before end().
func TestEndDeliversMessagesThatHadArrived(t *testing.T) {
	eachVersion(t, testEndDeliversMessagesThatHadArrived)
}

func testEndDeliversMessagesThatHadArrived(t *testing.T, v int) {
	for name, test := range map[string]struct {
		code string
		want []string
	}{
		"in the message handler": {
			`client.on("message", (_, payload) => {
				log(text(payload));
				if (text(payload) === "0") { client.end(); client.end(); log("ended", client.connected); }
			});`,
			[]string{"0", "ended false", "1", "2", "end"},
		},
		"in another handler": {
			`client.on("message", (_, payload) => log(text(payload)));
			 client.on("connect", () => { client.end(); log("ended", client.connected); });`,
			[]string{"0", "1", "2", "end", "ended false"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			acknowledged := make(chan struct{}, 3)
			b := newBroker(t, &rules{acknowledged: acknowledged})
			s := newScript(t, v, b).start()
			require.NoError(t, s.VU.Runtime().Set("threeArrive", func() {
				for i := range 3 {
					_ = b.Publish("t", fmt.Append(nil, i), false, 1)
				}
				for range 3 {
					<-acknowledged
				}
			}))
			assert.Equal(t, test.want, s.run(`
				const client = new Client();
				client.on("end", () => log("end"));
				`+test.code+`
				client.connect(broker);
				client.subscribe("t", { qos: 1 });
				threeArrive();`))
		})
	}
}
