package mqtt

import (
	"fmt"

	"github.com/grafana/sobek"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
)

// maxPublish is the longest topic and payload: a packet holds the topic's length and the packet identifier too.
const maxPublish = mqttwire.MaxRemaining - 4

// publish reads publish(topic, payload, {qos, retain, properties, tags}). It is done when the message is written (QoS 0) or
// acknowledged (PUBACK for QoS 1, PUBCOMP for QoS 2).
func (c *client) publish(a args, call sobek.FunctionCall) *request {
	topic := a.text(call.Argument(0), "topic")
	payload := a.payload(call.Argument(1), "payload")
	o := a.options(call.Argument(2), "options", "qos", "retain", "properties", "tags")
	m := &mqttwire.Publish{
		Topic: []byte(topic), Payload: payload, QoS: o.qos(), Retain: o.boolean("retain", false),
		Properties: o.userProperties(c.options.version),
	}
	err := checkTopic(topic)
	if size := len(topic) + len(payload); err == nil && size > maxPublish {
		err = fmt.Errorf("topic and payload have %d bytes: %d are allowed", size, maxPublish)
	}
	return &request{method: "publish", call: newPublish(m), tags: o.tags(), sent: len(payload), err: err}
}
