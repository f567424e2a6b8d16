package receiver

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/eclipse/paho.golang/packets"
)

// maxEarly bounds the messages that are held while the broker has yet to answer a SUBSCRIBE.
const maxEarly = 64 << 20

// handshake sends CONNECT and takes CONNACK (3.2).
func (c *Conn) handshake() error {
	if err := c.write(connectPacket(&c.options)); err != nil {
		return fmt.Errorf("MQTT broker %s: %w", c.address, err)
	}
	for {
		kind, body, size, err := frame(c.buf[:c.filled])
		if err != nil {
			return c.malformed(err)
		}
		if size == 0 {
			if err := c.fill(); err != nil {
				return fmt.Errorf("MQTT broker %s did not answer CONNECT: %w", c.address, err)
			}
			continue
		}
		if kind != packets.CONNACK<<4 {
			return fmt.Errorf("MQTT broker %s answered CONNECT with %s", c.address, packetName(kind))
		}
		err = c.connack(body)
		c.filled = copy(c.buf, c.buf[size:c.filled]) // messages of a session may follow at once
		return err
	}
}

func (c *Conn) connack(body []byte) error {
	if len(body) < 2 {
		return c.malformed(errMalformed)
	}
	var told properties
	// A broker that does not know MQTT 5 refuses it in the form of its own version: without properties.
	if c.options.Version == version5 && len(body) > 2 {
		bytes, _, ok := block(body[2:])
		if !ok || !told.read(bytes) {
			return c.malformed(errMalformed)
		}
	}
	if code := body[1]; code != 0 {
		err := refused(connackWords, c.options.Version, code, told.reason)
		if isAboutUser(c.options.Version, code) {
			return fmt.Errorf("MQTT broker %s refused user %q: %w", c.address, c.options.Username, err)
		}
		return fmt.Errorf("MQTT broker %s refused the connection: %w", c.address, err)
	}
	c.present = body[0]&1 != 0
	if told.hasKeepAlive { // [MQTT-3.2.2-21]
		c.keepAlive = time.Duration(told.keepAlive) * time.Second
	}
	return nil
}

// Subscribe subscribes to topic filters, wildcards and shared ones ($share/group/filter) among them, at a QoS and waits
// for the broker's word on each. It must come before Read. Messages that come meanwhile are handed on by Read.
func (c *Conn) Subscribe(ctx context.Context, topics []string, qos byte) error {
	for _, t := range topics {
		if t == "" || len(t) > maxField {
			return fmt.Errorf("a topic to subscribe to has %d bytes; allowed: 1 to %d", len(t), maxField)
		}
	}
	ctx, cancel := limit(ctx)
	defer cancel()
	return c.exchange(ctx, "SUBSCRIBE", func() error {
		c.packetID = c.packetID%0xffff + 1
		if err := c.write(subscribePacket(c.options.Version, c.packetID, topics, qos)); err != nil {
			return fmt.Errorf("MQTT broker %s: %w", c.address, err)
		}
		return c.suback(topics, qos)
	})
}

// suback reads until the broker answers a SUBSCRIBE. Messages may come before (MQTT 5, 3.8.4): retained ones, those of
// topics that are subscribed to already, and those of a session that is resumed. They stay where they are, for Read.
func (c *Conn) suback(topics []string, qos byte) error {
	for at := 0; ; {
		kind, body, size, err := frame(c.buf[at:c.filled])
		switch {
		case err != nil:
			return c.malformed(err)
		case size == 0:
			if c.filled > maxEarly {
				return fmt.Errorf("MQTT broker %s sent more than %d MiB of messages before it answered SUBSCRIBE",
					c.address, maxEarly>>20)
			}
			if err := c.fill(); err != nil {
				return fmt.Errorf("MQTT broker %s did not answer SUBSCRIBE: %w", c.address, err)
			}
			continue
		}
		switch kind >> 4 {
		case packets.SUBACK:
			err := c.granted(body, topics, qos)
			c.filled = at + copy(c.buf[at:], c.buf[at+size:c.filled])
			return err
		case packets.PUBLISH, packets.PUBREL, packets.PINGRESP:
			at += size
		case packets.DISCONNECT:
			return c.disconnected(body)
		default:
			return fmt.Errorf("MQTT broker %s answered SUBSCRIBE with %s", c.address, packetName(kind))
		}
	}
}

// granted checks a SUBACK (3.9).
func (c *Conn) granted(body []byte, topics []string, qos byte) error {
	if len(body) < 2 || binary.BigEndian.Uint16(body) != c.packetID {
		return c.malformed(errMalformed)
	}
	codes := body[2:]
	var told properties
	if c.options.Version == version5 {
		bytes, rest, ok := block(codes)
		if !ok || !told.read(bytes) {
			return c.malformed(errMalformed)
		}
		codes = rest
	}
	if len(codes) != len(topics) {
		return c.malformed(errMalformed)
	}
	for i, code := range codes {
		if code >= 0x80 {
			return fmt.Errorf("MQTT broker %s refused the subscription to %s: %w",
				c.address, topics[i], refused(subackWords, c.options.Version, code, told.reason))
		}
		if code < qos {
			return fmt.Errorf("MQTT broker %s: %w", c.address, &refusal{fmt.Sprintf(
				"it grants QoS %d on %s, less than the %d that was asked for: use QoS %d", code, topics[i], qos, code), true})
		}
	}
	return nil
}

// disconnected is the end that a DISCONNECT from the broker makes (MQTT 5, 3.14).
func (c *Conn) disconnected(body []byte) error {
	code := byte(0)
	var told properties
	if len(body) > 0 {
		code = body[0]
	}
	if len(body) > 1 {
		if bytes, _, ok := block(body[1:]); ok {
			told.read(bytes) // the reason is for reading only: the connection has ended anyway
		}
	}
	if code == packets.DisconnectSessionTakenOver {
		return fmt.Errorf("MQTT broker %s ended the connection: %w", c.address, ErrTakenOver)
	}
	return fmt.Errorf("MQTT broker %s ended the connection: %w", c.address, refused(nil, version5, code, told.reason))
}

func (c *Conn) malformed(err error) error { return fmt.Errorf("MQTT broker %s: %w", c.address, err) }

// fill reads more of the stream into the buffer.
func (c *Conn) fill() error {
	if c.filled == len(c.buf) {
		c.buf = append(c.buf, make([]byte, len(c.buf))...)
	}
	c.reads.Add(1)
	n, err := c.net.Read(c.buf[c.filled:])
	c.reads.Add(1)
	c.filled += n
	if n > 0 {
		c.heard.Store(time.Now().UnixNano())
		return nil // an error comes again
	}
	return err
}
