package mqtt

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// take parses the first packet in b, and checks what it returns.
func take(t *testing.T, b []byte, version int) error {
	t.Helper()
	given := bytes.Clone(b)
	kind, body, size, err := Frame(b, MaxRemaining)
	if err != nil || size == 0 {
		return err
	}
	require.LessOrEqual(t, size, len(b))
	if kind>>4 == packets.PUBLISH {
		err = takePublish(t, kind, body, version)
	} else {
		var a Answer
		if a, err = ReadAnswer(version, kind, body); err == nil {
			err = a.CheckCodes(version, len(a.Codes))
		}
	}
	require.Equal(t, given, b, "a packet shares its bytes with what was read")
	return err
}

// takePublish parses a PUBLISH. What is accepted is the same after it is written and read again, and for paho.
func takePublish(t *testing.T, kind byte, body []byte, version int) error {
	t.Helper()
	p, err := ReadPublish(version, kind, body)
	if err != nil {
		return err
	}
	UserProperties(p.Properties)
	FindUserProperty(p.Properties, "hops")
	written := p.Append(nil, version)
	assert.Len(t, written, p.Size(version))
	kind, body, size, err := Frame(written, MaxRemaining)
	require.NoError(t, err)
	assert.Len(t, written, size)
	again, err := ReadPublish(version, kind, body)
	require.NoError(t, err)
	require.True(t, equal(&p, &again))
	if version == Version5 {
		other, err := packets.ReadPacket(bytes.NewReader(written))
		require.NoError(t, err)
		content, ok := other.Content.(*packets.Publish)
		require.True(t, ok)
		require.Equal(t, string(p.Topic), content.Topic)
		require.True(t, bytes.Equal(p.Payload, content.Payload))
		require.Equal(t, p.ID, content.PacketID)
	}
	return nil
}

// equal compares packets: an empty part may be nil.
func equal(a, b *Publish) bool {
	return bytes.Equal(a.Topic, b.Topic) && bytes.Equal(a.Payload, b.Payload) &&
		bytes.Equal(a.Properties, b.Properties) && a.ID == b.ID && a.QoS == b.QoS && a.Dup == b.Dup &&
		a.Retain == b.Retain
}

// wholePackets are packets of a broker of MQTT 5, one of each kind.
func wholePackets(t testing.TB) (whole [][]byte) {
	t.Helper()
	format, expiry, id := byte(1), uint32(60), 5
	for qos := range byte(3) {
		p := packets.NewControlPacket(packets.PUBLISH)
		p.Flags = qos << 1
		content, ok := p.Content.(*packets.Publish)
		require.True(t, ok)
		content.Topic, content.Payload = "messages/user/1", []byte("payload")
		content.QoS, content.PacketID = qos, uint16(qos)
		content.Properties = &packets.Properties{
			PayloadFormat: &format, MessageExpiry: &expiry, SubscriptionIdentifier: &id,
			ContentType: "text", CorrelationData: []byte{1}, User: []packets.User{{Key: "hops", Value: "1,2,3,4"}},
		}
		var b bytes.Buffer
		_, err := p.WriteTo(&b)
		require.NoError(t, err)
		whole = append(whole, b.Bytes())
	}
	return append(whole,
		[]byte{0x62, 2, 0, 1},
		[]byte{0x40, 9, 0, 1, 0x87, 5, 0x1f, 0, 2, 'h', 'i'},
		[]byte{0xe0, 8, 0x8e, 6, 0x1f, 0, 3, 'w', 'h', 'y'},
		[]byte{0x20, 11, 0, 0, 8, 0x13, 0, 60, 0x1f, 0, 2, 'h', 'i'},
		[]byte{0x90, 10, 0, 1, 5, 0x1f, 0, 2, 'h', 'i', 0, 1},
		[]byte{0xb0, 5, 0, 1, 0, 0, 0x11},
	)
}

// Each packet of a broker is parsed. Truncated and corrupted copies cause no panic.
func TestBrokenPacketsCauseNoPanic(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for _, p := range wholePackets(t) {
		require.NoError(t, take(t, p, Version5), "% x", p)
		for cut := range len(p) + 1 {
			_ = take(t, p[:cut:cut], Version5)
			_ = take(t, p[:cut:cut], Version311)
		}
		for range 2_000 {
			b := bytes.Clone(p)
			for range 1 + random.IntN(3) {
				b[random.IntN(len(b))] = byte(random.IntN(256))
			}
			_ = take(t, b, Version5)
			_ = take(t, b, Version311)
		}
	}
}

// go test -fuzz FuzzTake ./internal/mqtt goes on from the packets here and in testdata/fuzz. Without -fuzz these
// are tested.
func FuzzTake(f *testing.F) {
	for _, p := range wholePackets(f) {
		for _, version := range []int{Version311, Version5} {
			f.Add(p, version == Version5)
			f.Add(p[:len(p)/2], version == Version5)
		}
	}
	f.Add([]byte{0x32, 6, 0, 1, 'a', 0, 1, 0}, true)
	f.Add([]byte{0x34, 6, 0, 1, 'a', 0, 1, 'b'}, false)
	f.Fuzz(func(t *testing.T, b []byte, five bool) {
		version := Version311
		if five {
			version = Version5
		}
		_ = take(t, b, version)
	})
}
