package mqtt

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
)

const (
	// readSize is the largest read from the socket. All messages that a read completes have the same time.
	readSize = 16 << 10
	// writeSize is how many bytes one write gathers, and one packet more.
	writeSize = 64 << 10
	// longestPing is how long the answer to a ping may take, where keepalive is no shorter.
	longestPing = 10 * time.Second
	// quiesce is how long a DISCONNECT may take to be written before the connection is just closed.
	quiesce = 250 * time.Millisecond
)

// listener receives the messages of a connection in order, from one goroutine, and then its end.
type listener interface {
	arrived(*incoming)
	lost(reason error)
}

type incoming struct {
	topic    string
	payload  []byte
	received time.Time // when its last byte left the socket
	user     []mqtt.UserProperty
}

// wire is a connection that the broker has accepted. One goroutine reads and takes the time after each read; it
// never waits for others, so the time is right. Another one writes calls in the order they were made, and the
// replies of the reader.
type wire struct {
	net.Conn
	version  int
	on       listener
	accepted mqtt.Answer

	in mqtt.Buffer

	*session             // its lock guards all fields below
	changed    sync.Cond // there is something to write, or the connection is over
	queue      []*call   // not written
	replies    []byte    // acknowledgements and pings, not written
	bye        []byte    // the last packet
	failure    error     // of a write or a ping
	stray      string    // an answer to no call
	sent       time.Time
	heard      time.Time
	alive      mqtt.Alive
	done       chan struct{}
	writerDone chan struct{}
}

// refusal is a CONNACK that refuses the connection.
type refusal struct{ reason, change string }

func (r *refusal) Error() string {
	if r.change == "" {
		return "the broker refused: " + r.reason
	}
	return fmt.Sprintf("the broker refused: %s: %s", r.reason, r.change)
}

const setUser = "set username and password in new Client({…}), or check the broker's access rules"

// changes is what a script author can do about the reason code of a CONNACK (MQTT 5, 3.2.2.2).
var changes = map[byte]string{
	packets.ConnackBadUsernameOrPassword:      setUser,
	packets.ConnackNotAuthorized:              setUser,
	packets.ConnackInvalidClientID:            "set another client_id in new Client({…})",
	packets.ConnackUnsupportedProtocolVersion: "set another protocol_version in new Client({…}), 4 or 5",
	packets.ConnackServerUnavailable:          "it takes no clients now",
	packets.ConnackServerBusy:                 "it takes no clients now",
}

// connectWire sends CONNECT and blocks until the broker's CONNACK; closing the connection ends the wait. Call start or
// Close next.
func connectWire(conn net.Conn, hello *mqtt.Connect, s *session) (*wire, error) {
	w := &wire{
		Conn: conn, version: hello.Version, session: s,
		in:   mqtt.Buffer{B: make([]byte, readSize), Most: mqtt.MaxRemaining},
		done: make(chan struct{}), writerDone: make(chan struct{}),
	}
	w.changed.L = &s.mu
	var err error
	if w.accepted, err = hello.Hello(conn, &w.in, w.fill); err != nil {
		return nil, protocolError(err)
	}
	switch a := &w.accepted; {
	case a.Old && w.version == mqtt5:
		return nil, &refusal{"it speaks MQTT 3.1.1 only", "leave protocol_version out"}
	case a.Refused():
		return nil, &refusal{a.Properties.Text(a.Code), changes[a.Code]}
	}
	w.replies = s.begin(w.version, hello.Clean, w.accepted.Present)
	w.sent, w.heard = time.Now(), time.Now()
	w.alive.KeepAlive = w.accepted.KeepAlive(hello.KeepAlive)
	w.alive.Answer = min(w.alive.KeepAlive, longestPing)
	return w, nil
}

// start lets the wire read and write. A message that came with CONNACK arrives now.
func (w *wire) start(on listener) {
	w.on = on
	go w.write()
	go w.read()
	if w.alive.KeepAlive > 0 {
		go w.ping()
	}
}

var errProtocol = errors.New("the broker breaks the protocol")

// protocolError adds that the broker is at fault.
func protocolError(err error) error {
	if wrong := new(mqtt.Violation); errors.As(err, &wrong) {
		return fmt.Errorf("%w: %w", errProtocol, err)
	}
	return err
}

func (w *wire) fill() error { return w.in.Fill(w.Conn) }

// read processes packets until the connection ends.
func (w *wire) read() {
	err := w.packets()
	wrong, violated := err.(*mqtt.Violation)
	if violated && w.version == mqtt5 { // MQTT 5, 4.13.1; 4.8 of 3.1.1 has the connection closed
		w.sendDisconnect(wrong.Code)
	}
	err = protocolError(err)
	_ = w.Close()
	w.mu.Lock()
	if w.failure == nil {
		w.failure = err
	} else if !violated {
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
			kind, body, size, err := w.in.At(used)
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
		w.in.Drop(0, used)
		if w.in.Held == 0 && len(w.in.B) > writeSize {
			w.in.B = make([]byte, readSize) // it had grown for a large message
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
		p, err := mqtt.ReadPublish(w.version, kind, body)
		if err == nil {
			w.message(&p, received)
		}
		return err
	case packets.PINGRESP:
		return nil
	case packets.PUBACK, packets.PUBREC, packets.PUBREL, packets.PUBCOMP, packets.SUBACK, packets.UNSUBACK:
		a, err := mqtt.ReadAnswer(w.version, kind, body)
		if err == nil {
			err = w.answer(&a)
		}
		return err
	case packets.DISCONNECT:
		if w.version == mqtt5 { // in 3.1.1 only the client may send it
			a, err := mqtt.ReadAnswer(w.version, kind, body)
			if err == nil {
				err = fmt.Errorf("the broker ended the connection: %s", a.Properties.Text(a.Code))
			}
			return err
		}
	}
	return mqtt.ProtocolError("%s is not due", mqtt.Name(kind))
}

// message passes a message to the listener, then acknowledges it.
func (w *wire) message(p *mqtt.Publish, received time.Time) {
	// A message that was handed on before comes again: the broker missed PUBREC (MQTT 5, 4.3.3).
	if p.QoS < 2 || w.handedOn.Add(p.ID) {
		w.on.arrived(&incoming{
			topic: string(p.Topic), payload: slices.Clone(p.Payload), received: received,
			user: mqtt.UserProperties(slices.Clone(p.Properties)),
		})
	}
	if p.QoS > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.reply(mqtt.AppendAck(w.replies, [...]byte{0, packets.PUBACK, packets.PUBREC}[p.QoS], p.ID))
	}
}

func (w *wire) reply(b []byte) {
	w.replies = b
	w.changed.Signal()
}

func (w *wire) answer(a *mqtt.Answer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	kind := a.Kind >> 4
	if kind == packets.PUBREL {
		w.handedOn.Remove(a.ID)
		w.reply(mqtt.AppendAck(w.replies, packets.PUBCOMP, a.ID)) // of an unknown one too [MQTT-4.3.3-11]
		return nil
	}
	c := w.waiting[a.ID]
	if c == nil {
		w.stray = fmt.Sprintf(": the broker sent %s for the packet id %d, which no call has", name(kind), a.ID)
		if kind == packets.PUBREC { // otherwise the broker keeps the message
			w.reply(mqtt.AppendAck(w.replies, packets.PUBREL, a.ID))
		}
		return nil
	}
	reply, err := w.answered(c, a, w.version)
	w.reply(append(w.replies, reply...)) // reply may be empty: there may still be room for another call
	return err
}
