package mqtt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/eclipse/paho.golang/packets"
)

// Frame finds one packet at the start of b, with at most that many bytes after the fixed header. size is 0 if b does
// not hold the whole packet.
func Frame(b []byte, most int) (kind byte, body []byte, size int, err error) {
	if len(b) < 2 {
		return 0, nil, 0, nil
	}
	flags := byte(0)
	switch b[0] >> 4 {
	case 0:
		return 0, nil, 0, malformed("packet type 0 is reserved") // 2.1.2
	case packets.PUBLISH:
		flags = b[0] & 0x0f
	case packets.PUBREL:
		flags = 2
	}
	if b[0]&0x0f != flags { // [MQTT-2.1.3-1], [MQTT-2.2.2-2] of 3.1.1
		return 0, nil, 0, malformed("%s has the flags %04b", Name(b[0]), b[0]&0x0f)
	}
	length, n := varint(b[1:])
	switch {
	case n < 0:
		return 0, nil, 0, malformed("the length of %s has more than four bytes", Name(b[0])) // 2.1.4, 1.5.5
	case length > most:
		return 0, nil, 0, &Violation{
			packets.DisconnectPacketTooLarge, fmt.Sprintf("a packet of %d bytes; allowed: %d", length, most),
		}
	case n == 0 || len(b) < 1+n+length:
		return 0, nil, 0, nil
	}
	return b[0], b[1+n : 1+n+length], 1 + n + length, nil
}

// Name is the name of a packet by its first byte, like PUBLISH.
func Name(kind byte) string {
	return (&packets.ControlPacket{FixedHeader: packets.FixedHeader{Type: kind >> 4}}).PacketType()
}

// packetID reads a packet id from b. It is never 0 (MQTT 5, 2.2.1; [MQTT-2.3.1-1] of 3.1.1).
func packetID(kind byte, b []byte) (id uint16, rest []byte, err error) {
	if len(b) >= 2 {
		id = binary.BigEndian.Uint16(b)
	}
	if id == 0 {
		return 0, nil, malformed("%s has no packet id", Name(kind))
	}
	return id, b[2:], nil
}

// field reads a length-prefixed string or binary from b.
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

// isText reports UTF-8 without NUL: [MQTT-1.5.4-1], [MQTT-1.5.4-2]; 1.5.3 of 3.1.1.
func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

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

// IDs is the set of packet ids of delivered QoS 2 messages that the broker has not released yet (MQTT 5, 4.3.3). It
// takes 8 KiB.
type IDs [(MaxField + 1) / 64]uint64

// Add reports whether the id was not there yet.
func (s *IDs) Add(id uint16) bool {
	word, bit := &s[id/64], uint64(1)<<(id%64)
	isNew := *word&bit == 0
	*word |= bit
	return isNew
}

// Remove removes an id.
func (s *IDs) Remove(id uint16) { s[id/64] &^= 1 << (id % 64) }

// Publish is a PUBLISH packet (3.3) or the message of a will. One that was read shares its bytes with the packet.
type Publish struct {
	Topic, Payload []byte
	Properties     []byte // MQTT 5 only, without their length
	ID             uint16 // 0 at QoS 0
	QoS            byte
	Dup, Retain    bool
}

// ReadPublish parses a PUBLISH of a broker. It refuses topic aliases: the clients allow none.
func ReadPublish(version int, kind byte, b []byte) (p Publish, err error) {
	p.QoS, p.Dup, p.Retain = kind>>1&3, kind&8 != 0, kind&1 != 0
	if p.QoS == 3 { // [MQTT-3.3.1-4]
		return p, malformed("PUBLISH has QoS 3")
	}
	var ok bool
	if p.Topic, b, ok = field(b); !ok {
		return p, malformed("PUBLISH ends within its topic")
	}
	if p.QoS > 0 {
		if p.ID, b, err = packetID(kind, b); err != nil {
			return p, err
		}
	}
	if version == Version5 {
		if p.Properties, b, err = properties(kind, b, &Properties{}); err != nil {
			return p, err
		}
	}
	p.Payload = b
	return p, checkTopic(p.Topic)
}

func checkTopic(topic []byte) error {
	switch {
	case len(topic) == 0: // MQTT 5, 3.3.2.1; [MQTT-4.7.3-1]
		return ProtocolError("PUBLISH has no topic")
	case !isText(topic):
		return malformed("the topic %q of PUBLISH is not UTF-8 without NUL", topic)
	case bytes.IndexByte(topic, '+') >= 0 || bytes.IndexByte(topic, '#') >= 0: // [MQTT-3.3.2-2]
		return &Violation{
			packets.DisconnectTopicNameInvalid, "the topic \"" + string(topic) + "\" of PUBLISH has a wildcard",
		}
	}
	return nil
}

