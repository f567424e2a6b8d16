package mqtt

import "github.com/eclipse/paho.golang/packets"

// Properties are the properties of a broker's MQTT 5 answer, or their defaults.
type Properties struct {
	Reason         string
	KeepAlive      int // s; −1: not set
	ReceiveMaximum int // messages of QoS 1 and 2 without acknowledgement
	MaxPacket      int // bytes
	MaxQoS         byte
	NoRetained     bool
}

var defaultProperties = Properties{KeepAlive: -1, ReceiveMaximum: MaxField, MaxPacket: 5 + MaxRemaining, MaxQoS: 2}

// UserProperty is a user property of a message (MQTT 5, 3.3.2.3.7).
type UserProperty struct{ Key, Value []byte }

// UserProperties lists the user properties of a PUBLISH that was read, in order.
func UserProperties(b []byte) (all []UserProperty) {
	for len(b) > 0 {
		p, rest, _ := next(b)
		if p.identifier == packets.PropUser {
			all = append(all, UserProperty{p.key, p.value})
		}
		b = rest
	}
	return all
}

// FindUserProperty returns the last value of a key, or nil.
func FindUserProperty(b []byte, key string) (value []byte) {
	for len(b) > 0 {
		p, rest, _ := next(b)
		if p.identifier == packets.PropUser && string(p.key) == key {
			value = p.value
		}
		b = rest
	}
	return value
}

// AppendUserProperty appends a user property to properties.
func AppendUserProperty[T string | []byte](b []byte, key string, value T) []byte {
	return appendField(appendField(append(b, packets.PropUser), key), value)
}

// Kinds of values other than integers of a fixed size (MQTT 5, 2.2.2.2).
const (
	isString = -1 - iota
	isBinary
	isPair   // two strings
	isVarint // a variable byte integer
)

const (
	onPublish = 1 << packets.PUBLISH
	onConnack = 1 << packets.CONNACK
	onAny     = 0xffff
)

// shapes lists the properties that a broker may send, and the packets that may have them (MQTT 5, 2.2.2.2).
var shapes = [...]struct {
	size int8   // bytes, or one of the above
	on   uint16 // a bit for each type of packet
}{
	packets.PropPayloadFormat:          {1, onPublish},
	packets.PropMessageExpiry:          {4, onPublish},
	packets.PropContentType:            {isString, onPublish},
	packets.PropResponseTopic:          {isString, onPublish},
	packets.PropCorrelationData:        {isBinary, onPublish},
	packets.PropSubscriptionIdentifier: {isVarint, onPublish},
	packets.PropSessionExpiryInterval:  {4, onConnack},
	packets.PropAssignedClientID:       {isString, onConnack},
	packets.PropServerKeepAlive:        {2, onConnack},
	packets.PropAuthMethod:             {isString, onConnack},
	packets.PropAuthData:               {isBinary, onConnack},
	packets.PropResponseInfo:           {isString, onConnack},
	packets.PropServerReference:        {isString, onConnack | 1<<packets.DISCONNECT},
	packets.PropReasonString:           {isString, onAny &^ onPublish},
	packets.PropReceiveMaximum:         {2, onConnack},
	packets.PropTopicAliasMaximum:      {2, onConnack},
	packets.PropTopicAlias:             {2, onPublish},
	packets.PropMaximumQOS:             {1, onConnack},
	packets.PropRetainAvailable:        {1, onConnack},
	packets.PropUser:                   {isPair, onAny},
	packets.PropMaximumPacketSize:      {4, onConnack},
	packets.PropWildcardSubAvailable:   {1, onConnack},
	packets.PropSubIDAvailable:         {1, onConnack},
	packets.PropSharedSubAvailable:     {1, onConnack},
}

type property struct {
	identifier byte
	key, value []byte // key is that of a user property
}

// next reads one property from b.
func next(b []byte) (p property, rest []byte, ok bool) {
	p.identifier, b = b[0], b[1:]
	if int(p.identifier) >= len(shapes) {
		return p, nil, false
	}
	size := int(shapes[p.identifier].size)
	switch size {
	case isPair:
		if p.key, b, ok = field(b); !ok {
			return p, nil, false
		}
		p.value, b, ok = field(b)
		return p, b, ok
	case isString, isBinary:
		p.value, b, ok = field(b)
		return p, b, ok
	case isVarint:
		_, size = varint(b)
	}
	if size <= 0 || len(b) < size {
		return p, nil, false
	}
	p.value = b[:size]
	return p, b[size:], true
}

// isText returns false for a string that the standard forbids.
func (p *property) isText() bool {
	switch shapes[p.identifier].size {
	case isString:
		return isText(p.value)
	case isPair:
		return isText(p.key) && isText(p.value)
	}
	return true
}

// properties reads and checks the properties of a packet, after their length. It stores the broker's settings in into.
func properties(kind byte, b []byte, into *Properties) (all, rest []byte, err error) {
	length, n := varint(b)
	if n <= 0 || len(b) < n+length {
		return nil, nil, malformed("the properties of %s end beyond it", Name(kind))
	}
	all, rest = b[n:n+length], b[n+length:]
	seen := uint64(0)
	for left := all; len(left) > 0; {
		p, after, ok := next(left)
		if !ok || shapes[p.identifier].on>>(kind>>4)&1 == 0 || !p.isText() { // 2.2.2.2
			return nil, nil, malformed("%s has a wrong property 0x%02x", Name(kind), left[0])
		}
		left = after
		if p.identifier == packets.PropUser || p.identifier == packets.PropSubscriptionIdentifier {
			continue // may be repeated
		}
		if p.identifier == packets.PropTopicAlias { // [MQTT-3.1.2-27]: CONNECT allows none
			return nil, nil, &Violation{
				packets.DisconnectTopicAliasInvalid, "PUBLISH has a topic alias, and none are allowed",
			}
		}
		bit := uint64(1) << p.identifier
		if seen&bit != 0 || !into.take(p) { // 3.2.2.3, 3.3.2.3
			return nil, nil, ProtocolError("%s has the property 0x%02x twice, or a value that it can't have",
				Name(kind), p.identifier)
		}
		seen |= bit
	}
	return all, rest, nil
}

// take stores a property. It returns false if its value is not allowed.
func (s *Properties) take(p property) bool {
	value := 0
	if shapes[p.identifier].size > 0 {
		for _, b := range p.value {
			value = value<<8 | int(b)
		}
	}
	switch p.identifier {
	case packets.PropReasonString:
		s.Reason = string(p.value)
	case packets.PropServerKeepAlive:
		s.KeepAlive = value
	case packets.PropReceiveMaximum:
		s.ReceiveMaximum = value
		return value > 0
	case packets.PropMaximumPacketSize:
		s.MaxPacket = value
		return value > 0
	case packets.PropMaximumQOS:
		s.MaxQoS = byte(value)
	case packets.PropRetainAvailable:
		s.NoRetained = value == 0
	}
	return shapes[p.identifier].size != 1 || value <= 1
}
