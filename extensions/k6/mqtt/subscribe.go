package mqtt

import (
	"github.com/eclipse/paho.golang/packets"
	"github.com/grafana/sobek"
)

// subscribe reads subscribe(topic | topics, {qos, tags}). All filters go in one SUBSCRIBE.
func (c *client) subscribe(a args, call sobek.FunctionCall) *request {
	o := a.options(call.Argument(1), "options", "qos", "tags")
	return topicsRequest(a, call, "subscribe", packets.SUBSCRIBE, o.qos(), o)
}

// unsubscribe reads unsubscribe(topic | topics, {tags}).
func (c *client) unsubscribe(a args, call sobek.FunctionCall) *request {
	return topicsRequest(a, call, "unsubscribe", packets.UNSUBSCRIBE, 0, a.options(call.Argument(1), "options", "tags"))
}

func topicsRequest(a args, call sobek.FunctionCall, method string, kind, qos byte, o options) *request {
	r := &request{method: method, sent: -1, tags: o.tags()}
	filters := a.texts(call.Argument(0), "topic")
	for i := 0; i < len(filters) && r.err == nil; i++ {
		r.err = checkFilter(filters[i])
	}
	r.call = newSubscribe(kind, filters, qos)
	return r
}
