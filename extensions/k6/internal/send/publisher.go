package send

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/network"
)

// readSize is the read buffer of a client that only publishes.
const readSize = 64

var errNotSent = errors.New("not sent")

// publisher is an MQTT 5 connection that publishes occasionally, for runs with many of them. Each is one goroutine
// and a few KB, so the limit of a process is its open files. Its methods may be called from any goroutine.
type publisher struct {
	conn    *mqtt.Conn
	timeout time.Duration // of the wait for CONNACK, of a write, and of the wait for PUBACK

	out sync.Mutex // held during a write, which lasts as long as the broker does not read

	mu      sync.Mutex // guards what follows and conn.Alive; never held during a write
	id      uint16
	waiting []waiting
	ended   error // why the connection can no longer be used
}

// waiting is a message of QoS 1 without PUBACK.
type waiting struct {
	id    uint16
	since time.Time
	done  func(reason byte, err error)
}

// tcpAddress refuses addresses that connect does not support.
func tcpAddress(url string) (mqtt.Address, error) {
	a, err := mqtt.ParseAddress(url)
	if err == nil && a.Web {
		err = errors.New("WebSocket is not for connections by the thousand; allowed: mqtt, tcp, mqtts, ssl, tls")
	}
	return a, err
}

// connect opens a connection of MQTT 5. Without a user in hello it takes that of the URL.
func connect(
	ctx context.Context, url string, hello mqtt.Connect, n network.Network, timeout time.Duration,
) (*publisher, error) {
	a, err := tcpAddress(url)
	if err != nil {
		return nil, err
	}
	ctx, cancel := mqtt.Within(ctx, timeout)
	defer cancel()
	dialer := mqtt.Dialer{Dial: n.DialContext, TLS: n.TLS, ReadSize: readSize, Most: mqtt.MaxField}
	conn, err := dialer.Connect(ctx, a, hello)
	if err != nil {
		return nil, err
	}
	conn.Alive.Answer = timeout
	return &publisher{conn: conn, timeout: timeout}, nil
}

// write sends a packet, and returns when it left. c.out is held, so that packets do not mix.
func (c *publisher) write(packet []byte) (left time.Time, err error) {
	_ = c.conn.SetWriteDeadline(time.Now().Add(c.timeout))
	left = time.Now()
	_, err = c.conn.Write(packet)
	return left, err
}

// over returns the error of a message that can't be sent any more; nil: it can.
func (c *publisher) over() error {
	if c.ended == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errNotSent, c.ended)
}

// publish sends a message at QoS 0 or 1, whose ID it sets. done is called once: when the message has been
// written (QoS 0), with PUBACK's reason code (QoS 1), or with an error, which is errNotSent if the message was
// not sent. It returns when the message left; zero: it was not sent.
func (c *publisher) publish(message mqtt.Publish, done func(reason byte, err error)) (left time.Time) {
	c.mu.Lock()
	if err := c.over(); err != nil {
		c.mu.Unlock()
		done(0, err)
		return left
	}
	if message.QoS > 0 {
		if most := c.conn.Accepted.Properties.ReceiveMaximum; len(c.waiting) >= most { // MQTT 5, 3.2.2.3.3
			c.mu.Unlock()
			done(0, fmt.Errorf("%w: the broker takes no more than %d messages without PUBACK", errNotSent, most))
			return left
		}
		message.ID = c.freeID()
		c.waiting = append(c.waiting, waiting{message.ID, time.Now(), done})
	}
	c.mu.Unlock()
	left, err := c.send(message.Append(nil, mqtt.Version5))
	if err != nil && !errors.Is(err, errNotSent) {
		c.end(err) // a part of it may have been sent
	}
	if message.QoS == 0 {
		done(0, err)
	}
	return left
}

