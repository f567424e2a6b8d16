package mqtt

import (
	"cmp"
	"slices"
	"strings"

	"github.com/grafana/sobek"
)

const (
	eventConnect   = "connect"
	eventMessage   = "message"
	eventEnd       = "end"
	eventReconnect = "reconnect"
	eventError     = "error"
)

var events = []string{eventConnect, eventMessage, eventEnd, eventReconnect, eventError}

// onCall is client.on(event, handler).
func (c *client) onCall(call sobek.FunctionCall) sobek.Value {
	a := c.args("client.on")
	event := a.text(call.Argument(0), "event")
	handler := a.function(call.Argument(1), "handler")
	if !slices.Contains(events, event) {
		a.warn("client.on: there is no event %q, the handler will not run; events are %s", event, strings.Join(events, ", "))
		return sobek.Undefined()
	}
	if c.handlers[event] != nil {
		a.warn("client.on: replacing the handler of %q: a client has one an event", event)
	}
	c.handlers[event] = handler
	return sobek.Undefined()
}

// emit calls the handler of an event, if there is one. Event loop only.
func (c *client) emit(event string, values ...sobek.Value) error {
	handler := c.handlers[event]
	if handler == nil || c.vu.Context().Err() != nil {
		return nil
	}
	_, err := handler(sobek.Undefined(), values...)
	return err
}

// arrived queues a message that was read; it is called for one message after the other.
func (c *client) arrived(l *link, m *incoming) {
	if l.deliver(func() bool { return c.loop.post(func() error { return c.message(l, m) }) }) {
		return
	}
	if !l.late.Swap(true) {
		l.logger.Warnf("MQTT: a message on %q came after the client had ended and was dropped", m.topic)
	}
}

// message hands one message to the script.
func (c *client) message(l *link, m *incoming) error {
	if l.ctx.Err() != nil {
		l.undelivered++
		return nil
	}
	c.push(m.received, "message", m.topic, nil,
		measure{c.in.calls, 1},
		measure{c.in.received, 1},
		measure{c.vu.State().BuiltinMetrics.DataReceived, float64(len(m.payload))})
	if c.handlers[eventMessage] == nil {
		return nil
	}
	c.handlingMessage = true
	err := c.emit(eventMessage,
		c.rt.ToValue(m.topic), c.rt.ToValue(c.rt.NewArrayBuffer(m.payload)), c.arrival(m))
	c.handlingMessage = false
	if ending := c.endAfterMessage; ending != nil {
		c.endAfterMessage = nil
		err = cmp.Or(err, c.finishAfter(ending, true, true))
	}
	return err
}
