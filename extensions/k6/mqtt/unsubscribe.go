package mqtt

import "github.com/grafana/sobek"

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
		method: "unsubscribe", topics: filters, tags: o.tags(), sent: -1, err: checkFilters(filters),
		start: func(w wire) answer { return w.unsubscribe(filters) },
	}
}
