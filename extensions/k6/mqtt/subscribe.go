package mqtt

import (
	"fmt"
	"slices"
	"strings"

	paho "github.com/eclipse/paho.mqtt.golang"
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
	qos := o.qos()
	wanted := make(map[string]byte, len(filters))
	for _, filter := range filters {
		wanted[filter] = qos
	}
	return &request{
		method: "subscribe", topics: filters, tags: o.tags(), sent: -1, err: checkFilters(filters),
		start: func(p paho.Client) paho.Token {
			return p.SubscribeMultiple(wanted, nil) // messages all go to the default handler
		},
		check: func(token paho.Token) error {
			var refused []string
			for filter, code := range token.(*paho.SubscribeToken).Result() {
				if code == refusedSubscription {
					refused = append(refused, filter)
				}
			}
			if refused == nil {
				return nil
			}
			slices.Sort(refused)
			return fmt.Errorf("the broker refused the subscription to %s: check its access rules", strings.Join(refused, ", "))
		},
	}
}

// refusedSubscription is the return code of SUBACK for a filter that was refused [MQTT-3.9.3-2]; paho reports no error.
const refusedSubscription = 0x80

func checkFilters(filters []string) error {
	for _, filter := range filters {
		if err := checkFilter(filter); err != nil {
			return err
		}
	}
	return nil
}
