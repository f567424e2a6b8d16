package mqtt

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
)

// submit queues a call for writing. It refuses what the broker's CONNACK excludes.
func (w *wire) submit(c *call) error {
	if m, properties := c.message, &w.Accepted.Properties; m != nil {
		switch size := m.Size(w.Version); {
		case m.QoS > properties.MaxQoS:
			return fmt.Errorf("the broker takes messages of QoS %d at most, this one has %d", properties.MaxQoS, m.QoS)
		case m.Retain && properties.NoRetained:
			return errors.New("the broker keeps no retained messages: leave retain out")
		case size > properties.MaxPacket:
			return fmt.Errorf("the message makes a packet of %d bytes: %d are allowed", size, properties.MaxPacket)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, c)
	w.changed.Signal()
	return nil
}

// giveUp is the error of a call that has exceeded its time-out.
func (w *wire) giveUp(c *call, limit time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.givenUp = true
	ms := limit.Milliseconds()
	switch {
	case c.written:
		return fmt.Errorf("no %s within %d ms%s: check the broker or raise request_timeout in connect()",
			name(c.due), ms, w.stray)
	case w.messages > 0 && w.mustWait(c):
		return fmt.Errorf("not written within %d ms: the broker has %d messages to acknowledge and takes no more: "+
			"check the broker or raise request_timeout in connect()", ms, w.messages)
	}
	return fmt.Errorf("not written within %d ms: the broker reads too little: "+
		"check it or raise request_timeout in connect()", ms)
}

// mustWait reports whether the broker takes no more calls of this kind now (MQTT 5, 4.9), or all packet ids are used.
func (w *wire) mustWait(c *call) bool {
	return c.due != 0 && len(w.waiting) == math.MaxUint16 ||
		c.qos > 0 && c.message != nil && w.messages >= w.Accepted.Properties.ReceiveMaximum
}

// write is the writing goroutine.
func (w *wire) write() {
	defer close(w.writerDone)
	var b []byte
	for {
		var written []*call // calls of QoS 0, which have no answer
		w.mu.Lock()
		for b, written = w.gather(b[:0]); len(b) == 0 && w.failure == nil; b, written = w.gather(b) {
			w.changed.Wait()
		}
		last := w.bye != nil || w.failure != nil
		w.mu.Unlock()
		if len(b) > 0 {
			if _, err := w.Write(b); err != nil {
				w.fail(err)
				return
			}
		}
		for _, c := range written {
			c.outcome <- nil
		}
		if last {
			return
		}
		if cap(b) > 2*writeSize {
			b = nil // it had grown for a large message
		}
	}
}

// gather appends the packets to write now to b.
func (w *wire) gather(b []byte) (_ []byte, written []*call) {
	b = append(b, w.replies...)
	w.replies = w.replies[:0]
	if w.bye != nil {
		return append(b, w.bye...), nil
	}
	for len(w.queue) > 0 && len(b) < writeSize && (w.queue[0].givenUp || !w.mustWait(w.queue[0])) {
		c := w.queue[0]
		w.queue[0], w.queue = nil, w.queue[1:]
		if c.givenUp {
			continue
		}
		w.add(c)
		b = c.append(b, w.Version)
		if c.written = c.due != 0; !c.written { // QoS 0 is done when the socket has the bytes
			written = append(written, c)
		}
	}
	return b, written
}

// fail ends the connection for a reason that the reader does not see.
func (w *wire) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == nil {
		w.failure = err
	}
	w.changed.Broadcast()
	_ = w.SetReadDeadline(time.Now().Add(quiesce)) // there may be messages to read, and the broker's reason
}

// ping keeps the connection alive, and ends it if the broker is silent.
func (w *wire) ping() {
	for again := time.Duration(0); ; {
		select {
		case <-w.done:
			return
		case <-time.After(again):
		}
		w.mu.Lock()
		ping, silent, next := w.Alive.Look(time.Now(), w.Sent(), w.Heard())
		if ping {
			w.reply(mqtt.AppendPing(w.replies))
		}
		w.mu.Unlock()
		if silent {
			w.fail(fmt.Errorf("the broker is silent: no answer to a ping within %s", w.Alive.Answer))
			return
		}
		again = next
	}
}

// sendLast writes what is queued and a DISCONNECT, then closes the connection.
func (w *wire) sendLast(disconnect []byte) {
	late := time.AfterFunc(quiesce, func() { _ = w.Close() })
	defer late.Stop()
	w.mu.Lock()
	if w.bye == nil {
		w.bye = disconnect
	}
	w.changed.Broadcast()
	w.mu.Unlock()
	<-w.writerDone
	_ = w.Close()
}

// disconnect ends the connection with code 0. When it returns, every message that was read is queued.
func (w *wire) disconnect() {
	w.sendLast(mqtt.AppendDisconnect(nil, w.Version, 0, nil))
	<-w.done
}
