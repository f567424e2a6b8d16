package mqtt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
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

// Violation is a packet that the standard forbids. A client of MQTT 5 disconnects with Code (4.13.1).
type Violation struct {
	Code byte
	What string
}

func (v *Violation) Error() string { return Reason(v.Code) + ": " + v.What }

func malformed(format string, values ...any) error {
	return &Violation{packets.DisconnectMalformedPacket, fmt.Sprintf(format, values...)}
}

// ProtocolError is a Violation by a well-formed packet that is not allowed there (MQTT 5, 1.2).
func ProtocolError(format string, values ...any) error {
	return &Violation{packets.DisconnectProtocolError, fmt.Sprintf(format, values...)}
}

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

// Failed is the least reason code that reports a failure (MQTT 5, 2.4).
const Failed = 0x80

// reasons names the codes from Failed on (MQTT 5, 2.4).
var reasons = [...]string{
	"Unspecified error", "Malformed Packet", "Protocol Error", "Implementation specific error",
	"Unsupported Protocol Version", "Client Identifier not valid", "Bad User Name or Password", "Not authorized",
	"Server unavailable", "Server busy", "Banned", "Server shutting down", "Bad authentication method",
	"Keep Alive timeout", "Session taken over", "Topic Filter invalid", "Topic Name invalid",
	"Packet Identifier in use", "Packet Identifier not found", "Receive Maximum exceeded", "Topic Alias invalid",
	"Packet too large", "Message rate too high", "Quota exceeded", "Administrative action",
	"Payload format invalid", "Retain not supported", "QoS not supported", "Use another server",
	"Server moved", "Shared Subscriptions not supported",
	"Connection rate exceeded", "Maximum connect time", "Subscription Identifiers not supported",
	"Wildcard Subscriptions not supported",
}

// Reason is the standard's name of a reason code from Failed on.
func Reason(code byte) string {
	if i := int(code) - Failed; i >= 0 && i < len(reasons) {
		return reasons[i]
	}
	return fmt.Sprintf("reason code 0x%02x", code)
}

// ErrRefused is a permanent refusal by the broker: wrong credentials, a forbidden topic, an unsupported version of MQTT.
var ErrRefused = errors.New("refused by the MQTT broker")

// Refusal is a reason code, with what the broker adds, as an error.
type Refusal struct {
	Code byte
	Text string
	Old  bool // a CONNACK in the form of 3.1.1
}

// Refusal returns the answer's code as an error.
func (a *Answer) Refusal() *Refusal {
	return &Refusal{Code: a.Code, Text: a.Properties.Text(a.Code), Old: a.Old}
}

func (r *Refusal) Error() string { return r.Text }

// Is reports whether a refusal is ErrRefused: not where another attempt may succeed.
func (r *Refusal) Is(target error) bool {
	switch r.Code {
	case packets.ConnackServerUnavailable, packets.ConnackServerBusy, packets.DisconnectServerShuttingDown,
		packets.ConnackQuotaExceeded, packets.ConnackConnectionRateExceeded:
		return false
	}
	return target == ErrRefused
}

// Text is the text of a reason code, with the reason string of the broker.
func (s *Properties) Text(code byte) string {
	name := Reason(code)
	if s.Reason != "" && plain(s.Reason) != plain(name) {
		name += " (" + s.Reason + ")"
	}
	return name
}

func plain(text string) string { return strings.ToLower(strings.ReplaceAll(text, " ", "")) }

// Buffer holds bytes of a stream that were read and not yet parsed.
type Buffer struct {
	B    []byte // its length is the size of a read; it grows for a larger packet
	Held int    // bytes at the start of B
	Most int    // size of the largest packet
}

// Fill reads once, and returns an error if that brought nothing.
func (s *Buffer) Fill(from io.Reader) error {
	if s.Held == len(s.B) {
		s.B = append(s.B, make([]byte, len(s.B))...)
	}
	n, err := from.Read(s.B[s.Held:])
	s.Held += n
	if n > 0 {
		return nil // the next read returns the error
	}
	return err
}

// At finds the packet at an offset; size is 0 while not all of it is there.
func (s *Buffer) At(offset int) (kind byte, body []byte, size int, err error) {
	return Frame(s.B[offset:s.Held], s.Most)
}

// Drop removes size bytes at an offset.
func (s *Buffer) Drop(offset, size int) {
	s.Held = offset + copy(s.B[offset:], s.B[offset+size:s.Held])
}
