package receiver

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/eclipse/paho.golang/packets"
)

// maxPacket bounds what a broker can make us hold.
const maxPacket = 16 << 20

var errMalformed = errors.New("malformed MQTT packet")

// frame finds one packet at the start of b. size is 0 while b does not hold the whole of it.
func frame(b []byte) (kind byte, body []byte, size int, err error) {
	if len(b) < 2 {
		return 0, nil, 0, nil
	}
	length, n := varint(b[1:])
	if n < 0 {
		return 0, nil, 0, errMalformed
	}
	if length > maxPacket {
		return 0, nil, 0, fmt.Errorf("a packet of %d bytes; allowed: %d", length, maxPacket)
	}
	if n == 0 || len(b) < 1+n+length {
		return 0, nil, 0, nil
	}
	return b[0], b[1+n : 1+n+length], 1 + n + length, nil
}

// publish takes a PUBLISH apart (3.3). id is 0 at QoS 0. MQTT 3.1.1 has no properties.
func publish(version int, kind byte, b []byte, property string) (m Message, id uint16, err error) {
	var ok bool
	if m.Topic, b, ok = field(b); !ok {
		return m, 0, errMalformed
	}
	switch kind >> 1 & 3 {
	case 0:
	case 1, 2:
		if id, b, ok = packetID(b); !ok {
			return m, 0, errMalformed
		}
	default:
		return m, 0, errMalformed // [MQTT-3.3.1-4]
	}
	if version == version311 {
		m.Payload = b
		return m, id, nil
	}
	properties, payload, ok := block(b)
	if !ok {
		return m, 0, errMalformed
	}
	m.Payload = payload
	for len(properties) > 0 {
		_, key, value, rest, ok := next(properties)
		if !ok {
			return m, 0, errMalformed
		}
		if key != nil && string(key) == property {
			m.Hops = value
		}
		properties = rest
	}
	return m, id, nil
}

// packetID takes a packet id off b, which is never 0 [MQTT-2.2.1-3].
func packetID(b []byte) (id uint16, rest []byte, ok bool) {
	if len(b) < 2 {
		return 0, nil, false
	}
	id = binary.BigEndian.Uint16(b)
	return id, b[2:], id != 0
}

// block takes properties with their length off b (MQTT 5, 2.2.2).
func block(b []byte) (properties, rest []byte, ok bool) {
	length, n := varint(b)
	if n <= 0 || len(b) < n+length {
		return nil, nil, false
	}
	return b[n : n+length], b[n+length:], true
}

// properties are those of the broker's answers that matter here.
type properties struct {
	hasKeepAlive bool
	keepAlive    uint16 // s
	reason       string
}

// read reports false for properties that are malformed.
func (p *properties) read(b []byte) bool {
	for len(b) > 0 {
		identifier, _, value, rest, ok := next(b)
		if !ok {
			return false
		}
		switch identifier {
		case packets.PropServerKeepAlive:
			p.hasKeepAlive, p.keepAlive = true, binary.BigEndian.Uint16(value)
		case packets.PropReasonString:
			p.reason = string(value)
		}
		b = rest
	}
	return true
}

// next takes one property (MQTT 5, 2.2.2.2) off b; key is that of a user property, and nil for any other.
func next(b []byte) (identifier byte, key, value, rest []byte, ok bool) {
	identifier, b = b[0], b[1:]
	size := 0
	switch identifier {
	case packets.PropUser:
		if key, b, ok = field(b); !ok {
			return 0, nil, nil, nil, false
		}
		value, b, ok = field(b)
		return identifier, key, value, b, ok
	case packets.PropPayloadFormat, packets.PropRequestProblemInfo, packets.PropRequestResponseInfo,
		packets.PropMaximumQOS, packets.PropRetainAvailable, packets.PropWildcardSubAvailable, packets.PropSubIDAvailable,
		packets.PropSharedSubAvailable:
		size = 1
	case packets.PropTopicAlias, packets.PropServerKeepAlive, packets.PropReceiveMaximum, packets.PropTopicAliasMaximum:
		size = 2
	case packets.PropMessageExpiry, packets.PropSessionExpiryInterval, packets.PropWillDelayInterval,
		packets.PropMaximumPacketSize:
		size = 4
	case packets.PropSubscriptionIdentifier:
		_, size = varint(b)
	case packets.PropContentType, packets.PropResponseTopic, packets.PropCorrelationData, packets.PropAssignedClientID,
		packets.PropAuthMethod, packets.PropAuthData, packets.PropResponseInfo, packets.PropServerReference,
		packets.PropReasonString:
		value, b, ok = field(b)
		return identifier, nil, value, b, ok
	}
	if size <= 0 || len(b) < size {
		return 0, nil, nil, nil, false
	}
	return identifier, nil, b[:size], b[size:], true
}

// field takes a length-prefixed string or binary off b.
func field(b []byte) (value, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if len(b) < 2+n {
		return nil, nil, false
	}
	return b[2 : 2+n], b[2+n:], true
}

// varint reads a variable byte integer (MQTT 5, 1.5.5). n is 0 while b is too short and −1 when it is malformed.
func varint(b []byte) (value, n int) {
	for i := range 4 {
		if i == len(b) {
			return 0, 0
		}
		value |= int(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return value, i + 1
		}
	}
	return 0, -1
}

// packetName is for people.
func packetName(kind byte) string {
	return (&packets.ControlPacket{FixedHeader: packets.FixedHeader{Type: kind >> 4}}).PacketType()
}
