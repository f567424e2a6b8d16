package mqtt

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A packet that violates the standard ends the connection, with MQTT 5's reason code. The error
// handler gets the error, and the script continues with a new connection.
func TestMalformedPacketsEndTheConnection(t *testing.T) {
	both := []int{mqtt311, mqtt5}
	five := []int{mqtt5}
	for name, test := range map[string]struct {
		versions []int
		packet   []byte // a 0 after the topic: no properties in MQTT 5, payload in MQTT 3.1.1
		code     byte
		want     string
	}{
		"topic alias":                {five, []byte{0x30, 8, 0, 1, 't', 3, 0x23, 0, 1, 'x'}, 0x94, "Topic Alias invalid: "},
		"topic alias without topic":  {five, []byte{0x30, 7, 0, 0, 3, 0x23, 0, 1, 'x'}, 0x94, "Topic Alias invalid: "},
		"no topic":                   {both, []byte{0x30, 3, 0, 0, 0}, 0x82, "Protocol Error: "},
		"wildcard +":                 {both, []byte{0x30, 6, 0, 3, 'a', '/', '+', 0}, 0x90, `Topic Name invalid: `},
		"wildcard #":                 {both, []byte{0x30, 4, 0, 1, '#', 0}, 0x90, `Topic Name invalid: `},
		"NUL":                        {both, []byte{0x30, 5, 0, 2, 'a', 0, 0}, 0x81, "Malformed Packet: "},
		"invalid UTF-8":              {both, []byte{0x30, 5, 0, 2, 0xc3, 0x28, 0}, 0x81, "Malformed Packet: "},
		"surrogate":                  {both, []byte{0x30, 6, 0, 3, 0xed, 0xa0, 0x80, 0}, 0x81, "Malformed Packet: "},
		"QoS 3":                      {both, []byte{0x36, 6, 0, 1, 't', 0, 1, 0}, 0x81, "Malformed Packet: "},
		"packet id 0":                {both, []byte{0x32, 6, 0, 1, 't', 0, 0, 0}, 0x81, "Malformed Packet: "},
		"length of five bytes":       {both, []byte{0x30, 0x80, 0x80, 0x80, 0x80, 0x01}, 0x81, "Malformed Packet: "},
		"topic beyond the packet":    {both, []byte{0x30, 3, 0, 9, 'a'}, 0x81, "Malformed Packet: "},
		"flags of PINGRESP":          {both, []byte{0xd1, 0}, 0x81, "Malformed Packet: "},
		"packet type 0":              {both, []byte{0x00, 0}, 0x81, "Malformed Packet: "},
		"PUBREL without an id":       {both, []byte{0x62, 1, 0}, 0x81, "Malformed Packet: "},
		"properties beyond packet":   {five, []byte{0x30, 4, 0, 1, 'a', 9}, 0x81, "Malformed Packet: "},
		"property of another packet": {five, []byte{0x30, 7, 0, 1, 'a', 3, 0x13, 0, 9}, 0x81, "Malformed Packet: "},
		"duplicate property":         {five, []byte{0x30, 8, 0, 1, 'a', 4, 0x01, 0, 0x01, 0}, 0x82, "Protocol Error: "},
		"property of invalid UTF-8":  {five, []byte{0x30, 11, 0, 1, 'a', 7, 0x26, 0, 1, 'k', 0, 1, 0xff}, 0x81, "Malformed Packet: "},
		"second CONNACK":             {both, []byte{0x20, 2, 0, 0}, 0x82, "Protocol Error: "},
		"CONNECT":                    {both, []byte{0x10, 0}, 0x82, "Protocol Error: "},
	} {
		for _, v := range test.versions {
			t.Run(name+" "+protocolName(v), func(t *testing.T) {
				kinds, codes := make(chan byte, 1), make(chan []byte, 1)
				address := scripted(t, func(p *peer) {
					p.accept(0)
					_, _ = p.Write(test.packet)
					kind, code := p.expect(14)
					kinds <- kind
					codes <- code
				}, func(p *peer) {
					p.accept(0)
					p.expect(14)
				})
				s := newScript(t, v, nil).start()
				require.NoError(t, s.VU.Runtime().Set("address", address))
				lines := s.run(`
					const client = new Client();
					client.on("message", (topic) => log("message", topic));
					client.on("error", (e) => {
						log(e.method, e.message);
						client.reconnect();
						log(client.connected);
						client.end();
					});
					client.connect(address);`)
				require.Len(t, lines, 2)
				assert.Contains(t, lines[0], "connect connection lost: the broker breaks the protocol: "+test.want)
				assert.Equal(t, "true", lines[1])
				if v == mqtt5 {
					assert.EqualValues(t, 0xe0, <-kinds)
					assert.Equal(t, test.code, (<-codes)[0])
				} else {
					assert.Zero(t, <-kinds,
						"MQTT 3.1.1: the client closes without DISCONNECT, so the broker sends the will")
				}
			})
		}
	}
}

