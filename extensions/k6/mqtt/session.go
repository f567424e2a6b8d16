package mqtt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/eclipse/paho.golang/packets"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
)

// call is one SUBSCRIBE, UNSUBSCRIBE or PUBLISH of a script.
type call struct {
	kind    byte
	topics  []string // filters, or the topic of a PUBLISH
	qos     byte
	message *mqtt.Publish // set for a PUBLISH
	outcome chan error    // gets one, unless the connection ends first

	// These belong to the wire.
	id       uint16 // 0 until it is written
	number   int    // counts the calls of the session
	due      byte   // the packet that answers it, 0 for none
	written  bool   // and waits for an answer
	released bool   // PUBREC came: the broker has the message
	givenUp  bool
}

func newSubscribe(kind byte, filters []string, qos byte) *call {
	return &call{kind: kind, topics: filters, qos: qos, due: kind + 1, outcome: make(chan error, 1)}
}

func newPublish(m *mqtt.Publish) *call {
	due := [...]byte{0, packets.PUBACK, packets.PUBREC}[m.QoS]
	return &call{
		kind: packets.PUBLISH, topics: []string{string(m.Topic)}, qos: m.QoS, message: m, due: due,
		outcome: make(chan error, 1),
	}
}

func (c *call) append(b []byte, version int) []byte {
	switch c.kind {
	case packets.SUBSCRIBE:
		return mqtt.AppendSubscribe(b, version, c.id, c.topics, c.qos)
	case packets.UNSUBSCRIBE:
		return mqtt.AppendUnsubscribe(b, version, c.id, c.topics)
	}
	return c.message.Append(b, version)
}

// session is the state that outlives a connection (MQTT 5, 4.1): unacknowledged messages in both directions. It
// includes calls that have failed for the script: the broker may have received them. The lock also guards the
// state of the wire that uses the session.
type session struct {
	mu       sync.Mutex
	lastID   uint16
	calls    int
	waiting  map[uint16]*call // awaiting the broker's answer, by packet id
	messages int              // number of messages in waiting
	handedOn mqtt.IDs         // QoS 2 messages that the broker has not released
}

func newSession() *session { return &session{waiting: map[uint16]*call{}} }

// begin starts an accepted connection. It returns the packets to send again.
func (s *session) begin(version int, clean, present bool) (resend []byte) {
	if clean || !present { // [MQTT-3.2.2-5]
		s.handedOn = mqtt.IDs{}
	}
	// A broker of 3.1.1 gets the messages again even without a session [MQTT-4.4.0-1].
	forget := clean || !present && version == mqtt.Version5
	var messages []*call
	for id, c := range s.waiting {
		if forget || c.kind != packets.PUBLISH {
			delete(s.waiting, id)
		} else {
			messages = append(messages, c)
		}
	}
	s.messages = len(messages)
	slices.SortFunc(messages, func(a, b *call) int { return a.number - b.number }) // [MQTT-4.6.0-1]
	for _, c := range messages {
		if c.released {
			resend = mqtt.AppendAck(resend, packets.PUBREL, c.id)
		} else {
			c.message.Dup = true
			resend = c.message.Append(resend, version)
		}
	}
	return resend
}

// add gives a call its packet id, which is 0 for a message of QoS 0.
func (s *session) add(c *call) {
	if c.due == 0 {
		return
	}
	for used := true; used || s.lastID == 0; _, used = s.waiting[s.lastID] {
		s.lastID++
	}
	s.calls++
	c.id, c.number, s.waiting[s.lastID] = s.lastID, s.calls, c
	if c.message != nil {
		c.message.ID = c.id
		s.messages++
	}
}

// answered processes the broker's answer to a call, and returns the packets to send next.
func (s *session) answered(c *call, a *mqtt.Answer, version int) (reply []byte, err error) {
	kind := a.Kind >> 4
	if kind == packets.PUBREC && c.released { // repeated
		return mqtt.AppendAck(nil, packets.PUBREL, c.id), nil
	}
	if kind != c.due {
		return nil, mqtt.ProtocolError("%s answers %s, which wants %s", name(kind), name(c.kind), name(c.due))
	}
	if c.message == nil {
		if err := a.CheckCodes(version, len(c.topics)); err != nil {
			return nil, err
		}
	}
	if kind == packets.PUBREC && !a.Refused() {
		c.released, c.due = true, packets.PUBCOMP
		return mqtt.AppendAck(nil, packets.PUBREL, c.id), nil
	}
	delete(s.waiting, c.id)
	if c.message != nil {
		s.messages--
	}
	c.outcome <- refused(c, a)
	return nil, nil
}

func name(kind byte) string { return mqtt.Name(kind << 4) }

// refused is the error of a negative answer.
func refused(c *call, a *mqtt.Answer) error {
	if c.message != nil {
		if !a.Refused() {
			return nil
		}
		return fmt.Errorf("the broker refused the message on %s: %s%s",
			c.topics[0], a.Properties.Text(a.Code), advice(a.Code))
	}
	what, change := "the subscription to ", ""
	if c.kind == packets.UNSUBSCRIBE {
		what = "to end the subscription to "
	}
	var refused []string
	for i, code := range a.Codes { // in the order of the filters [MQTT-3.8.4-6], [MQTT-3.11.3-1]
		if code >= mqtt.Failed {
			refused = append(refused, fmt.Sprintf("%s (%s)", c.topics[i], a.Properties.Text(code)))
			change = advice(code)
		}
	}
	if refused == nil {
		return nil
	}
	return errors.New("the broker refused " + what + strings.Join(refused, ", ") + change)
}

// advice is what a script author can do about a reason code. A SUBACK of MQTT 3.1.1 gives no reason.
func advice(code byte) string {
	switch code {
	case packets.PubackNotAuthorized, packets.SubackUnspecifiederror: // the same in all packets
		return ": check its access rules"
	}
	return ""
}