// Answer is a broker's answer: CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBACK, UNSUBACK or DISCONNECT.
type Answer struct {
	Kind       byte   // the first byte of the packet
	ID         uint16 // 0 in CONNACK and DISCONNECT
	Code       byte   // a reason code of MQTT 5, also for a broker of 3.1.1
	Codes      []byte // SUBACK and UNSUBACK have one for each topic
	Properties Properties
	Present    bool // the broker had a session for the client
	Old        bool // a CONNACK in the form of 3.1.1
}

// Refused reports whether the code is a failure.
func (a *Answer) Refused() bool { return a.Code >= Failed }

// KeepAlive is what a CONNACK makes of the keep-alive that CONNECT asked for, in s [MQTT-3.2.2-21].
func (a *Answer) KeepAlive(asked uint16) time.Duration {
	if own := a.Properties.KeepAlive; own >= 0 {
		return time.Duration(own) * time.Second
	}
	return time.Duration(asked) * time.Second
}

// ReadAnswer parses an answer of a broker, given the first byte of the packet and what follows its length.
func ReadAnswer(version int, kind byte, b []byte) (a Answer, err error) {
	a.Kind, a.Properties = kind, defaultProperties
	switch kind >> 4 {
	case packets.CONNACK:
		return a, a.readConnack(version, b)
	case packets.DISCONNECT:
	default:
		if a.ID, b, err = packetID(kind, b); err != nil {
			return a, err
		}
	}
	switch kind >> 4 {
	case packets.SUBACK, packets.UNSUBACK:
		if version == Version5 {
			if _, b, err = properties(kind, b, &a.Properties); err != nil {
				return a, err
			}
		}
		a.Codes = b
		return a, nil
	}
	if version == Version5 && len(b) > 0 { // 3.4.2.1, 3.14.2.1: what is left out is success, without properties
		a.Code, b = b[0], b[1:]
		if len(b) > 0 {
			_, b, err = properties(kind, b, &a.Properties)
		}
	}
	if err == nil && len(b) > 0 {
		err = malformed("%s has %d bytes too many", Name(kind), len(b))
	}
	return a, err
}

// connack311 maps the return codes of 3.1.1 (3.2.2.3) to reason codes of MQTT 5.
var connack311 = []byte{0, packets.ConnackUnsupportedProtocolVersion, packets.ConnackInvalidClientID,
	packets.ConnackServerUnavailable, packets.ConnackBadUsernameOrPassword, packets.ConnackNotAuthorized}

// readConnack parses a CONNACK. A broker without MQTT 5 refuses a client of it in the form of 3.1.1.
func (a *Answer) readConnack(version int, b []byte) (err error) {
	if len(b) < 2 || b[0] > 1 { // [MQTT-3.2.2-1]
		return malformed("CONNACK has the bytes % x", b)
	}
	a.Present, a.Code, a.Old = b[0] == 1, b[1], len(b) == 2
	if version == Version311 || a.Old {
		if len(b) > 2 {
			return malformed("CONNACK has %d bytes too many", len(b)-2)
		}
		if int(a.Code) >= len(connack311) { // 3.2.2.3 of 3.1.1: reserved
			return ProtocolError("CONNACK has the return code %d", a.Code)
		}
		a.Code = connack311[a.Code]
		return nil
	}
	if _, b, err = properties(a.Kind, b[2:], &a.Properties); err != nil {
		return err
	}
	switch {
	case len(b) > 0:
		return malformed("CONNACK has %d bytes too many", len(b))
	case a.Code > 0 && a.Code < Failed: // [MQTT-3.2.2-8]
		return ProtocolError("CONNACK has the reason code 0x%02x", a.Code)
	}
	return nil
}

// CheckCodes checks the codes of a SUBACK or UNSUBACK: one for each topic [MQTT-3.8.4-6], [MQTT-3.11.3-1],
// [MQTT-3.8.4-5] of 3.1.1, and only defined ones [MQTT-3.9.3-1], [MQTT-3.11.3-2], [MQTT-3.9.3-2] of 3.1.1.
// UNSUBACK of 3.1.1 has none.
func (a *Answer) CheckCodes(version, topics int) error {
	granted := byte(2) // QoS
	if a.Kind>>4 == packets.UNSUBACK {
		granted = 0
		if version == Version311 {
			topics = 0
		}
	}
	if len(a.Codes) != topics {
		return ProtocolError("%s has %d codes for %d topics", Name(a.Kind), len(a.Codes), topics)
	}
	for _, code := range a.Codes {
		known := code <= granted || code == packets.UnsubackNoSubscriptionFound && granted == 0
		if version == Version311 {
			known = known || code == packets.SubackUnspecifiederror
		} else {
			known = known || code >= Failed
		}
		if !known {
			return ProtocolError("%s has the code 0x%02x", Name(a.Kind), code)
		}
	}
	return nil
}
