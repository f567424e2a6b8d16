package mqtt

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/types"
)

func TestConnectSubscribePublishReceive(t *testing.T) {
	eachBroker(t, testConnectSubscribePublishReceive)
}

func testConnectSubscribePublishReceive(t *testing.T, v int, newBroker brokerMaker) {
	b := newBroker(t, &rules{})
	s := newScript(t, v, b).start()
	assert.Equal(t, []string{
		"connected false", "returned true", "connect event true",
		"greeting/text hello true", "greeting/bytes HI true",
		"end event false", "after end false",
	}, s.run(`
		const client = new Client({ client_id: "one" });
		log("connected", client.connected);
		client.on("connect", () => log("connect event", client.connected));
		client.on("message", (topic, payload) => {
			log(topic, text(payload), payload instanceof ArrayBuffer);
			if (topic === "greeting/bytes") { client.end(); log("after end", client.connected); }
		});
		client.on("end", () => log("end event", client.connected));
		client.connect(broker);
		log("returned", client.connected);
		client.subscribe("greeting/+");
		client.publish("greeting/text", "hello");
		client.publish("greeting/bytes", new Uint8Array([72, 73]).buffer);
	`))
}

func TestExports(t *testing.T) {
	s := newScript(t, mqtt311, nil).start()
	assert.Equal(t, []string{"function true true false"}, s.run(
		`log(typeof mqtt.Client, mqtt.Client === Client, new Client() instanceof Client, new mqtt.Client().connected)`))
}

func TestNewClientInInitContextConnectsLater(t *testing.T) {
	eachBroker(t, testNewClientInInitContextConnectsLater)
}

func testNewClientInInitContextConnectsLater(t *testing.T, v int, newBroker brokerMaker) {
	s := newScript(t, v, newBroker(t, &rules{}))
	_, err := s.VU.Runtime().RunString(
		`globalThis.client = new Client({ client_id: "global" }); client.on("connect", () => client.end())`)
	require.NoError(t, err)
	_, err = s.VU.Runtime().RunString(`client.connect(broker)`)
	require.ErrorContains(t, err, "client.connect needs a running VU: call it in the default function")
	s.start()
	s.run(`client.connect(broker)`)
	assert.Equal(t, []string{"false"}, s.run(`client.connect(broker); client.end(); log(client.connected)`),
		"the client works again in the next iteration")
}

func TestConnectByOptionsOnly(t *testing.T) { eachBroker(t, testConnectByOptionsOnly) }

func testConnectByOptionsOnly(t *testing.T, v int, newBroker brokerMaker) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	assert.Equal(t, []string{"true"}, s.run(`
		const client = new Client();
		client.connect({ servers: [broker], keepalive: 10, connect_timeout: 5000, clean_session: true, tags: { a: "b" } });
		log(client.connected);
		client.end();`))
}

func TestConnectErrors(t *testing.T) { eachVersion(t, testConnectErrors) }

