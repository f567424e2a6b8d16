package mqtt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
	"github.com/eclipse/paho.golang/paho/session"
	"github.com/eclipse/paho.golang/paho/session/state"
)

// dialect5 is MQTT 5. Packets, session state and pings are paho.golang's. Its client isn't used: it can't have several
// publishes wait for their answers and keep them in order, and it throws away messages it has read when it stops.
type dialect5 struct{ session *state.State }

func newDialect5() *dialect5 { return &dialect5{state.NewInMemory()} }

func (d *dialect5) connect(conn *timedConn, h *hello, on listener) (wire, error) {
	w := &wire5{
		conn: conn, out: &packetWriter{Conn: conn}, session: d.session, on: on,
		pinger: paho.NewDefaultPinger(), maxPacket: maxPacket, maxQoS: 2, retain: true,
		inbox: make(chan *packets.Publish, 1), done: make(chan struct{}),
	}
	connect := h.packet()
	_, _ = connect.WriteTo(w.out) // a failure closes the connection
	var raw bytes.Buffer
	reply, err := packets.ReadPacket(io.TeeReader(conn, &raw))
	if err != nil {
		if bytes.HasPrefix(raw.Bytes(), []byte{packets.CONNACK << 4, 2}) { // too short for MQTT 5
			return nil, &refusal{"it speaks MQTT 3.1.1 only", "leave protocol_version out"}
		}
		return nil, w.out.cause(err)
	}
	accepted, ok := reply.Content.(*packets.Connack)
	if !ok {
		return nil, fmt.Errorf("the broker answered CONNECT with %s", reply.PacketType())
	}
	if accepted.ReasonCode >= failed {
		return nil, &refusal{
			reasonText(accepted.ReasonCode, accepted.Properties), refusals5[accepted.ReasonCode],
		}
	}
	keepalive := connect.KeepAlive
	if said := accepted.Properties; said != nil {
		keepalive = given(said.ServerKeepAlive, keepalive) // [MQTT-3.1.2-21]
		w.maxPacket = given(said.MaximumPacketSize, w.maxPacket)
		w.maxQoS = given(said.MaximumQOS, w.maxQoS)
		w.retain = given(said.RetainAvailable, 1) == 1
	}
	// Sends again what an earlier connection of the session left unacknowledged.
	if err := d.session.ConAckReceived(w.out, connect, accepted); err != nil {
		_ = d.session.ConnectionLost(nil)
		return nil, err
	}
	w.start(keepalive)
	return w, nil
}

// failed is the least reason code that reports a failure (MQTT 5, 2.4).
const failed = 0x80

// refusals5 maps reason codes of CONNACK (MQTT 5, 3.2.2.2) to what a script author can do.
var refusals5 = map[byte]string{
	packets.ConnackBadUsernameOrPassword:      changeCredentials,
	packets.ConnackNotAuthorized:              changeCredentials,
	packets.ConnackInvalidClientID:            changeClientID,
	packets.ConnackUnsupportedProtocolVersion: "use a broker that speaks MQTT 5, or leave protocol_version out",
	packets.ConnackServerUnavailable:          changeServer,
	packets.ConnackServerBusy:                 changeServer,
}

func (h *hello) packet() *packets.Connect {
	connect := &packets.Connect{
		ProtocolName: "MQTT", ProtocolVersion: mqtt5, Properties: &packets.Properties{},
		ClientID: h.clientID, CleanStart: h.cleanSession, KeepAlive: uint16(h.keepalive / time.Second),
		UsernameFlag: h.username != "", Username: h.username,
		PasswordFlag: h.password != "", Password: []byte(h.password),
	}
	if !h.cleanSession {
		never := uint32(math.MaxUint32) // as in MQTT 3.1.1 (MQTT 5, 3.1.2.11.2)
		connect.Properties.SessionExpiryInterval = &never
	}
	if will := h.will; will != nil {
		connect.WillFlag, connect.WillTopic, connect.WillMessage = true, will.topic, will.payload
		connect.WillQOS, connect.WillRetain = will.qos, will.retain
		connect.WillProperties = packetProperties(will.user)
	}
	return connect
}

// wire5 is one connection. Its reading goroutine also sends the acknowledgements, as paho's session asks for them.
type wire5 struct {
	conn    *timedConn
	out     *packetWriter
	session *state.State
	on      listener
	pinger  paho.Pinger
	inbox   chan *packets.Publish // what the session hands on; of the reading goroutine alone

	maxPacket uint32 // bytes
	maxQoS    byte
	retain    bool

	done chan struct{} // closed when every message that was read has been handed on
}

func (w *wire5) start(keepalive uint16) {
	pings, stop := context.WithCancel(context.Background())
	w.pinger.PacketSent() // CONNECT and CONNACK
	w.pinger.PacketReceived()
	go func() {
		if err := w.pinger.Run(pings, w.out, keepalive); err != nil {
			w.out.fail(err)
		}
	}()
	go func() {
		err := w.read()
		stop()
		_ = w.conn.Close()
		_ = w.session.ConnectionLost(nil)
		close(w.done)
		w.on.lost(w.out.cause(err))
	}()
}

