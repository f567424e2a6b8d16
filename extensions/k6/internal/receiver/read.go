package receiver

import (
	"fmt"

	"github.com/eclipse/paho.golang/packets"

	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// Message is one PUBLISH packet. Its slices are valid until the handler returns.
type Message struct {
	Topic   []byte
	Payload []byte
	Hops    []byte // the user property asked for; nil without it, and in MQTT 3.1.1
	socket.Arrival
}

// readSize is one read from the socket: large enough that a burst costs few system calls.
const readSize = 64 << 10

// openIDs are the packet ids of QoS 2 messages that were handed on and that the broker has not released yet (MQTT 5,
// 4.3.3). All ids fit, in 8 KiB.
type openIDs [(receiveMaximum + 1) / 64]uint64

// first notes an id, and tells whether it was not open yet.
func (o *openIDs) first(id uint16) bool {
	word, bit := &o[id/64], uint64(1)<<(id%64)
	isNew := *word&bit == 0
	*word |= bit
	return isNew
}

func (o *openIDs) release(id uint16) { o[id/64] &^= 1 << (id % 64) }

// batch is what one read completed.
type batch struct {
	messages []Message
	ends     []int // of the messages in the buffer
	acks     []byte
	arrivals []socket.Arrival
}

// Read reads until the connection ends. After each read from the socket it calls handle once with all messages that this
// read completed, each with its arrival. Messages are acknowledged after handle has returned; one with QoS 2 is handed on
// once, at its first PUBLISH (MQTT 5, 4.3.3). property names the user property that Message.Hops holds.
//
// Over TLS and WebSocket there is a call for each record or message within the read.
//
// What came before Read is handed on first, and has arrived at the time of the call. Read returns net.ErrClosed after Close,
// ErrTakenOver when another client has our id, and otherwise why the connection ended.
func (c *Conn) Read(property string, handle func(messages []Message)) error {
	c.socket.Watch()
	var b batch
	for known := c.filled; ; {
		used, end := c.parse(&b, property)
		for i := range b.ends {
			b.ends[i] = max(0, b.ends[i]-known)
		}
		b.arrivals = c.socket.Arrivals(b.ends, b.arrivals[:0])
		for i, a := range b.arrivals {
			b.messages[i].Arrival = a
		}
		if len(b.messages) > 0 {
			handle(b.messages)
		}
		if len(b.acks) > 0 {
			_ = c.write(b.acks) // where it fails, what came before the connection broke is still to be read, and the read says how that ended
		}
		if end != nil {
			return end
		}
		c.filled = copy(c.buf, c.buf[used:c.filled])
		known = c.filled
		if err := c.fill(); err != nil {
			return c.reason(err)
		}
	}
}

// parse takes the complete packets at the start of the buffer. end is why the connection ends after them.
func (c *Conn) parse(b *batch, property string) (used int, end error) {
	b.messages, b.ends, b.acks = b.messages[:0], b.ends[:0], b.acks[:0]
	for {
		kind, body, size, err := frame(c.buf[used:c.filled])
		if err != nil {
			return used, c.malformed(err)
		}
		if size == 0 {
			return used, nil
		}
		used += size
		switch kind >> 4 {
		case packets.PUBLISH:
			m, id, err := publish(c.options.Version, kind, body, property)
			if err != nil {
				return used, c.malformed(err)
			}
			switch kind >> 1 & 3 {
			case 1:
				b.acks = append(b.acks, packets.PUBACK<<4, 2, byte(id>>8), byte(id))
			case 2:
				b.acks = append(b.acks, packets.PUBREC<<4, 2, byte(id>>8), byte(id))
				if !c.open.first(id) {
					continue // sent again, because our PUBREC was lost
				}
			}
			b.messages, b.ends = append(b.messages, m), append(b.ends, used)
		case packets.PUBREL:
			id, _, ok := packetID(body)
			if !ok {
				return used, c.malformed(errMalformed)
			}
			c.open.release(id)
			b.acks = append(b.acks, packets.PUBCOMP<<4, 2, byte(id>>8), byte(id))
		case packets.PINGRESP:
		case packets.DISCONNECT:
			return used, c.disconnected(body)
		default:
			return used, fmt.Errorf("MQTT broker %s sent %s, which was not due", c.address, packetName(kind))
		}
	}
}
