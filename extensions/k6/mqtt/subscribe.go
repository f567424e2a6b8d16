package mqtt

import (
	"github.com/eclipse/paho.golang/packets"
	"github.com/grafana/sobek"
)

func (c *client) subscribeCall(call sobek.FunctionCall) sobek.Value {
	return c.run(c.subscribe(c.args("client.subscribe"), call))
}

func (c *client) subscribeAsyncCall(call sobek.FunctionCall) sobek.Value {
	return c.runAsync(func() *request { return c.subscribe(c.args("client.subscribeAsync"), call) })
}

// subscribe reads subscribe(topic | topics, {qos, tags}). All filters go in one SUBSCRIBE.
func (c *client) subscribe(a args, call sobek.FunctionCall) *request {
	filters := a.texts(call.Argument(0), "topic")
	o := a.options(call.Argument(1), "options", "qos", "tags")
	return &request{
		method: "subscribe", call: newSubscribe(packets.SUBSCRIBE, filters, o.qos()), tags: o.tags(), sent: -1, err: checkFilters(filters),
	}
}

func (c *client) unsubscribeCall(call sobek.FunctionCall) sobek.Value {
	return c.run(c.unsubscribe(c.args("client.unsubscribe"), call))
}

func (c *client) unsubscribeAsyncCall(call sobek.FunctionCall) sobek.Value {
	return c.runAsync(func() *request { return c.unsubscribe(c.args("client.unsubscribeAsync"), call) })
}

// unsubscribe reads unsubscribe(topic | topics, {tags}).
func (c *client) unsubscribe(a args, call sobek.FunctionCall) *request {
	filters := a.texts(call.Argument(0), "topic")
	o := a.options(call.Argument(1), "options", "tags")
	return &request{
		method: "unsubscribe", call: newSubscribe(packets.UNSUBSCRIBE, filters, 0), tags: o.tags(), sent: -1, err: checkFilters(filters),
	}
}

func checkFilters(filters []string) error {
	for _, filter := range filters {
		if err := checkFilter(filter); err != nil {
			return err
		}
	}
	return nil
}