// An invalid CONNACK fails the connect.
func TestMalformedConnack(t *testing.T) {
	for name, test := range map[string]struct {
		version int
		connack []byte
		code    byte // of DISCONNECT
		want    string
	}{
		"MQTT 5, code 1":               {mqtt5, []byte{0x20, 3, 0, 1, 0}, 0x82, "CONNACK has the reason code 0x01"},
		"MQTT 5, code 1 with property": {mqtt5, []byte{0x20, 6, 0, 1, 3, 0x13, 0, 9}, 0x82, "CONNACK has the reason code 0x01"},
		"MQTT 5, five bytes":           {mqtt5, []byte{0x20, 0x80, 0x80, 0x80, 0x80, 1}, 0x81, "Malformed Packet: "},
		"MQTT 5, flags":                {mqtt5, []byte{0x20, 3, 2, 0, 0}, 0x81, "Malformed Packet: "},
		"MQTT 5, Receive Maximum 0":    {mqtt5, []byte{0x20, 6, 0, 0, 3, 0x21, 0, 0}, 0x82, "Protocol Error: "},
		"MQTT 3.1.1, code 6":           {mqtt311, []byte{0x20, 2, 0, 6}, 0, "CONNACK has the return code 6"},
		"MQTT 3.1.1, five bytes":       {mqtt311, []byte{0x20, 0x80, 0x80, 0x80, 0x80, 1}, 0, "Malformed Packet: "},
		"MQTT 3.1.1, extra byte":       {mqtt311, []byte{0x20, 3, 0, 0, 0}, 0, "Malformed Packet: "},
	} {
		t.Run(name, func(t *testing.T) {
			codes := make(chan []byte, 1)
			address := scripted(t, func(p *peer) {
				p.expect(1)
				_, _ = p.Write(test.connack)
				_, code := p.expect(14)
				codes <- code
			})
			s := newScript(t, test.version, nil).start()
			lines := s.run(`
				const client = new Client();
				client.on("error", (e) => log(e.method, e.message));
				client.connect("` + address + `", { connect_timeout: 10000 });
				log(client.connected);`)
			require.Len(t, lines, 2)
			assert.Contains(t, lines[0], "connect "+address+": the broker breaks the protocol: ")
			assert.Contains(t, lines[0], test.want)
			assert.Equal(t, "false", lines[1])
			if code := <-codes; test.code != 0 {
				assert.Equal(t, []byte{test.code}, code[:1])
			} else {
				assert.Empty(t, code)
			}
		})
	}
}

// Regression: a SUBACK with more codes than topics made paho.mqtt.golang panic, and k6 ended.
func TestAnswersThatDoNotMatchTheCall(t *testing.T) {
	for name, test := range map[string]struct {
		call   string
		answer map[int][]byte // by version; the packet id is 1
		want   string
	}{
		"SUBACK with more codes": {`client.subscribe("t")`, map[int][]byte{
			mqtt311: {0x90, 5, 0, 1, 0, 0, 0}, mqtt5: {0x90, 6, 0, 1, 0, 0, 0, 0},
		}, "SUBACK has 3 codes for 1 topics"},
		"SUBACK with fewer codes": {`client.subscribe(["t", "u"])`, map[int][]byte{
			mqtt311: {0x90, 3, 0, 1, 0}, mqtt5: {0x90, 4, 0, 1, 0, 0},
		}, "SUBACK has 1 codes for 2 topics"},
		"SUBACK with QoS 3": {`client.subscribe("t")`, map[int][]byte{
			mqtt311: {0x90, 3, 0, 1, 3}, mqtt5: {0x90, 4, 0, 1, 0, 3},
		}, "SUBACK has the code 0x03"},
		"UNSUBACK with more codes": {`client.unsubscribe("t")`, map[int][]byte{
			mqtt5: {0xb0, 5, 0, 1, 0, 0, 0},
		}, "UNSUBACK has 2 codes for 1 topics"},
		"PUBACK for SUBSCRIBE": {`client.subscribe("t")`, map[int][]byte{
			mqtt311: {0x40, 2, 0, 1}, mqtt5: {0x40, 2, 0, 1},
		}, "PUBACK answers SUBSCRIBE"},
		"PUBCOMP before PUBREC": {`client.publish("t", "x", { qos: 2 })`, map[int][]byte{
			mqtt311: {0x70, 2, 0, 1}, mqtt5: {0x70, 2, 0, 1},
		}, "PUBCOMP answers PUBLISH"},
	} {
		for v, answer := range test.answer {
			t.Run(name+" "+protocolName(v), func(t *testing.T) {
				address := scripted(t, func(p *peer) {
					p.accept(0)
					p.next()
					_, _ = p.Write(answer)
					p.expect(14)
				})
				s := newScript(t, v, nil).start()
				require.NoError(t, s.VU.Runtime().Set("address", address))
				lines := s.run(`
					const client = new Client();
					client.on("error", (e) => log(e.method, e.message));
					client.on("end", () => log("end"));
					client.connect(address);
					` + test.call + `;
					log("goes on");`)
				require.Len(t, lines, 4)
				assert.Contains(t, lines[0], "connection lost: the broker breaks the protocol: ")
				assert.Contains(t, lines[0], test.want)
				assert.Equal(t, []string{"goes on", "end"}, []string{lines[1], lines[3]})
			})
		}
	}
}

