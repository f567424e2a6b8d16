package mqtt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/eclipse/paho.golang/packets"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
)

// maxEarly bounds the messages that are held until the broker answers a SUBSCRIBE.
const maxEarly = 64 << 20

// Subscribe subscribes to topic filters, including wildcards and shared ones ($share/group/filter), at a QoS,
// and waits for the broker's answer to each. Call it before Read, which hands on messages that come meanwhile.
func (c *Subscriber) Subscribe(ctx context.Context, topics []string, qos byte) error {
	for _, t := range topics {
		if t == "" || len(t) > mqtt.MaxField {
			return fmt.Errorf("a topic to subscribe to has %d bytes; allowed: 1 to %d", len(t), mqtt.MaxField)
		}
	}
	ctx, cancel := mqtt.Within(ctx, connectTimeout)
	defer cancel()
	return c.exchange(ctx, "SUBSCRIBE", func() error {
		c.packetID = c.packetID%0xffff + 1
		if err := c.write(mqtt.AppendSubscribe(nil, c.conn.Version, c.packetID, topics, qos)); err != nil {
			return fmt.Errorf("MQTT broker %s: %w", c.conn.Host, err)
		}
		return c.suback(topics, qos)
	})
}

// suback reads until the broker answers a SUBSCRIBE. Messages may come first (MQTT 5, 3.8.4): retained ones,
// and those of existing subscriptions or a resumed session. They stay in the buffer for Read.
func (c *Subscriber) suback(topics []string, qos byte) error {
	for at := 0; ; {
		kind, body, size, err := c.conn.In.At(at)
		switch {
		case err != nil:
			return c.violated(err)
		case size == 0:
			if c.conn.In.Held > maxEarly {
				return fmt.Errorf("MQTT broker %s sent more than %d MiB of messages before it answered SUBSCRIBE",
					c.conn.Host, maxEarly>>20)
			}
			if err := c.fill(); err != nil {
				return fmt.Errorf("MQTT broker %s did not answer SUBSCRIBE: %w", c.conn.Host, err)
			}
			continue
		}
		switch kind >> 4 {
		case packets.SUBACK:
			err := c.granted(kind, body, topics, qos)
			c.conn.In.Drop(at, size)
			return err
		case packets.PUBLISH, packets.PUBREL, packets.PINGRESP:
			at += size
		case packets.DISCONNECT:
			return c.violated(c.disconnected(kind, body))
		default:
			return fmt.Errorf("MQTT broker %s answered SUBSCRIBE with %s", c.conn.Host, mqtt.Name(kind))
		}
	}
}

// granted checks a SUBACK (3.9).
func (c *Subscriber) granted(kind byte, body []byte, topics []string, qos byte) error {
	a, err := mqtt.ReadAnswer(c.conn.Version, kind, body)
	if err == nil && a.ID != c.packetID {
		err = mqtt.ProtocolError("SUBACK has the packet id %d; SUBSCRIBE had %d", a.ID, c.packetID)
	}
	if err == nil {
		err = a.CheckCodes(c.conn.Version, len(topics))
	}
	if err != nil {
		return c.violated(err)
	}
	if c.conn.Version == mqtt.Version311 {
		a.Properties.Reason = "no reason given; is the user allowed to read this topic?"
	}
	for i, code := range a.Codes {
		if code >= mqtt.Failed {
			return fmt.Errorf("MQTT broker %s refused the subscription to %s: %w",
				c.conn.Host, topics[i], &mqtt.ReasonError{Code: code, Text: a.Properties.Text(code)})
		}
		if code < qos {
			return fmt.Errorf("MQTT broker %s: %w", c.conn.Host, &mqtt.ReasonError{Text: fmt.Sprintf(
				"it grants QoS %d on %s, less than the %d that was asked for: use QoS %d",
				code, topics[i], qos, code)})
		}
	}
	return nil
}

// disconnected is the error for a DISCONNECT from the broker (MQTT 5, 3.14).
func (c *Subscriber) disconnected(kind byte, body []byte) error {
	a, err := mqtt.ReadAnswer(c.conn.Version, kind, body)
	if err != nil {
		return err
	}
	if a.Code == packets.DisconnectSessionTakenOver {
		return fmt.Errorf("MQTT broker %s ended the connection: %w", c.conn.Host, ErrTakenOver)
	}
	return fmt.Errorf("MQTT broker %s ended the connection: %w", c.conn.Host, a.Err())
}

// violated ends the connection after a protocol violation of the broker, with the reason code of MQTT 5
// (4.13.1).
func (c *Subscriber) violated(err error) error {
	var wrong *mqtt.Violation
	if !errors.As(err, &wrong) {
		return err
	}
	if disconnect := mqtt.DisconnectFor(c.conn.Version, err); disconnect != nil {
		c.end(disconnect)
	}
	return fmt.Errorf("MQTT broker %s: %w", c.conn.Host, err)
}

// ErrTakenOver means that another client has connected with the same client id. Only MQTT 5 reports it, and not
// every broker (Mosquitto since 2.0.15); otherwise it looks like a lost connection.
var ErrTakenOver = errors.New("session taken over: another client has connected with our client id")

func connectPacket(o *SubscriberOptions) mqtt.Connect {
	hello := mqtt.Connect{
		Version: o.Version, ClientID: o.ClientID, Username: o.Username, Password: o.Password,
		KeepAlive: uint16(keepAlive / time.Second), Clean: !o.Persistent,
		Properties: binary.BigEndian.AppendUint16([]byte{packets.PropReceiveMaximum}, receiveMaximum),
	}
	if o.Persistent {
		hello.Properties = append(hello.Properties, packets.PropSessionExpiryInterval)
		hello.Properties = binary.BigEndian.AppendUint32(hello.Properties, sessionExpiry)
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
func status(o *SubscriberOptions, says string) *mqtt.Publish {
	p := &mqtt.Publish{Topic: []byte(o.Status), Payload: []byte(says), Retain: true}
	if says == offline {
		p.Properties = binary.BigEndian.AppendUint32([]byte{packets.PropMessageExpiry}, offlineExpiry)
	}
	return p
}

// goodbye publishes that the connection is over and leaves nothing on the broker: an empty retained message
// removes the retained one (3.3.1.3). The message of a will stays.
func goodbye(o *SubscriberOptions) []byte {
	last := status(o, offline)
	last.Retain = false
	return status(o, "").Append(last.Append(nil, o.Version), o.Version)
}

// disconnectPacket is DISCONNECT (3.14), which in MQTT 5 ends a persistent session with the connection (3.14.2.2.2).
func disconnectPacket(o *SubscriberOptions) []byte {
	var properties []byte
	if o.Persistent {
		properties = []byte{packets.PropSessionExpiryInterval, 0, 0, 0, 0}
	}
	return mqtt.AppendDisconnect(nil, o.Version, 0, properties)
}
