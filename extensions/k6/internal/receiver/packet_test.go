package receiver

import (
	"math/rand/v2"
	"testing"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMalformedPacketsEndTheConnection(t *testing.T) {
	t.Parallel()
	for name, bytes := range map[string][]byte{
		"length of five bytes":     {0x30, 0xff, 0xff, 0xff, 0xff, 0x01},
		"topic beyond the packet":  {0x30, 3, 0, 9, 'a'},
		"no packet id at QoS 1":    {0x32, 3, 0, 1, 'a'},
		"packet id 0":              {0x32, 6, 0, 1, 'a', 0, 0, 0},
		"no packet id at QoS 2":    {0x34, 4, 0, 1, 'a', 0},
		"QoS 3":                    {0x36, 6, 0, 1, 'a', 0, 1, 0},
		"PUBREL without an id":     {0x62, 1, 0},
		"PUBREL of id 0":           {0x62, 2, 0, 0},
		"properties beyond packet": {0x30, 4, 0, 1, 'a', 9},
		"unknown property":         {0x30, 5, 0, 1, 'a', 1, 0x7e},
		"property that is cut off": {0x30, 6, 0, 1, 'a', 2, 0x26, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, broker := connected(t)
			go func() { _, _ = broker.Write(bytes) }()
			_, err := collect(c)
			assert.ErrorIs(t, err, errMalformed)
		})
	}
}

func TestWhatIsNotOurBusinessEndsTheConnection(t *testing.T) {
	t.Parallel()
	for want, bytes := range map[string][]byte{
		"MQTT broker broker:1883: a packet of 268435455 bytes; allowed: 16777216": {0x30, 0xff, 0xff, 0xff, 0x7f},
		"MQTT broker broker:1883 sent PUBACK, which was not due":                  {0x40, 2, 0, 1},
	} {
		c, broker := connected(t)
		go func() { _, _ = broker.Write(bytes) }()
		_, err := collect(c)
		assert.EqualError(t, err, want)
	}
}

// Every packet that a broker sends us, whole, cut off anywhere and with any of its bytes changed, does no harm.
func TestBrokenPacketsDoNoHarm(t *testing.T) {
	t.Parallel()
	format, alias, expiry, id := byte(1), uint16(7), uint32(60), 5
	var whole [][]byte
	for qos := range byte(3) {
		whole = append(whole, publishPacket(t, uint16(qos), qos, &packets.Properties{
			PayloadFormat: &format, TopicAlias: &alias, MessageExpiry: &expiry, SubscriptionIdentifier: &id,
			ContentType: "text", CorrelationData: []byte{1}, User: []packets.User{{Key: "hops", Value: "1,2,3,4"}},
		}, "payload"))
	}
	whole = append(whole,
		[]byte{0x62, 2, 0, 1},
		[]byte{0xd0, 0},
		[]byte{0xe0, 8, 0x8e, 6, 0x1f, 0, 3, 'w', 'h', 'y'},
		[]byte{0x20, 11, 0, 0, 8, 0x13, 0, 60, 0x1f, 0, 2, 'h', 'i'},
		[]byte{0x90, 10, 0, 1, 5, 0x1f, 0, 2, 'h', 'i', 0, 1},
	)
	random := rand.New(rand.NewPCG(3, 4))
	take := func(b []byte, version int) {
		c := &Conn{options: Options{Version: version}, open: &openIDs{}, buf: b, filled: len(b)}
		used, _ := c.parse(&batch{}, "hops")
		require.LessOrEqual(t, used, len(b))
		if len(b) > 2 {
			_ = c.connack(b[2:])
			_ = c.granted(b[2:], []string{"a", "b"}, 1)
			_ = c.disconnected(b[2:])
		}
	}
	for _, p := range whole {
		for cut := range len(p) + 1 {
			take(p[:cut:cut], version5)
			take(p[:cut:cut], version311)
		}
		for range 2_000 {
			b := append([]byte(nil), p...)
			for range 1 + random.IntN(3) {
				b[random.IntN(len(b))] = byte(random.IntN(256))
			}
			take(b, version5)
			take(b, version311)
		}
	}
}

func FuzzPublish(f *testing.F) {
	f.Add(byte(0x32), []byte{0, 1, 'a', 0, 1, 0}, true)
	f.Add(byte(0x34), []byte{0, 1, 'a', 0, 1, 'b'}, false)
	f.Fuzz(func(t *testing.T, kind byte, body []byte, five bool) {
		version := version311
		if five {
			version = version5
		}
		m, _, err := publish(version, kind, body, "hops")
		if err == nil && len(m.Topic)+len(m.Payload)+len(m.Hops) > len(body) {
			t.Fatal("more came out than went in")
		}
	})
}

func TestTheLengthOfAPacketIsWrittenAsItIsRead(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 127, 128, 16383, 16384, 2097151, 2097152, 268435455} {
		b := appendVarint(nil, n)
		value, size := varint(b)
		assert.Equal(t, []int{n, len(b)}, []int{value, size})
	}
}
