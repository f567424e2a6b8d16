package mqtt

import (
	"encoding/binary"
	"errors"

	"github.com/eclipse/paho.golang/packets"
)

// Connect is CONNECT (3.1).
type Connect struct {
	Version                      int
	ClientID, Username, Password string
	KeepAlive                    uint16 // s
	Clean                        bool   // session; start in MQTT 5
	Will                         *Publish
	Properties                   []byte // MQTT 5 only
}

// UseCredentials takes the credentials of a broker's address, if CONNECT has none.
func (c *Connect) UseCredentials(a Address) {
	if c.Username == "" && c.Password == "" {
		c.Username, c.Password = a.Username, a.Password
	}
}

// Append adds the packet to b.
func (c *Connect) Append(b []byte) []byte {
	flags := byte(0)
	if c.Clean {
		flags |= 0x02
	}
	if c.Will != nil {
		flags |= 0x04 | c.Will.QoS<<3
		if c.Will.Retain {
			flags |= 0x20
		}
	}
	if c.Password != "" {
		flags |= 0x40
	}
	if c.Username != "" {
		flags |= 0x80
	}
	body := append(appendField(nil, "MQTT"), byte(c.Version), flags)
	body = binary.BigEndian.AppendUint16(body, c.KeepAlive)
	body = appendField(appendProperties(body, c.Version, c.Properties), c.ClientID)
	if c.Will != nil {
		body = appendProperties(body, c.Version, c.Will.Properties)
		body = appendField(appendField(body, c.Will.Topic), c.Will.Payload)
	}
	if c.Username != "" {
		body = appendField(body, c.Username)
	}
	if c.Password != "" {
		body = appendField(body, c.Password)
	}
	return appendPacket(b, packets.CONNECT<<4, body)
}

// remaining is the length after the fixed header.
func (p *Publish) remaining(version int) int {
	n := 2 + len(p.Topic) + len(p.Payload)
	if p.QoS > 0 {
		n += 2
	}
	if version == Version5 {
		n += len(binary.AppendUvarint(make([]byte, 0, 4), uint64(len(p.Properties)))) + len(p.Properties)
	}
	return n
}

// Size is the length of the packet.
func (p *Publish) Size(version int) int {
	n := p.remaining(version)
	return 1 + len(binary.AppendUvarint(make([]byte, 0, 4), uint64(n))) + n
}

// Append adds the packet to b.
func (p *Publish) Append(b []byte, version int) []byte {
	first := byte(packets.PUBLISH<<4) | p.QoS<<1
	if p.Dup {
		first |= 8
	}
	if p.Retain {
		first |= 1
	}
	b = binary.AppendUvarint(append(b, first), uint64(p.remaining(version))) // MQTT has the same encoding, 1.5.5
	b = appendField(b, p.Topic)
	if p.QoS > 0 {
		b = binary.BigEndian.AppendUint16(b, p.ID)
	}
	return append(appendProperties(b, version, p.Properties), p.Payload...)
}

// AppendSubscribe adds SUBSCRIBE (3.8).
func AppendSubscribe(b []byte, version int, id uint16, topics []string, qos byte) []byte {
	return appendTopics(b, version, packets.SUBSCRIBE<<4|2, id, topics, qos)
}

// AppendUnsubscribe adds UNSUBSCRIBE (3.10).
func AppendUnsubscribe(b []byte, version int, id uint16, topics []string) []byte {
	return appendTopics(b, version, packets.UNSUBSCRIBE<<4|2, id, topics)
}

func appendTopics(b []byte, version int, first byte, id uint16, topics []string, options ...byte) []byte {
	body := appendProperties(binary.BigEndian.AppendUint16(nil, id), version, nil)
	for _, t := range topics {
		body = append(appendField(body, t), options...)
	}
	return appendPacket(b, first, body)
}

// AppendAck adds PUBACK, PUBREC, PUBREL or PUBCOMP.
func AppendAck(b []byte, kind byte, id uint16) []byte {
	first := kind << 4
	if kind == packets.PUBREL {
		first |= 2 // [MQTT-3.6.1-1]
	}
	return append(b, first, 2, byte(id>>8), byte(id))
}

// AppendPing adds PINGREQ (3.12).
func AppendPing(b []byte) []byte { return append(b, packets.PINGREQ<<4, 0) }

// AppendDisconnect adds DISCONNECT (3.14), which has no code in 3.1.1.
func AppendDisconnect(b []byte, version int, code byte, properties []byte) []byte {
	switch {
	case version == Version311 || code == 0 && len(properties) == 0:
		return append(b, packets.DISCONNECT<<4, 0)
	case len(properties) == 0:
		return append(b, packets.DISCONNECT<<4, 1, code)
	}
	return appendPacket(b, packets.DISCONNECT<<4, appendProperties([]byte{code}, version, properties))
}

// DisconnectFor returns the DISCONNECT that answers a Violation (MQTT 5, 4.13.1). It is nil for other errors and in
// 3.1.1, where the client only closes the connection (4.8).
func DisconnectFor(version int, err error) []byte {
	wrong := new(Violation)
	if version == Version311 || !errors.As(err, &wrong) {
		return nil
	}
	return AppendDisconnect(nil, version, wrong.Code, nil)
}

func appendPacket(b []byte, first byte, body []byte) []byte {
	return append(binary.AppendUvarint(append(b, first), uint64(len(body))), body...)
}

func appendProperties(b []byte, version int, properties []byte) []byte {
	if version == Version311 {
		return b
	}
	return append(binary.AppendUvarint(b, uint64(len(properties))), properties...)
}

func appendField[T string | []byte](b []byte, s T) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}
