package receiver

import (
	"encoding/binary"
	"time"

	"github.com/eclipse/paho.golang/packets"
)

// maxField is the longest string or binary (MQTT 5, 1.5.4).
const maxField = 65535

// connectPacket is CONNECT (3.1).
func connectPacket(o *Options) []byte {
	flags := byte(0)
	if !o.Persistent {
		flags |= 0x02 // clean session; clean start in MQTT 5
	}
	if o.Username != "" {
		flags |= 0x80
	}
	if o.Password != "" {
		flags |= 0x40
	}
	if o.Status != "" {
		flags |= 0x20 | 1<<3 | 0x04 // a will, retained, at QoS 1
	}
	b := appendField(nil, "MQTT")
	b = append(b, byte(o.Version), flags)
	b = binary.BigEndian.AppendUint16(b, uint16(keepAlive/time.Second))
	if o.Version == version5 {
		properties := []byte{packets.PropReceiveMaximum}
		properties = binary.BigEndian.AppendUint16(properties, receiveMaximum)
		if o.Persistent {
			properties = append(properties, packets.PropSessionExpiryInterval)
			properties = binary.BigEndian.AppendUint32(properties, sessionExpiry)
		}
		b = append(appendVarint(b, len(properties)), properties...)
	}
	b = appendField(b, o.ClientID)
	if o.Status != "" {
		if o.Version == version5 {
			properties := statusProperties(offline)
			b = append(appendVarint(b, len(properties)), properties...)
		}
		b = appendField(appendField(b, o.Status), offline)
	}
	if o.Username != "" {
		b = appendField(b, o.Username)
	}
	if o.Password != "" {
		b = appendField(b, o.Password)
	}
	return packet(packets.CONNECT<<4, b)
}

// What a status says.
const (
	online  = "online"
	offline = "offline"
)

// offlineExpiry is how long a broker keeps the word that a connection is gone, in s: each run has connections of its own.
// MQTT 3.1.1 can't say it.
const offlineExpiry = 3600

// statusProperties are those of a PUBLISH and of a will (3.3.2.3, 3.1.3.2).
func statusProperties(status string) []byte {
	if status != offline {
		return nil
	}
	return binary.BigEndian.AppendUint32([]byte{packets.PropMessageExpiry}, offlineExpiry)
}

// goodbyePackets tell who watches that the connection is over, and leave nothing at the broker: an empty retained message removes the one
// that is there (3.3.1.3). What a will says stays.
func goodbyePackets(o *Options) []byte {
	return append(statusPacket(o, offline, 0), statusPacket(o, "", retained)...)
}

// retained is a flag of PUBLISH.
const retained = 1

// statusPacket is a PUBLISH at QoS 0 (3.3), which has no answer.
func statusPacket(o *Options, status string, flags byte) []byte {
	b := appendField(nil, o.Status)
	if o.Version == version5 {
		properties := statusProperties(status)
		b = append(appendVarint(b, len(properties)), properties...)
	}
	return packet(packets.PUBLISH<<4|flags, append(b, status...))
}

// subscribePacket is SUBSCRIBE (3.8).
func subscribePacket(version int, id uint16, topics []string, qos byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, id)
	if version == version5 {
		b = append(b, 0) // no properties
	}
	for _, t := range topics {
		b = append(appendField(b, t), qos)
	}
	return packet(packets.SUBSCRIBE<<4|2, b)
}

// disconnectPacket is DISCONNECT (3.14), which in MQTT 5 ends a persistent session with the connection (3.14.2.2.2).
func disconnectPacket(o *Options) []byte {
	if o.Version == version5 && o.Persistent {
		return packet(packets.DISCONNECT<<4, []byte{0, 5, packets.PropSessionExpiryInterval, 0, 0, 0, 0})
	}
	return packet(packets.DISCONNECT<<4, nil)
}

func packet(first byte, body []byte) []byte {
	return append(appendVarint([]byte{first}, len(body)), body...)
}

func appendField(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

func appendVarint(b []byte, n int) []byte {
	for n >= 0x80 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n))
}
