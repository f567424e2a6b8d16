package mqtt

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
)

const (
	// readSize is the most that one read takes off the socket; the messages it completes share a time.
	readSize = 16 << 10
	// writeSize is how many bytes one write gathers, and one packet more.
	writeSize = 64 << 10
	// longestPing is how long a PINGRESP may take, where keepalive is no shorter.
	longestPing = 10 * time.Second
	// quiesce is how long a DISCONNECT may take to be written before the connection is just closed.
	quiesce = 250 * time.Millisecond
)

// listener gets what comes from the network, in that order, from one goroutine.
type listener interface {
	arrived(*incoming)
	// lost comes last, with the reason.
	lost(error)
}

type incoming struct {
	topic    string
	payload  []byte
	received time.Time // when its last byte left the socket
	user     []mqttwire.UserProperty
}

// wire is a connection that the broker has accepted. A goroutine reads: it takes the time after each read, and waits for nobody,
// so that the time is right. Another one writes calls, in the order they were made, and what the reading one has to say.
type wire struct {
	net.Conn
	version  int
	on       listener
	accepted mqttwire.Answer

	buf    []byte // of the stream: the first filled bytes wait to be taken apart
	filled int

	*session             // and its lock, which guards all below
	changed    sync.Cond // there is something to write, or the end has come
	queue      []*call   // not written
	replies    []byte    // acknowledgements and pings, not written
	bye        []byte    // the last packet
	failure    error     // of a write or a ping
	stray      string    // an answer to no call
	sent       time.Time
	heard      time.Time
	pinged     time.Time // when a PINGREQ was sent that has no answer; zero: none
	done       chan struct{}
	writerDone chan struct{}
}

// refusal is a CONNACK that says no.
type refusal struct{ reason, change string }

func (r *refusal) Error() string {
	if r.change == "" {
		return "the broker refused: " + r.reason
	}
	return fmt.Sprintf("the broker refused: %s: %s", r.reason, r.change)
}

// changes is what a script author can do about the reason code of a CONNACK (MQTT 5, 3.2.2.2).
var changes = map[byte]string{
	packets.ConnackBadUsernameOrPassword:      "set username and password in new Client({…}), or check the broker's access rules",
	packets.ConnackNotAuthorized:              "set username and password in new Client({…}), or check the broker's access rules",
	packets.ConnackInvalidClientID:            "set another client_id in new Client({…})",
	packets.ConnackUnsupportedProtocolVersion: "set another protocol_version in new Client({…}), 4 or 5",
	packets.ConnackServerUnavailable:          "it takes no clients now",
	packets.ConnackServerBusy:                 "it takes no clients now",
}

// connectWire says CONNECT and blocks until the broker's CONNACK; closing the connection ends the wait.
func connectWire(conn net.Conn, hello *mqttwire.Connect, s *session, on listener) (*wire, error) {
	w := &wire{
		Conn: conn, version: hello.Version, on: on, session: s, buf: make([]byte, readSize),
		done: make(chan struct{}), writerDone: make(chan struct{}),
	}
	w.changed.L = &s.mu
	if _, err := conn.Write(hello.Append(nil)); err != nil {
		return nil, err
	}
	if err := w.handshake(); err != nil {
		var wrong *mqttwire.Violation
		if errors.As(err, &wrong) {
			if w.version == mqtt5 { // MQTT 5, 4.13.1
				_, _ = conn.Write(mqttwire.AppendDisconnect(nil, w.version, wrong.Code, nil))
			}
			err = fmt.Errorf("%w: %w", errProtocol, err)
		}
		return nil, err
	}
	w.replies = s.begin(w.version, hello.Clean, w.accepted.Present)
	w.sent, w.heard = time.Now(), time.Now()
	keepalive := int(hello.KeepAlive)
	if said := w.accepted.Said.KeepAlive; said >= 0 { // [MQTT-3.2.2-21]
		keepalive = said
	}
	go w.write()
	go w.read()
	if keepalive > 0 {
		go w.ping(time.Duration(keepalive) * time.Second)
	}
	return w, nil
}

var errProtocol = errors.New("the broker breaks the protocol")

func (w *wire) handshake() error {
	for {
		kind, body, size, err := mqttwire.Frame(w.buf[:w.filled], mqttwire.MaxRemaining)
		if err != nil {
			return err
		}
		if size == 0 {
			if err := w.fill(); err != nil {
				return err
			}
			continue
		}
		if kind>>4 != packets.CONNACK {
			return mqttwire.ProtocolError("it answered CONNECT with %s", mqttwire.Name(kind)) // [MQTT-3.2.0-1]
		}
		if w.accepted, err = mqttwire.ReadAnswer(w.version, kind, body); err != nil {
			return err
		}
		w.filled = copy(w.buf, w.buf[size:w.filled]) // messages of a session may follow at once
		switch a := &w.accepted; {
		case a.Old && w.version == mqtt5:
			return &refusal{"it speaks MQTT 3.1.1 only", "leave protocol_version out"}
		case a.Refused():
			return &refusal{a.Said.Words(a.Code), changes[a.Code]}
		}
		return nil
	}
}

