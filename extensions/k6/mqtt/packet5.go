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

// reasonText says a reason code's name, without paho's explanation after it, and what the broker says about it.
func reasonText(reason string, code byte, said *packets.Properties) string {
	name, _, _ := strings.Cut(reason, " - ")
	if name == "" {
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
func refusedTopics(
	what string, filters []string, codes []byte, reason func(int) string, said *packets.Properties,
) error {
	var refused []string
	advice := ""
	for i, code := range codes {
		if code >= failed && i < len(filters) {
			refused = append(refused, fmt.Sprintf("%s (%s)", filters[i], reasonText(reason(i), code, said)))
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
	if code == packets.SubackNotauthorized { // the same in all packets
		return ": check its access rules"
	}
	return ""
}
