package fake

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/eclipse/paho.golang/packets"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
)

// Cut closes the connections of all subscribers without DISCONNECT. Copies may call it.
func (f *Pipeline) Cut() { f.end(func(net.Conn) {}) }

// Silence keeps the subscribers' connections open but sends nothing more. Copies may call it.
func (f *Pipeline) Silence() { f.silent.Store(true) }

// TakeOver closes the connections of all subscribers, as a broker does to a client whose id another one uses. Copies
// may call it.
func (f *Pipeline) TakeOver() {
	f.end(func(conn net.Conn) {
		_, _ = conn.Write(mqtt.AppendDisconnect(nil, mqtt.Version5, packets.DisconnectSessionTakenOver, nil))
	})
}

func (f *Pipeline) end(farewell func(net.Conn)) {
	if f.Outlet != nil {
		f.Outlet.Cut()
	}
	f.closing.Lock()
	defer f.closing.Unlock()
	for _, conn := range f.conns {
		farewell(conn)
		_ = conn.Close()
	}
	f.conns = nil
}

func (f *Pipeline) accept() {
	for {
		conn, err := f.broker.Accept()
		if err != nil {
			return
		}
		f.closing.Lock()
		f.conns = append(f.conns, conn)
		f.closing.Unlock()
		f.work.Go(func() { f.serve(conn) })
	}
}