func testConnectErrors(t *testing.T, v int) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts, never answers
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	b := newBroker(t, &rules{username: "subscriber", password: "secret"})
	closed := closedPort(t)
	s := newScript(t, v, b).start()
	for name, test := range map[string]struct{ code, want string }{
		"wrong password": {
			`new Client({ username: "subscriber", password: "wrong" }).connect(broker)`,
			"mqtt://" + b.address + ": the broker refused: " + map[int]string{
				mqtt311: "Not authorized", mqtt5: "Bad User Name or Password",
			}[v] + ": set username and password in new Client({…})",
		},
		"nothing listening": {
			`new Client().connect("mqtt://` + closed + `")`,
			"connection refused: nothing listens there: start the broker or correct the address",
		},
		"no answer": {
			`new Client().connect("mqtt://` + silent.Addr().String() + `", { connect_timeout: 50 })`,
			"no answer within 50 ms: correct the address or raise connect_timeout",
		},
		"all servers refuse": {
			`new Client().connect({ servers: ["` + closed + `", broker] })`,
			"none of 2 servers took the connection: " + closed + ": dial tcp",
		},
		"persistent session without client_id": {
			`new Client().connect(broker, { clean_session: false })`,
			"clean_session: false needs a client_id",
		},
		// Regression: its length was cut off, so the broker read the rest as other fields.
		"client_id too long": {
			`new Client({ client_id: "x".repeat(65536) }).connect(broker)`,
			"client_id has 65536 bytes: 65535 are allowed",
		},
		"password too long": {
			`new Client({ username: "subscriber", password: "x".repeat(65536) }).connect(broker)`,
			"password has 65536 bytes: 65535 are allowed",
		},
		"password without username": {
			`new Client({ password: "secret" }).connect(broker)`, // MQTT 5 allows it
			map[int]string{mqtt311: "a password needs a username", mqtt5: "the broker refused"}[v],
		},
		"password of the url without username": { // regression: the broker got it
			`new Client().connect(broker.replace("//", "//:secret@"))`,
			map[int]string{mqtt311: "a password needs a username", mqtt5: "the broker refused"}[v],
		},
		"connect twice": {
			`const c = new Client({ username: "subscriber", password: "secret" }); c.connect(broker);
			 try { c.connect(broker) } finally { c.end() }`,
			"already connected: call end() first",
		},
		"reconnect before connect": {`new Client().reconnect()`, "call connect(url) first"},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.iterate(test.code)
			require.ErrorContains(t, err, test.want)
			assert.ErrorContains(t, err, "MQTTError")
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestCredentials(t *testing.T) { eachBroker(t, testCredentials) }

func testCredentials(t *testing.T, v int, newBroker brokerMaker) {
	b := newBroker(t, &rules{username: "subscriber", password: "secret"})
	s := newScript(t, v, b).start()
	assert.Equal(t, []string{"options true", "url true", "provider true", "asked again true 2"}, s.run(`
		const by = (name, client, url) => { client.connect(url); log(name, client.connected); client.end(); };
		by("options", new Client({ username: "subscriber", password: "secret" }), broker);
		by("url", new Client(), broker.replace("//", "//subscriber:secret@"));
		let asked = 0;
		const client = new Client({ credentials_provider: () => (asked++, { username: "subscriber", password: "secret" }) });
		by("provider", client, broker);
		client.reconnect();
		log("asked again", client.connected, asked);
		client.end();`))
	for _, sample := range s.collected() {
		url, _ := sample.Tags.Get("url")
		assert.Equal(t, "mqtt://"+b.address, url, "tags hold no credentials")
	}
}

func TestServersFailOver(t *testing.T) { eachBroker(t, testServersFailOver) }

func testServersFailOver(t *testing.T, v int, newBroker brokerMaker) {
	b := newBroker(t, &rules{})
	s := newScript(t, v, b).start()
	assert.Equal(t, []string{"true"}, s.run(`
		const client = new Client();
		client.connect("mqtt://`+closedPort(t)+`", { servers: ["mqtt://`+closedPort(t)+`", broker] });
		log(client.connected);
		client.end();`))
	for _, sample := range s.collected() {
		url, _ := sample.Tags.Get("url")
		assert.Equal(t, "mqtt://"+b.address, url, "the tag names the server that accepted the connection")
	}
}

func TestPersistentSession(t *testing.T) { eachVersion(t, testPersistentSession) }

func testPersistentSession(t *testing.T, v int) {
	b := newBroker(t, &rules{})
	s := newScript(t, v, b).start()
	s.run(`
		globalThis.client = new Client({ client_id: "keeper" });
		client.on("connect", () => log("connect"));
		client.on("message", (topic, payload) => { log(text(payload)); client.end(); });
		client.connect(broker, { clean_session: false });
		client.subscribe("kept", { qos: 1 });
		client.end();`)
	require.NoError(t, b.Publish("kept", []byte("meanwhile"), false, 1))
	assert.Equal(t, []string{"connect", "connect", "meanwhile"}, s.run(`client.reconnect()`),
		"messages that come with CONNACK are delivered after the connect event")
}

func TestTransports(t *testing.T) { eachVersion(t, testTransports) }

func testTransports(t *testing.T, v int) {
	b := newBroker(t, &rules{})
	web, secureWeb := httptest.NewServer(b.overWebSocket()), httptest.NewTLSServer(b.overWebSocket())
	defer web.Close()
	defer secureWeb.Close()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	secure := newBrokerOn(t, &rules{}, tls.NewListener(plain, &tls.Config{Certificates: secureWeb.TLS.Certificates}))
	withCA := func(state *lib.State) {
		state.TLSConfig = secureWeb.Client().Transport.(*http.Transport).TLSClientConfig
		state.TLSConfig.NextProtos = []string{"h2", "http/1.1"} // as in k6
	}
	for _, url := range []string{
		b.address, "mqtt://" + b.address, "tcp://" + b.address,
		"mqtts://" + secure.address, "ssl://" + secure.address, "tls://" + secure.address,
		"ws://" + web.Listener.Addr().String() + "/mqtt", "wss://" + secureWeb.Listener.Addr().String(),
	} {
		t.Run(url, func(t *testing.T) {
			s := newScript(t, v, nil).start(withCA)
			assert.Equal(t, []string{"70000"}, s.run(`
				const client = new Client();
				client.on("message", (_, payload) => { log(payload.byteLength); client.end(); });
				client.connect("`+url+`");
				client.subscribe("t");
				client.publish("t", "x".repeat(70000), { qos: 1 });`))
		})
	}
	t.Run("unknown authority", func(t *testing.T) {
		s := newScript(t, v, nil).start()
		require.ErrorContains(t, s.iterate(`new Client().connect("mqtts://`+secure.address+`")`), "TLS handshake")
	})
	t.Run("plain to TLS", func(t *testing.T) {
		s := newScript(t, v, nil).start()
		require.ErrorContains(t, s.iterate(`new Client().connect("mqtt://`+secure.address+`")`), "MQTTError")
	})
}

func TestConnectUsesTheDialerOfTheVU(t *testing.T) { eachVersion(t, testConnectUsesTheDialerOfTheVU) }

func testConnectUsesTheDialerOfTheVU(t *testing.T, v int) {
	b := newBroker(t, &rules{})
	host, port, err := net.SplitHostPort(b.address)
	require.NoError(t, err)
	hosts, err := types.NewHosts(map[string]types.Host{"broker.test": {IP: net.ParseIP(host)}})
	require.NoError(t, err)
	s := newScript(t, v, nil).start(func(state *lib.State) { dialerOf(state).Hosts = hosts })
	assert.Equal(t, []string{"true"}, s.run(`
		const client = new Client(); client.connect("broker.test:`+port+`"); log(client.connected); client.end()`))

	loopback, err := lib.ParseCIDR("127.0.0.0/8")
	require.NoError(t, err)
	s = newScript(t, v, b).start(func(state *lib.State) { dialerOf(state).Blacklist = []*lib.IPNet{loopback} })
	require.ErrorContains(t, s.iterate(`new Client().connect(broker)`), "is in a blacklisted range")
}

// Regression: a signed address (wss://…?X-Amz-Signature=…) was in the url tag and in errors.
func TestTheTagOfAServerHasNoSecrets(t *testing.T) {
	t.Parallel()
	s, err := parseServer("wss://user:password@broker.test/mqtt?signature=abc")
	require.NoError(t, err)
	assert.Equal(t, "wss://broker.test/mqtt", s.label)
	assert.Equal(t, "signature=abc", s.URL.RawQuery, "the handshake sends it")
}