// read hands on messages until the connection ends.
func (w *wire5) read() error {
	for {
		packet, err := packets.ReadPacket(w.conn)
		if err != nil {
			return err
		}
		w.pinger.PacketReceived()
		switch p := packet.Content.(type) {
		case *packets.Publish:
			w.conn.arrivals.handOn(func(received time.Time) { err = w.receive(packet, p, received) })
			if err != nil {
				return err
			}
		case *packets.Pingresp:
			w.pinger.PingResp()
		case *packets.Disconnect:
			_ = w.session.ConnectionLost(p)
			return fmt.Errorf("the broker ended the connection: %s", reasonText(p.ReasonCode, p.Properties))
		case *packets.Puback, *packets.Pubrec, *packets.Pubrel, *packets.Pubcomp, *packets.Suback, *packets.Unsuback:
			if err := w.session.PacketReceived(packet, nil); err != nil {
				return err
			}
		default:
			return fmt.Errorf("the broker sent %s, which MQTT 5 does not allow there", packet.PacketType())
		}
	}
}

// receive hands a message on and acknowledges it then.
func (w *wire5) receive(packet *packets.ControlPacket, p *packets.Publish, received time.Time) error {
	if p.QoS > 0 {
		if err := w.session.PacketReceived(packet, w.inbox); err != nil {
			return err
		}
		select {
		case p = <-w.inbox:
		default:
			return nil // QoS 2, sent again because the broker missed PUBREC
		}
	}
	w.on.arrived(&incoming{topic: p.Topic, payload: p.Payload, received: received, user: userProperties(p.Properties)})
	if p.QoS > 0 {
		_ = w.session.Ack(p) // a failure to write has ended the connection
	}
	return nil
}

func (w *wire5) disconnect(limit time.Duration) {
	late := time.AfterFunc(limit, func() { _ = w.conn.Close() })
	_, _ = (&packets.Disconnect{Properties: &packets.Properties{}}).WriteTo(w.out)
	late.Stop()
	_ = w.conn.Close()
	<-w.done
}

func (w *wire5) subscribe(filters []string, qos byte) answer {
	p := &packets.Subscribe{Properties: &packets.Properties{}}
	for _, filter := range filters {
		p.Subscriptions = append(p.Subscriptions, packets.SubOptions{Topic: filter, QoS: qos})
	}
	return w.send(p, func(reply any) error {
		ack, ok := reply.(*packets.Suback)
		if !ok {
			return errWrongReply
		}
		return refusedTopics("the subscription to", filters, ack.Reasons, ack.Properties)
	})
}

func (w *wire5) unsubscribe(filters []string) answer {
	p := &packets.Unsubscribe{Properties: &packets.Properties{}, Topics: filters}
	return w.send(p, func(reply any) error {
		ack, ok := reply.(*packets.Unsuback)
		if !ok {
			return errWrongReply
		}
		return refusedTopics("to end the subscription to", filters, ack.Reasons, ack.Properties)
	})
}

func (w *wire5) publish(m *outgoing) answer {
	p := &packets.Publish{
		Topic: m.topic, Payload: m.payload, QoS: m.qos, Retain: m.retain, Properties: packetProperties(m.user),
	}
	switch size := m.packetSize(); {
	case m.qos > w.maxQoS:
		return answered{fmt.Errorf("the broker takes messages of QoS %d at most, this one has %d", w.maxQoS, m.qos)}
	case m.retain && !w.retain:
		return answered{errors.New("the broker keeps no retained messages: leave retain out")}
	case size > int(w.maxPacket):
		return answered{fmt.Errorf("the message makes a packet of %d bytes: %d are allowed", size, w.maxPacket)}
	}
	if m.qos == 0 {
		if _, err := p.WriteTo(w.out); err != nil || w.out.failed() {
			return lostAnswer{}
		}
		w.pinger.PacketSent()
		return answered{}
	}
	return w.send(p, func(reply any) error {
		var code byte
		var reason string
		switch ack := reply.(type) {
		case *packets.Puback:
			code, reason = ack.ReasonCode, reasonText(ack.ReasonCode, ack.Properties)
		case *packets.Pubrec: // of QoS 2, when it refuses
			code, reason = ack.ReasonCode, reasonText(ack.ReasonCode, ack.Properties)
		case *packets.Pubcomp:
			code, reason = ack.ReasonCode, reasonText(ack.ReasonCode, ack.Properties)
		default:
			return errWrongReply
		}
		if code >= failed {
			return fmt.Errorf("the broker refused the message on %s: %s%s", m.topic, reason, advice5(code))
		}
		return nil
	})
}

// send has the session number a packet, which waits while the broker takes no more (MQTT 5, 4.9), and writes it.
func (w *wire5) send(p session.Packet, check func(reply any) error) answer {
	reply := make(chan packets.ControlPacket, 1)
	switch err := w.session.AddToSession(context.Background(), p, reply); {
	case errors.Is(err, session.ErrNoConnection):
		return lostAnswer{}
	case err != nil:
		return answered{err}
	}
	_, _ = p.WriteTo(w.out) // a failure ends the connection, and with it the wait for the answer
	w.pinger.PacketSent()
	return answer5{reply, check}
}

type answer5 struct {
	reply <-chan packets.ControlPacket
	check func(reply any) error
}

func (a answer5) wait(over <-chan struct{}) (bool, error) {
	packet, ok := first(a.reply, over)
	if !ok || packet.Content == nil { // nil: the session has given it up
		<-over
		return false, nil
	}
	return true, a.check(packet.Content)
}

// lostAnswer is that to a call which found the connection broken.
type lostAnswer struct{}

func (lostAnswer) wait(over <-chan struct{}) (bool, error) {
	<-over
	return false, nil
}