// fill reads more of the stream into the buffer.
func (w *wire) fill() error {
	if w.filled == len(w.buf) {
		w.buf = append(w.buf, make([]byte, len(w.buf))...)
	}
	n, err := w.Read(w.buf[w.filled:])
	w.filled += n
	if n > 0 {
		return nil // an error comes again
	}
	return err
}

// read hands on messages until the connection ends.
func (w *wire) read() {
	err := w.packets()
	var wrong *mqttwire.Violation
	if errors.As(err, &wrong) {
		err = fmt.Errorf("%w: %w", errProtocol, err)
		if w.version == mqtt5 { // MQTT 5, 4.13.1; 4.8 of 3.1.1 has the connection closed
			w.leave(wrong.Code)
		}
	}
	_ = w.Close()
	w.mu.Lock()
	if w.failure == nil {
		w.failure = err
	} else if wrong == nil {
		err = w.failure
	}
	w.changed.Broadcast()
	w.mu.Unlock()
	<-w.writerDone
	close(w.done)
	w.on.lost(err)
}

func (w *wire) packets() error {
	for received := time.Now(); ; received = time.Now() {
		used := 0
		for {
			kind, body, size, err := mqttwire.Frame(w.buf[used:w.filled], mqttwire.MaxRemaining)
			if err != nil {
				return err
			}
			if size == 0 {
				break
			}
			used += size
			if err := w.take(kind, body, received); err != nil {
				return err
			}
		}
		w.filled = copy(w.buf, w.buf[used:w.filled])
		if w.filled == 0 && len(w.buf) > writeSize {
			w.buf = make([]byte, readSize) // it was for a large message
		}
		if err := w.fill(); err != nil {
			return err
		}
		w.mu.Lock()
		w.heard = time.Now()
		w.mu.Unlock()
	}
}

// take takes one packet.
func (w *wire) take(kind byte, body []byte, received time.Time) error {
	switch kind >> 4 {
	case packets.PUBLISH:
		p, err := mqttwire.ReadPublish(w.version, kind, body)
		if err == nil {
			w.message(&p, received)
		}
		return err
	case packets.PINGRESP:
		w.mu.Lock()
		w.pinged = time.Time{}
		w.mu.Unlock()
		return nil
	case packets.PUBACK, packets.PUBREC, packets.PUBREL, packets.PUBCOMP, packets.SUBACK, packets.UNSUBACK:
		a, err := mqttwire.ReadAnswer(w.version, kind, body)
		if err == nil {
			err = w.answer(&a)
		}
		return err
	case packets.DISCONNECT:
		if w.version == mqtt5 { // in 3.1.1 it is the client's alone
			a, err := mqttwire.ReadAnswer(w.version, kind, body)
			if err == nil {
				err = fmt.Errorf("the broker ended the connection: %s", a.Said.Words(a.Code))
			}
			return err
		}
	}
	return mqttwire.ProtocolError("%s is not due", mqttwire.Name(kind))
}

// message hands a message on and acknowledges it then.
func (w *wire) message(p *mqttwire.Publish, received time.Time) {
	if p.QoS < 2 || w.handedOn.Add(p.ID) { // else it came before, and the broker missed PUBREC (MQTT 5, 4.3.3)
		w.on.arrived(&incoming{
			topic: string(p.Topic), payload: slices.Clone(p.Payload), received: received,
			user: mqttwire.UserProperties(slices.Clone(p.Properties)),
		})
	}
	if p.QoS > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.reply(mqttwire.AppendAck(w.replies, [...]byte{0, packets.PUBACK, packets.PUBREC}[p.QoS], p.ID))
	}
}

func (w *wire) reply(b []byte) {
	w.replies = b
	w.changed.Signal()
}

func (w *wire) answer(a *mqttwire.Answer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	kind := a.Kind >> 4
	if kind == packets.PUBREL {
		w.handedOn.Remove(a.ID)
		w.reply(mqttwire.AppendAck(w.replies, packets.PUBCOMP, a.ID)) // of an unknown one too [MQTT-4.3.3-11]
		return nil
	}
	c := w.waiting[a.ID]
	if c == nil {
		w.stray = fmt.Sprintf(": the broker sent %s for the packet id %d, which no call has", name(kind), a.ID)
		if kind == packets.PUBREC { // or the broker keeps it
			w.reply(mqttwire.AppendAck(w.replies, packets.PUBREL, a.ID))
		}
		return nil
	}
	reply, err := w.answered(c, a, w.version)
	w.reply(append(w.replies, reply...)) // at least, there may be room for another call
	return err
}
