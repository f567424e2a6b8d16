package mqtt

import (
	"fmt"

	"github.com/grafana/sobek"
)

func (c *client) publishCall(call sobek.FunctionCall) sobek.Value {
	return c.run(c.publish(c.args("client.publish"), call))
}

func (c *client) publishAsyncCall(call sobek.FunctionCall) sobek.Value {
	return c.runAsync(func() *request { return c.publish(c.args("client.publishAsync"), call) })
}

// maxRemaining is the longest remaining length of a packet (MQTT 3.1.1, 2.2.3); in a PUBLISH it has to hold the topic's
// length and the packet identifier too.
const (
	maxRemaining = 268_435_455
	maxPublish   = maxRemaining - 4
)

// publish reads publish(topic, payload, {qos, retain, properties, tags}). It is done when the message is written (QoS 0) or
// acknowledged (PUBACK for QoS 1, PUBCOMP for QoS 2).
func (c *client) publish(a args, call sobek.FunctionCall) *request {
	topic := a.text(call.Argument(0), "topic")
	payload := a.payload(call.Argument(1), "payload")
	o := a.options(call.Argument(2), "options", "qos", "retain", "properties", "tags")
	m := &outgoing{
		topic: topic, payload: payload, qos: o.qos(), retain: o.boolean("retain", false),
		user: o.userProperties(c.options.version),
	}
	err := checkTopic(topic)
	if size := len(topic) + len(payload); err == nil && size > maxPublish {
		err = fmt.Errorf("topic and payload have %d bytes: %d are allowed", size, maxPublish)
	}
	return &request{
		method: "publish", topics: []string{topic}, tags: o.tags(), sent: len(payload), err: err,
		start: func(w wire) answer { return w.publish(m) },
	}
}
