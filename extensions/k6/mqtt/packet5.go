package mqtt

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/eclipse/paho.golang/packets"
)

// packetWriter writes a packet at once: paho locks it, writes the pieces of the packet and unlocks it. A write that fails
// closes the connection, which ends the reading.
type packetWriter struct {
	net.Conn
	writing sync.Mutex
	packet  []byte

	mu      sync.Mutex
	failure error
}

// keptPacket is the largest packet whose memory is kept for the next.
const keptPacket = 64 << 10

func (w *packetWriter) Lock() { w.writing.Lock() }

func (w *packetWriter) Write(p []byte) (int, error) {
	w.packet = append(w.packet, p...)
	return len(p), nil
}

func (w *packetWriter) Unlock() {
	defer w.writing.Unlock()
	if _, err := w.Conn.Write(w.packet); err != nil {
		w.fail(err)
	}
	if w.packet = w.packet[:0]; cap(w.packet) > keptPacket {
		w.packet = nil
	}
}

func (w *packetWriter) fail(err error) {
	w.mu.Lock()
	if w.failure == nil {
		w.failure = err
	}
	w.mu.Unlock()
	_ = w.Conn.Close()
}

func (w *packetWriter) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure != nil
}

// cause is why the connection ended, when reading ended with err.
func (w *packetWriter) cause(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure != nil && errors.Is(err, net.ErrClosed) {
		return w.failure
	}
	return err
}

// maxPacket is the largest packet there is: a fixed header of 5 bytes and the longest remaining length (MQTT 5, 2.1.4).
const maxPacket = 5 + maxRemaining

// packetSize is the size of the PUBLISH packet, with a fixed header as long as can be.
func (m *outgoing) packetSize() int {
	properties := 0
	for _, p := range m.user {
		properties += 1 + 2 + len(p.key) + 2 + len(p.value) // MQTT 5, 2.2.2.2
	}
	size := 5 + 2 + len(m.topic) + variableLength(properties) + properties + len(m.payload)
	if m.qos > 0 {
		size += 2
	}
	return size
}

// variableLength is how many bytes a variable byte integer takes (MQTT 5, 1.5.5).
func variableLength(n int) int {
	length := 1
	for ; n >= 0x80; n >>= 7 {
		length++
	}
	return length
}

func packetProperties(user []userProperty) *packets.Properties {
	p := &packets.Properties{}
	for _, property := range user {
		p.User = append(p.User, packets.User{Key: property.key, Value: property.value})
	}
	return p
}

func userProperties(p *packets.Properties) []userProperty {
	user := make([]userProperty, len(p.User))
	for i, property := range p.User {
		user[i] = userProperty{property.Key, property.Value}
	}
	return user
}

// given is the value of a property, or the fallback when the broker did not send it.
func given[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}

var errWrongReply = errors.New("the broker answered with a packet that does not belong to the call")

// reasons names the reason codes of failures (MQTT 5, 2.4).
var reasons = map[byte]string{
	0x80: "Unspecified error",
	0x81: "Malformed Packet",
	0x82: "Protocol Error",
	0x83: "Implementation specific error",
	0x84: "Unsupported Protocol Version",
	0x85: "Client Identifier not valid",
	0x86: "Bad User Name or Password",
	0x87: "Not authorized",
	0x88: "Server unavailable",
	0x89: "Server busy",
	0x8a: "Banned",
	0x8b: "Server shutting down",
	0x8c: "Bad authentication method",
	0x8d: "Keep Alive timeout",
	0x8e: "Session taken over",
	0x8f: "Topic Filter invalid",
	0x90: "Topic Name invalid",
	0x91: "Packet Identifier in use",
	0x92: "Packet Identifier not found",
	0x93: "Receive Maximum exceeded",
	0x94: "Topic Alias invalid",
	0x95: "Packet too large",
	0x96: "Message rate too high",
	0x97: "Quota exceeded",
	0x98: "Administrative action",
	0x99: "Payload format invalid",
	0x9a: "Retain not supported",
	0x9b: "QoS not supported",
	0x9c: "Use another server",
	0x9d: "Server moved",
	0x9e: "Shared Subscriptions not supported",
	0x9f: "Connection rate exceeded",
	0xa0: "Maximum connect time",
	0xa1: "Subscription Identifiers not supported",
	0xa2: "Wildcard Subscriptions not supported",
}

// reasonText names a reason code and adds what the broker says about it.
func reasonText(code byte, said *packets.Properties) string {
	name, ok := reasons[code]
	if !ok {
		name = fmt.Sprintf("reason code 0x%02x", code)
	}
	if said != nil && said.ReasonString != "" && plain(said.ReasonString) != plain(name) {
		name += fmt.Sprintf(" (%s)", said.ReasonString)
	}
	return name
}

func plain(text string) string { return strings.ToLower(strings.ReplaceAll(text, " ", "")) }

// refusedTopics is the error of a SUBACK or UNSUBACK, nil when it refuses nothing. The codes come in the order of the
// filters [MQTT-3.8.4-6], [MQTT-3.10.4-5].
func refusedTopics(what string, filters []string, codes []byte, said *packets.Properties) error {
	var refused []string
	advice := ""
	for i, code := range codes {
		if code >= failed && i < len(filters) {
			refused = append(refused, fmt.Sprintf("%s (%s)", filters[i], reasonText(code, said)))
			advice = advice5(code)
		}
	}
	if refused == nil {
		return nil
	}
	return fmt.Errorf("the broker refused %s %s%s", what, strings.Join(refused, ", "), advice)
}

// advice5 is what a script author can do about a reason code.
func advice5(code byte) string {
	if code == packets.PubackNotAuthorized { // the same in all packets
		return ": check its access rules"
	}
	return ""
}