// send writes a packet when those before it have been written, and returns when it left. The error is errNotSent if the
// connection ended before.
func (c *publisher) send(packet []byte) (left time.Time, err error) {
	c.out.Lock()
	defer c.out.Unlock()
	c.mu.Lock()
	err = c.over()
	c.mu.Unlock()
	if err != nil {
		return left, err
	}
	return c.write(packet)
}

func (c *publisher) freeID() uint16 {
	for {
		c.id = c.id%math.MaxUint16 + 1 // never 0 [MQTT-2.2.1-3]
		if c.find(c.id) < 0 {
			return c.id
		}
	}
}

func (c *publisher) find(id uint16) int {
	return slices.IndexFunc(c.waiting, func(w waiting) bool { return w.id == id })
}

// read processes the broker's answers until the connection ends, and returns the cause: net.ErrClosed after
// close.
func (c *publisher) read() error {
	for {
		kind, body, size, err := c.conn.In.At(0)
		switch {
		case err == nil && size == 0:
			err = c.conn.Fill()
		case err == nil:
			err = c.answer(kind, body)
			c.conn.In.Drop(0, size)
		}
		if err != nil {
			return c.end(err)
		}
	}
}

func (c *publisher) answer(kind byte, body []byte) error {
	switch kind >> 4 {
	case packets.PUBACK:
		a, err := mqtt.ReadAnswer(mqtt.Version5, kind, body)
		if err != nil {
			return err
		}
		if done := c.take(a.ID); done != nil {
			done(a.Code, nil)
		}
	case packets.PINGRESP:
	case packets.DISCONNECT:
		a, err := mqtt.ReadAnswer(mqtt.Version5, kind, body)
		if err != nil {
			return err
		}
		return fmt.Errorf("the broker ended the connection: %w", a.Err())
	default:
		return fmt.Errorf("the broker sent %s, which was not due", mqtt.Name(kind))
	}
	return nil
}

func (c *publisher) take(id uint16) func(byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.find(id)
	if i < 0 {
		return nil
	}
	done := c.waiting[i].done
	c.waiting = slices.Delete(c.waiting, i, i+1)
	return done
}

// isOver reports whether the connection can no longer be used.
func (c *publisher) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended != nil
}

// tend is called periodically: it keeps an idle connection alive, and ends one whose broker has not answered in
// time. It waits for nothing, since it is called for all connections in turn.
func (c *publisher) tend(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return
	}
	ping, silent, _ := c.conn.Alive.Look(now, c.conn.Sent(), c.conn.Heard())
	switch {
	case len(c.waiting) > 0 && now.Sub(c.waiting[0].since) > c.timeout:
		c.ended = fmt.Errorf("no PUBACK within %s", c.timeout)
	case silent:
		c.ended = fmt.Errorf("no PINGRESP within %s", c.timeout)
	case ping:
		go c.ping()
	}
	if c.ended != nil {
		go c.end(c.ended) // closing may wait for the broker: TLS says good-bye
	}
}

func (c *publisher) ping() {
	_, err := c.send(mqtt.AppendPing(nil))
	if err != nil && !errors.Is(err, errNotSent) {
		c.end(err)
	}
}

// close sends DISCONNECT and closes the connection. A broker that does not read gets none.
func (c *publisher) close() {
	c.mu.Lock()
	open := c.ended == nil
	if open {
		c.ended = net.ErrClosed // set before the reader sees the broker close the connection
	}
	c.mu.Unlock()
	if open && c.out.TryLock() {
		_, _ = c.write(mqtt.AppendDisconnect(nil, mqtt.Version5, 0, nil))
		c.out.Unlock()
	}
	c.end(net.ErrClosed)
}

// end closes the connection and fails the messages without an answer. It returns the first cause.
func (c *publisher) end(err error) error {
	c.mu.Lock()
	if c.ended == nil {
		c.ended = err
	}
	err = c.ended
	left := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	_ = c.conn.Close()
	for _, w := range left {
		w.done(0, err)
	}
	return err
}
