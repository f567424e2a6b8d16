package mqtt

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