// Regression: a call without an answer, or with one for another packet id, waited forever.
func TestCallsEndAtRequestTimeout(t *testing.T) { eachVersion(t, testCallsEndAtRequestTimeout) }

func testCallsEndAtRequestTimeout(t *testing.T, v int) {
	suback := map[int][]byte{mqtt311: {0x90, 3, 0, 9, 0}, mqtt5: {0x90, 4, 0, 9, 0, 0}}[v]
	for name, test := range map[string]struct {
		call   string
		answer []byte
		want   string
	}{
		"subscribe": {`client.subscribe("t")`, nil, "subscribe: no SUBACK within 50 ms"},
		"subscribe, another id": {`client.subscribe("t")`, suback,
			"subscribe: no SUBACK within 1000 ms: the broker sent SUBACK for the packet id 9, which no call has"},
		"unsubscribe":    {`client.unsubscribe("t")`, nil, "unsubscribe: no UNSUBACK within 50 ms"},
		"publish, QoS 1": {`client.publish("t", "x", { qos: 1 })`, nil, "publish: no PUBACK within 50 ms"},
		"publish, QoS 1, another id": {`client.publish("t", "x", { qos: 1 })`, []byte{0x40, 2, 0, 9},
			"the broker sent PUBACK for the packet id 9, which no call has"},
		"publish, QoS 2":               {`client.publish("t", "x", { qos: 2 })`, nil, "publish: no PUBREC within 50 ms"},
		"publish, QoS 2, then nothing": {`client.publish("t", "x", { qos: 2 })`, []byte{0x50, 2, 0, 1}, "publish: no PUBCOMP within 1000 ms"},
	} {
		t.Run(name, func(t *testing.T) {
			limit := 50 // ms
			if test.answer != nil {
				limit = 1000 // the answer comes earlier
			}
			address := scripted(t, func(p *peer) {
				p.accept(0)
				p.next()
				_, _ = p.Write(test.answer)
				p.expect(14)
			})
			s := newScript(t, v, nil).start()
			require.NoError(t, s.VU.Runtime().Set("address", address))
			lines := s.run(`
				const client = new Client();
				client.on("error", (e) => log(e.method + ": " + e.message));
				client.connect(address, { request_timeout: ` + fmt.Sprint(limit) + ` });
				` + test.call + `;
				log("connected", client.connected);
				client.end();`)
			require.Len(t, lines, 2)
			assert.Contains(t, lines[0], test.want)
			assert.Contains(t, lines[0], "raise request_timeout")
			assert.Equal(t, "connected true", lines[1])
		})
	}
}

// The async form rejects, and a late answer does not settle another call.
func TestAnswerAfterRequestTimeout(t *testing.T) { eachVersion(t, testAnswerAfterRequestTimeout) }

func testAnswerAfterRequestTimeout(t *testing.T, v int) {
	late := make(chan struct{})
	address := scripted(t, func(p *peer) {
		p.accept(0)
		_, first := p.expect(typePublish)
		<-late
		p.acknowledge(first)
		_, second := p.expect(typePublish)
		p.acknowledge(second)
		p.expect(14)
	})
	s := newScript(t, v, nil).start()
	require.NoError(t, s.VU.Runtime().Set("late", func() { close(late) }))
	assert.Equal(t, []string{"rejected", "second"}, s.run(`
		const client = new Client();
		client.connect("`+address+`", { request_timeout: 2000 });
		client.publishAsync("t", "first", { qos: 1 }).catch(() => {
			log("rejected");
			late();
			client.publish("t", "second", { qos: 1 });
			log("second");
			client.end();
		});`))
}

// When the broker does not read the socket, no call blocks forever, not even at QoS 0.
func TestBrokerThatReadsNothing(t *testing.T) { eachVersion(t, testBrokerThatReadsNothing) }

func testBrokerThatReadsNothing(t *testing.T, v int) {
	released := make(chan struct{})
	address := scripted(t, func(p *peer) {
		p.accept(0)
		<-released
	})
	s := newScript(t, v, nil).start()
	lines := s.run(`
		const client = new Client(), large = "x".repeat(20 << 20);
		client.on("error", (e) => log(e.message));
		client.connect("` + address + `", { request_timeout: 100 });
		client.publish("t", large);
		client.publish("t", "behind it", { qos: 1 });
		client.end();`)
	close(released)
	require.Len(t, lines, 2)
	for _, line := range lines {
		assert.Contains(t, line, "not written within 100 ms")
	}
}
