package mqttwire

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/eclipse/paho.golang/packets"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// take parses the first packet in b.
func take(b []byte, version int) error {
	kind, body, size, err := Frame(b, MaxRemaining)
	switch {
	case err != nil || size == 0:
		return err
	case kind>>4 == packets.PUBLISH:
		p, err := ReadPublish(version, kind, body)
		if err == nil {
			UserProperties(p.Properties)
			FindUserProperty(p.Properties, "hops")
		}
		return err
	}
	a, err := ReadAnswer(version, kind, body)
	if err == nil {
		err = a.CheckCodes(version, len(a.Codes))
	}
	return err
}

// Each packet of a broker is parsed. Truncated and corrupted copies cause no panic.
func TestBrokenPacketsCauseNoPanic(t *testing.T) {
	t.Parallel()
	format, expiry, id := byte(1), uint32(60), 5
	var whole [][]byte
	for qos := range byte(3) {
		p := packets.NewControlPacket(packets.PUBLISH)
		p.Flags = qos << 1
		content := p.Content.(*packets.Publish)
		content.Topic, content.Payload, content.QoS, content.PacketID = "messages/user/1", []byte("payload"), qos, uint16(qos)
		content.Properties = &packets.Properties{
			PayloadFormat: &format, MessageExpiry: &expiry, SubscriptionIdentifier: &id,
			ContentType: "text", CorrelationData: []byte{1}, User: []packets.User{{Key: "hops", Value: "1,2,3,4"}},
		}
		var b bytes.Buffer
		_, err := p.WriteTo(&b)
		require.NoError(t, err)
		whole = append(whole, b.Bytes())
	}
	whole = append(whole,
		[]byte{0x62, 2, 0, 1},
		[]byte{0x40, 9, 0, 1, 0x87, 5, 0x1f, 0, 2, 'h', 'i'},
		[]byte{0xe0, 8, 0x8e, 6, 0x1f, 0, 3, 'w', 'h', 'y'},
		[]byte{0x20, 11, 0, 0, 8, 0x13, 0, 60, 0x1f, 0, 2, 'h', 'i'},
		[]byte{0x90, 10, 0, 1, 5, 0x1f, 0, 2, 'h', 'i', 0, 1},
		[]byte{0xb0, 5, 0, 1, 0, 0, 0x11},
	)
	random := rand.New(rand.NewPCG(3, 4))
	for _, p := range whole {
		require.NoError(t, take(p, Version5), "% x", p)
		for cut := range len(p) + 1 {
			_ = take(p[:cut:cut], Version5)
			_ = take(p[:cut:cut], Version311)
		}
		for range 2_000 {
			b := append([]byte(nil), p...)
			for range 1 + random.IntN(3) {
				b[random.IntN(len(b))] = byte(random.IntN(256))
			}
			_ = take(b, Version5)
			_ = take(b, Version311)
		}
	}
}

func FuzzTake(f *testing.F) {
	f.Add([]byte{0x32, 6, 0, 1, 'a', 0, 1, 0}, true)
	f.Add([]byte{0x34, 6, 0, 1, 'a', 0, 1, 'b'}, false)
	f.Fuzz(func(_ *testing.T, b []byte, five bool) {
		version := Version311
		if five {
			version = Version5
		}
		_ = take(b, version)
	})
}

func TestPublishRoundTrip(t *testing.T) {
	t.Parallel()
	for _, version := range []int{Version311, Version5} {
		for _, size := range []int{0, 1, 120, 127, 128, 16_383, 16_384, 2_097_152} {
			p := Publish{Topic: []byte("a/b"), Payload: make([]byte, size), ID: 7, QoS: 1, Dup: true, Retain: true}
			if version == Version5 {
				p.Properties = AppendUserProperty(nil, "key", "value")
			}
			b := p.Append(nil, version)
			assert.Len(t, b, p.Size(version))
			kind, body, n, err := Frame(b, MaxRemaining)
			require.NoError(t, err)
			assert.Len(t, b, n)
			got, err := ReadPublish(version, kind, body)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(p.Payload, got.Payload))
			p.Payload, got.Payload = nil, nil
			assert.Equal(t, string(p.Properties), string(got.Properties))
			p.Properties, got.Properties = nil, nil
			assert.Equal(t, p, got)
		}
	}
}

func TestPacketLengthRoundTrip(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 127, 128, 16383, 16384, 2097151, 2097152, 268435455} {
		b := binary.AppendUvarint(nil, uint64(n))
		value, size := varint(b)
		assert.Equal(t, []int{n, len(b)}, []int{value, size})
	}
}

func TestASetHoldsEveryID(t *testing.T) {
	t.Parallel()
	var ids IDs
	for _, expected := range []bool{true, false} {
		for id := 1; id <= MaxField; id++ {
			require.Equal(t, expected, ids.Add(uint16(id)))
		}
	}
	for id := 1; id <= MaxField; id++ {
		ids.Remove(uint16(id))
	}
	assert.Equal(t, IDs{}, ids)
}
