package mqtt

import "github.com/grafana/sobek"

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
	qos := o.qos()
	return &request{
		method: "subscribe", topics: filters, tags: o.tags(), sent: -1, err: checkFilters(filters),
		start: func(w wire) answer { return w.subscribe(filters, qos) },
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
