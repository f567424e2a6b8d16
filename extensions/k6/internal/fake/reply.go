package fake

import (
	"bytes"

	"github.com/eclipse/paho.golang/packets"
)

// Reply is the answer of a broker of MQTT 5 that accepts everything; nil for other packets than CONNECT, SUBSCRIBE and
// PINGREQ.
func Reply(to *packets.ControlPacket) []byte {
	var answer *packets.ControlPacket
	switch p := to.Content.(type) {
	case *packets.Connect:
		answer = packets.NewControlPacket(packets.CONNACK)
	case *packets.Pingreq:
		answer = packets.NewControlPacket(packets.PINGRESP)
	case *packets.Subscribe:
		granted := &packets.Suback{PacketID: p.PacketID, Properties: &packets.Properties{}}
		for _, s := range p.Subscriptions {
			granted.Reasons = append(granted.Reasons, s.QoS)
		}
		answer = &packets.ControlPacket{FixedHeader: packets.FixedHeader{Type: packets.SUBACK}, Content: granted}
	default:
		return nil
	}
	var b bytes.Buffer
	_, _ = answer.WriteTo(&b) // into memory
	return b.Bytes()
}
