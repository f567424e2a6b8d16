package mqttwire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"unicode/utf8"

	"github.com/eclipse/paho.golang/packets"
)

// MQTT's protocol levels (3.1.2.2).
const (
	Version311 = 4
	Version5   = 5
)

const (
	// MaxField is the longest string or binary (MQTT 5, 1.5.4).
	MaxField = 65535
	// MaxRemaining is the longest packet after its fixed header (MQTT 5, 2.1.4).
	MaxRemaining = 268_435_455
)

// Violation is a packet that the standard forbids. Code is what a client of MQTT 5 closes the connection with (4.13.1).
type Violation struct {
	Code byte
	What string
}

func (v *Violation) Error() string { return Reason(v.Code) + ": " + v.What }

func malformed(format string, values ...any) error {
	return &Violation{packets.DisconnectMalformedPacket, fmt.Sprintf(format, values...)}
}

// ProtocolError is a Violation by a packet that can be read, and is not allowed there (MQTT 5, 1.2).
func ProtocolError(format string, values ...any) error {
	return &Violation{packets.DisconnectProtocolError, fmt.Sprintf(format, values...)}
}

// Frame finds one packet at the start of b, of so many bytes after the fixed header at most. size is 0 while b does not hold
// the whole of it.
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
		return 0, nil, 0, &Violation{packets.DisconnectPacketTooLarge, fmt.Sprintf("a packet of %d bytes; allowed: %d", length, most)}
	case n == 0 || len(b) < 1+n+length:
		return 0, nil, 0, nil
	}
	return b[0], b[1+n : 1+n+length], 1 + n + length, nil
}

func Name(kind byte) string {
	return (&packets.ControlPacket{FixedHeader: packets.FixedHeader{Type: kind >> 4}}).PacketType()
}

// packetID takes a packet id off b, which is never 0 (MQTT 5, 2.2.1; [MQTT-2.3.1-1] of 3.1.1).
func packetID(kind byte, b []byte) (id uint16, rest []byte, err error) {
	if len(b) >= 2 {
		id = binary.BigEndian.Uint16(b)
	}
	if id == 0 {
		return 0, nil, malformed("%s has no packet id", Name(kind))
	}
	return id, b[2:], nil
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

// IDs is a set of packet ids: those of QoS 2 messages that were handed on and that the broker has not released yet (MQTT 5,
// 4.3.3). All fit, in 8 KiB.
type IDs [(MaxField + 1) / 64]uint64

// Add reports whether the id was not there yet.
func (s *IDs) Add(id uint16) bool {
	word, bit := &s[id/64], uint64(1)<<(id%64)
	isNew := *word&bit == 0
	*word |= bit
	return isNew
}

// Remove takes an id out, where it is in.
func (s *IDs) Remove(id uint16) { s[id/64] &^= 1 << (id % 64) }