// serve is the broker's side of one connection.
func (f *Pipeline) serve(conn net.Conn) {
	defer f.forget(conn)
	for {
		packet, err := packets.ReadPacket(conn)
		if err != nil {
			return
		}
		switch p := packet.Content.(type) {
		case *packets.Subscribe:
			f.mu.Lock()
			for _, s := range p.Subscriptions {
				f.subscribers[s.Topic] = append(f.subscribers[s.Topic], conn)
			}
			f.mu.Unlock()
		case *packets.Puback:
			if f.Alone {
				f.acked <- time.Now() // one is in flight, so there is room
			}
			continue
		case *packets.Disconnect:
			return
		}
		answer := Reply(packet)
		if answer == nil {
			f.mu.Lock()
			f.failed = fmt.Errorf("unexpected packet: %s", packet.PacketType())
			f.mu.Unlock()
			return
		}
		if f.silent.Load() {
			continue
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

// forget ends a connection and drops its pending messages, as after the end of a clean session.
func (f *Pipeline) forget(conn net.Conn) {
	_ = conn.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for topic, conns := range f.subscribers {
		f.subscribers[topic] = slices.DeleteFunc(conns, func(c net.Conn) bool { return c == conn })
	}
}

// relay delivers the accepted messages in order. All have the same delay, so none overtakes another unless Swap,
// Late or Far says so. The server's times follow from those of the acceptance alone: a late write delays no other one.
func (f *Pipeline) relay() {
	var served time.Time // the server ends the request before
	for nth := 1; ; nth++ {
		select {
		case <-f.done:
			return
		case a := <-f.queue:
			ready := a.at
			if f.Service != nil {
				served = later(served, a.at).Add(f.Service(nth))
				ready = served
			}
			if !f.wait(f.done, ready.Add(f.Delay)) {
				return
			}
			var batch []json.RawMessage
			if json.Unmarshal(a.body, &batch) != nil {
				batch = []json.RawMessage{a.body}
			}
			if f.Traces != nil {
				f.Traces.message(a.parent, a.at)
			}
			for _, message := range batch {
				f.mu.Lock()
				written := len(f.log)
				f.handle(a, message)
				written = len(f.log) - written
				f.mu.Unlock()
				if f.Alone && written > 0 && !f.awaitAck() {
					return
				}
			}
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// awaitAck waits until the last write has been acknowledged; false when the pipeline was closed.
func (f *Pipeline) awaitAck() bool {
	select {
	case at := <-f.acked:
		f.mu.Lock()
		f.log[len(f.log)-1].Acked = at
		f.mu.Unlock()
		return true
	case <-f.done:
		return false
	}
}

// delivery is a message that is ready to be written.
type delivery struct {
	Delivery
	packet []byte // for an Outlet: the payload
	hops   string
	copies int
}

// handle applies Leftovers, Keep, Route, Copies, Swap, Late and Far to a message; f.mu is held.
func (f *Pipeline) handle(a accepted, message json.RawMessage) {
	f.messages++
	nth := f.messages
	var m struct{ ID, Target string }
	_ = json.Unmarshal(message, &m) // a payload that is not a message has no topic, and no subscriber
	for range valueFor(f.Leftovers, nth, 0) {
		f.leftovers++
		body := fmt.Sprintf(`{"id":"another0.1.%d","source":"k6","target":%q,"payload":""}`, f.leftovers, m.Target)
		topic, stamps := topicOf(m.Target), f.hops(a.at)
		f.write(topic, f.publish(topic, []byte(body), stamps), stamps)
	}
	if stream := valueFor(f.Keep, nth, ""); stream != "" {
		f.note(f.Redis.add(stream, string(message), m.Target))
		return
	}
	targets := []string{m.Target}
	if f.Route != nil {
		targets = f.Route(nth, m.Target)
	}
	for _, target := range targets {
		f.pass(a, nth, m.ID, target, message)
	}
}

func topicOf(target string) string { return "messages/" + target }

// pass delivers a message at a target, now or later.
func (f *Pipeline) pass(a accepted, nth int, id, target string, message []byte) {
	topic := topicOf(target)
	d := delivery{
		Delivery: Delivery{ID: id, Target: target, Parent: a.parent, Received: a.received, Made: time.Now()},
		hops:     f.hops(a.at), copies: valueFor(f.Copies, nth, 1),
	}
	d.packet = f.publish(topic, f.rewritten(nth, message), d.hops)
	if valueFor(f.Swap, nth, false) {
		f.held[topic] = d
		return
	}
	late := valueFor(f.Late, nth, 0)
	if f.Far != nil {
		late += f.Far(target)
	}
	if late > 0 {
		until := time.Now().Add(late)
		f.work.Go(func() {
			if f.wait(f.done, until) {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.deliver(topic, d)
			}
		})
		return
	}
	f.deliver(topic, d)
	if before, ok := f.held[topic]; ok {
		delete(f.held, topic)
		f.deliver(topic, before)
	}
}

func (f *Pipeline) rewritten(nth int, message []byte) []byte {
	if f.Rewrite == nil {
		return message
	}
	return f.Rewrite(nth, message)
}

func valueFor[T any](of func(nth int) T, nth int, otherwise T) T {
	if of == nil {
		return otherwise
	}
	return of(nth)
}

func (f *Pipeline) deliver(topic string, d delivery) {
	taken := false
	d.Written = time.Now()
	for range d.copies {
		taken = f.write(topic, d.packet, d.hops) || taken
	}
	if d.Handed = time.Now(); taken {
		f.log = append(f.log, d.Delivery)
	}
}

// publish makes the packet of a message; for an Outlet that is its payload.
func (f *Pipeline) publish(topic string, payload []byte, stamps string) []byte {
	if f.Outlet != nil {
		return payload
	}
	p := mqtt.Publish{Topic: []byte(topic), Payload: payload, QoS: 1, ID: uint16(f.messages%0xffff + 1)}
	if stamps != "" {
		p.Properties = mqtt.AppendUserProperty(nil, "hops", stamps)
	}
	return p.Append(nil, mqtt.Version5)
}

// hops are the stamps of a message that was accepted at this moment; empty: it has none.
func (f *Pipeline) hops(at time.Time) string {
	if f.Hops == nil {
		return ""
	}
	return f.Hops(at)
}

// write reports whether any subscriber took the packet.
func (f *Pipeline) write(topic string, packet []byte, hops string) (taken bool) {
	if f.Outlet != nil {
		return !f.silent.Load() && f.Outlet.Deliver(topic, packet, hops)
	}
	for _, conn := range f.subscribers[topic] {
		if f.silent.Load() {
			return false
		}
		_, err := conn.Write(packet)
		taken = taken || err == nil
	}
	return taken
}

// note keeps the first error; f.mu is held.
func (f *Pipeline) note(err error) {
	if f.failed == nil {
		f.failed = err
	}
}
