package mqtt

import (
	"crypto/tls"
	"errors"
	"fmt"
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
	// longestPing is how long the answer to a ping may take, unless keepalive is shorter.
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
	received time.Time // when its last byte was read from the socket
	user     []mqtt.UserProperty
}

// wire is a connection that the broker has accepted. One goroutine reads and takes the time after each read; it
// never waits for others, so the time is right. Another one writes calls in the order they were made, and the
// replies of the reader.
type wire struct {
	*mqtt.Conn
	on listener

	*session             // its lock guards all fields below, and Alive
	changed    sync.Cond // there is something to write, or the connection is over
	queue      []*call   // calls whose packets are not written
	replies    []byte    // acknowledgements and pings, not written
	bye        []byte    // the last packet
	failure    error     // why a write or a ping failed
	stray      string    // an answer to no call
	done       chan struct{}
	writerDone chan struct{}
}

// dialer opens connections with these functions of the VU.
func dialer(dial mqtt.DialFunc, config *tls.Config) *mqtt.Dialer {
	return &mqtt.Dialer{Dial: dial, TLS: config, ReadSize: readSize, Most: mqtt.MaxRemaining}
}

// newWire goes on with a session on a connection. clean is CONNECT's. Call start or Close next.
func newWire(conn *mqtt.Conn, s *session, clean bool) *wire {
	w := &wire{Conn: conn, session: s, done: make(chan struct{}), writerDone: make(chan struct{})}
	w.changed.L = &s.mu
	w.replies = s.begin(w.Version, clean, w.Accepted.Present)
	w.Alive.Answer = min(w.Alive.KeepAlive, longestPing)
	return w
}

// start lets the wire read and write. A message that came with CONNACK arrives now.
func (w *wire) start(on listener) {
	w.on = on
	go w.write()
	go w.read()
	if w.Alive.KeepAlive > 0 {
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

// read processes packets until the connection ends.
func (w *wire) read() {
	err := w.packets()
	_, violated := err.(*mqtt.Violation)
	if disconnect := mqtt.DisconnectFor(w.Version, err); disconnect != nil {
		w.sendLast(disconnect)
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
			kind, body, size, err := w.In.At(used)
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
		w.In.Drop(0, used)
		if w.In.Held == 0 && len(w.In.B) > writeSize {
			w.In.B = make([]byte, readSize) // it had grown for a large message
		}
		if err := w.Fill(); err != nil {
			return err
		}
	}
}

// take takes one packet.
func (w *wire) take(kind byte, body []byte, received time.Time) error {
	switch kind >> 4 {
	case packets.PUBLISH:
		p, err := mqtt.ReadPublish(w.Version, kind, body)
		if err == nil {
			w.message(&p, received)
		}
		return err
	case packets.PINGRESP:
		return nil
	case packets.PUBACK, packets.PUBREC, packets.PUBREL, packets.PUBCOMP, packets.SUBACK, packets.UNSUBACK:
		a, err := mqtt.ReadAnswer(w.Version, kind, body)
		if err == nil {
			err = w.answer(&a)
		}
		return err
	case packets.DISCONNECT:
		if w.Version == mqtt5 { // in 3.1.1 only the client may send it
			a, err := mqtt.ReadAnswer(w.Version, kind, body)
			if err == nil {
				err = fmt.Errorf("the broker ended the connection: %w", a.Err())
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
		w.reply(mqtt.AppendAck(w.replies, packets.PUBCOMP, a.ID)) // also for an unknown id [MQTT-4.3.3-11]
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
	reply, err := w.answered(c, a, w.Version)
	w.reply(append(w.replies, reply...)) // reply may be empty: there may still be room for another call
	return err
}
