package mqtt

import (
	"time"

	"github.com/eclipse/paho.golang/packets"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// Message is one PUBLISH packet. Its slices are valid until the handler returns.
type Message struct {
	Topic   []byte
	Payload []byte
	Hops    []byte // the user property asked for; nil without it, and in MQTT 3.1.1
	// Properties are the properties of the packet, for mqtt; MQTT 3.1.1 has none.
	Properties []byte
	socket.Arrival
}

// readSize is one read from the socket: large enough that a burst costs few system calls.
const readSize = 64 << 10

// maxPacket bounds the memory that a broker can make us use.
const maxPacket = 16 << 20

// batch is what one read completed.
type batch struct {
	messages []Message
	ends     []int // where each message ends in the buffer
	acks     []byte
	arrivals []socket.Arrival
}

// Read reads until the connection ends. After each read from the socket it calls handle once with all messages
// that this read completed, each with its arrival. It acknowledges messages after handle has returned; one with
// QoS 2 is handed on once, at its first PUBLISH (MQTT 5, 4.3.3). property names the user property that
// Message.Hops holds.
//
// Over TLS and WebSocket there is a call for each record or message within the read.
//
// Messages that came before Read are handed on first; their arrival is the time of the call. Read returns
// net.ErrClosed after Close, ErrTakenOver when another client has our id, and otherwise the cause of the end.
func (c *Subscriber) Read(property string, handle func(messages []Message)) error {
	c.socket.Watch()
	var b batch
	for known := c.conn.In.Held; ; {
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
			c.waits.Store(int64(time.Since(began)))
			_ = c.write(b.acks) // if it fails, Read still reads what came before, and returns the cause
		}
		if end != nil {
			return c.violated(end)
		}
		c.conn.In.Drop(0, used)
		known = c.conn.In.Held
		if err := c.fill(); err != nil {
			return c.reason(err)
		}
	}
}

// parse parses the complete packets at the start of the buffer. end is the cause if they end the connection.
func (c *Subscriber) parse(b *batch, property string) (used int, end error) {
	b.messages, b.ends, b.acks = b.messages[:0], b.ends[:0], b.acks[:0]
	for {
		kind, body, size, err := c.conn.In.At(used)
		if err != nil {
			return used, err
		}
		if size == 0 {
			return used, nil
		}
		used += size
		switch kind >> 4 {
		case packets.PUBLISH:
			p, err := mqtt.ReadPublish(c.conn.Version, kind, body)
			if err != nil {
				return used, err
			}
			switch p.QoS {
			case 1:
				b.acks = mqtt.AppendAck(b.acks, packets.PUBACK, p.ID)
			case 2:
				b.acks = mqtt.AppendAck(b.acks, packets.PUBREC, p.ID)
				if !c.open.Add(p.ID) {
					continue // repeated, because our PUBREC was lost
				}
			}
			m := Message{Topic: p.Topic, Payload: p.Payload, Hops: mqtt.FindUserProperty(p.Properties, property),
				Properties: p.Properties}
			b.messages, b.ends = append(b.messages, m), append(b.ends, used)
		case packets.PUBREL:
			a, err := mqtt.ReadAnswer(c.conn.Version, kind, body)
			if err != nil {
				return used, err
			}
			c.open.Remove(a.ID)
			b.acks = mqtt.AppendAck(b.acks, packets.PUBCOMP, a.ID)
		case packets.PINGRESP:
		case packets.DISCONNECT:
			return used, c.disconnected(kind, body)
		default:
			return used, mqtt.ProtocolError("%s is not due", mqtt.Name(kind))
		}
	}
}

// fill reads more of the stream into the buffer.
func (c *Subscriber) fill() error {
	c.waits.Store(int64(time.Since(began)))
	err := c.conn.Fill()
	c.waits.Store(0)
	return err
}
