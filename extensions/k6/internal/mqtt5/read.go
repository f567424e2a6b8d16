package mqtt5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/eclipse/paho.golang/packets"
)

// Message is one PUBLISH packet. Its slices are valid until the handler returns.
type Message struct {
	Topic   []byte
	Payload []byte
	Hops    []byte // the user property asked for; nil without it
}

// readSize is one read from the socket: large enough that a burst costs few system calls.
const readSize = 64 << 10

// maxPacket bounds what a broker can make us hold.
const maxPacket = 16 << 20

var errMalformed = errors.New("malformed MQTT packet")

// Read reads until the connection ends. After each read from the socket it calls handle once with all messages that this
// read completed; now is called right after the read, before anything is parsed. QoS 1 messages are acknowledged
// after handle has returned. property names the user property that Message.Hops holds.
//
// It returns net.ErrClosed after Close, and otherwise why the connection ended.
func (c *Conn) Read(property string, now func() int64, handle func(at int64, messages []Message)) error {
	var (
		buf      = make([]byte, readSize)
		filled   int
		messages []Message
		acks     []byte
	)
	for {
		if filled == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
		n, err := c.net.Read(buf[filled:])
		at := now()
		if err != nil {
			return c.reason(err)
		}
		filled += n

		messages, acks = messages[:0], acks[:0]
		used := 0
		for {
			kind, body, size, err := frame(buf[used:filled])
			if err != nil {
				return fmt.Errorf("MQTT broker %s: %w", c.address, err)
			}
			if size == 0 {
				break
			}
			used += size
			switch kind >> 4 {
			case packets.PUBLISH:
				m, id, err := publish(kind, body, property)
				if err != nil {
					return fmt.Errorf("MQTT broker %s: %w", c.address, err)
				}
				messages = append(messages, m)
				if id != 0 {
					acks = append(acks, packets.PUBACK<<4, 2, byte(id>>8), byte(id))
				}
			case packets.DISCONNECT:
				code := byte(0)
				if len(body) > 0 {
					code = body[0]
				}
				return fmt.Errorf("MQTT broker %s ended the connection: %s", c.address, (&packets.Disconnect{ReasonCode: code}).Reason())
			}
		}
		if len(messages) > 0 {
			handle(at, messages)
		}
		if len(acks) > 0 {
			if err := c.write(acks); err != nil {
				return c.reason(err)
			}
		}
		filled = copy(buf, buf[used:filled])
	}
}

func (c *Conn) reason(err error) error {
	select {
	case <-c.closed:
		return net.ErrClosed
	default:
		return fmt.Errorf("MQTT broker %s: the connection ended: %w", c.address, err)
	}
}

// frame finds one packet at the start of b. size is 0 while b does not hold the whole of it.
func frame(b []byte) (kind byte, body []byte, size int, err error) {
	if len(b) < 2 {
		return 0, nil, 0, nil
	}
	length, n := varint(b[1:])
	if n < 0 || length > maxPacket {
		return 0, nil, 0, errMalformed
	}
	if n == 0 || len(b) < 1+n+length {
		return 0, nil, 0, nil
	}
	return b[0], b[1+n : 1+n+length], 1 + n + length, nil
}

// publish takes a PUBLISH apart (MQTT 5, 3.3). id is 0 at QoS 0.
func publish(kind byte, b []byte, property string) (m Message, id uint16, err error) {
	topic, b, ok := field(b)
	if !ok {
		return m, 0, errMalformed
	}
	m.Topic = topic
	switch kind >> 1 & 3 {
	case 0:
	case 1:
		if len(b) < 2 {
			return m, 0, errMalformed
		}
		id, b = binary.BigEndian.Uint16(b), b[2:]
	default:
		return m, 0, fmt.Errorf("%w: QoS 2, which was not subscribed to", errMalformed)
	}
	length, n := varint(b)
	if n <= 0 || len(b) < n+length {
		return m, 0, errMalformed
	}
	properties := b[n : n+length]
	m.Payload = b[n+length:]
	for len(properties) > 0 {
		key, value, rest, ok := next(properties)
		if !ok {
			return m, 0, errMalformed
		}
		if string(key) == property {
			m.Hops = value
		}
		properties = rest
	}
	return m, id, nil
}

// next takes one property of a PUBLISH (MQTT 5, 2.2.2.2) off b; key and value are those of a user property.
func next(b []byte) (key, value, rest []byte, ok bool) {
	identifier, b := b[0], b[1:]
	size := 0
	switch identifier {
	case packets.PropUser:
		if key, b, ok = field(b); !ok {
			return nil, nil, nil, false
		}
		value, b, ok = field(b)
		return key, value, b, ok
	case packets.PropPayloadFormat:
		size = 1
	case packets.PropTopicAlias:
		size = 2
	case packets.PropMessageExpiry:
		size = 4
	case packets.PropSubscriptionIdentifier:
		_, size = varint(b)
	case packets.PropContentType, packets.PropResponseTopic, packets.PropCorrelationData:
		_, b, ok = field(b)
		return nil, nil, b, ok
	}
	if size <= 0 || len(b) < size {
		return nil, nil, nil, false
	}
	return nil, nil, b[size:], true
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
