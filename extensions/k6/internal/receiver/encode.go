package receiver

import (
	"encoding/binary"
	"time"

	"github.com/eclipse/paho.golang/packets"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
)

func connectPacket(o *Options) mqttwire.Connect {
	hello := mqttwire.Connect{
		Version: o.Version, ClientID: o.ClientID, Username: o.Username, Password: o.Password,
		KeepAlive: uint16(keepAlive / time.Second), Clean: !o.Persistent,
		Properties: binary.BigEndian.AppendUint16([]byte{packets.PropReceiveMaximum}, receiveMaximum),
	}
	if o.Persistent {
		hello.Properties = binary.BigEndian.AppendUint32(append(hello.Properties, packets.PropSessionExpiryInterval), sessionExpiry)
	}
	if o.Status != "" {
		hello.Will = status(o, offline)
		hello.Will.QoS = 1
	}
	return hello
}

// Payloads of a status.
const (
	online  = "online"
	offline = "offline"
)

// offlineExpiry is how long a broker keeps the offline status, in s: each run has its own connections. MQTT
// 3.1.1 has no expiry.
const offlineExpiry = 3600

// status is a retained message at QoS 0, which has no answer.
func status(o *Options, says string) *mqttwire.Publish {
	p := &mqttwire.Publish{Topic: []byte(o.Status), Payload: []byte(says), Retain: true}
	if says == offline {
		p.Properties = binary.BigEndian.AppendUint32([]byte{packets.PropMessageExpiry}, offlineExpiry)
	}
	return p
}

// goodbye publishes that the connection is over and leaves nothing on the broker: an empty retained message
// removes the retained one (3.3.1.3). The message of a will stays.
func goodbye(o *Options) []byte {
	last := status(o, offline)
	last.Retain = false
	return status(o, "").Append(last.Append(nil, o.Version), o.Version)
}

// disconnectPacket is DISCONNECT (3.14), which in MQTT 5 ends a persistent session with the connection (3.14.2.2.2).
func disconnectPacket(o *Options) []byte {
	var properties []byte
	if o.Persistent {
		properties = []byte{packets.PropSessionExpiryInterval, 0, 0, 0, 0}
	}
	return mqttwire.AppendDisconnect(nil, o.Version, 0, properties)
}
