package mqtt

import (
	"fmt"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/grafana/sobek"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
)

// request is one subscribe, unsubscribe or publish.
type request struct {
	method string // without "Async"; the method tag
	call   *call  // each of its topics counts as one
	tags   map[string]string
	err    error // found before anything was sent
}

// run sends a request and blocks until the broker has answered.
func (c *client) run(r *request) sobek.Value {
	l, err := c.send(r)
	if err == nil {
		err = l.await(r.call)
		l.done()
	}
	if stopped := c.vu.Context().Err(); stopped != nil && err != nil {
		c.rethrow(fmt.Errorf("client.%s: interrupted, the iteration was stopped: %w", r.method, stopped))
	}
	c.count(r, err)
	if err != nil {
		c.fail(r.method, err)
	}
	return sobek.Undefined()
}

// runAsync sends the request that read makes and returns a promise of the broker's answer. Wrong arguments reject it.
func (c *client) runAsync(read func() *request) sobek.Value {
	promise, resolve, reject := c.rt.NewPromise()
	var r *request
	if thrown := c.rt.Try(func() { r = read() }); thrown != nil {
		c.settled(reject(thrown.Value()))
		return c.rt.ToValue(promise)
	}
	settle := func(err error) error {
		if c.vu.Context().Err() != nil {
			return nil // the iteration is over: nobody waits for the promise
		}
		c.count(r, err)
		if err == nil {
			return resolve(sobek.Undefined())
		}
		thrown := c.rt.Try(func() { c.fail(r.method, err) })
		if thrown != nil {
			return reject(thrown.Value())
		}
		return resolve(sobek.Undefined()) // the error handler got the error
	}
	l, err := c.send(r)
	if err != nil {
		c.settled(settle(err))
		return c.rt.ToValue(promise)
	}
	c.loop.hold()
	go func() {
		err := l.await(r.call)
		c.loop.post(func() error {
			defer c.loop.release()
			return settle(err)
		})
		l.done()
	}()
	return c.rt.ToValue(promise)
}

// send queues a request on the connection.
func (c *client) send(r *request) (*link, error) {
	if r.err != nil {
		return nil, r.err
	}
	if !c.connected() {
		return nil, errNotConnected
	}
	return c.link, c.link.submit(r.call)
}

// count emits the samples of a request that is done; errors are counted where they are reported.
func (c *client) count(r *request, err error) {
	if c.options.tagTopic {
		for _, topic := range r.call.topics {
			c.countCalls(r, err, topic, 1)
		}
		return
	}
	c.countCalls(r, err, "", len(r.call.topics))
}

func (c *client) countCalls(r *request, err error, topic string, calls int) {
	measures := []measure{{c.in.calls, float64(calls)}}
	if m := r.call.message; m != nil && err == nil {
		measures = append(measures,
			measure{c.in.sent, 1},
			measure{c.vu.State().BuiltinMetrics.DataSent, float64(len(m.Payload))})
	}
	c.push(time.Now(), r.method, topic, r.tags, measures...)
}

// maxPublish is the longest topic and payload: a packet holds the topic's length and the packet identifier too.
const maxPublish = mqtt.MaxRemaining - 4

// publish reads publish(topic, payload, {qos, retain, properties, tags}). It is done when the message is written (QoS
// 0) or acknowledged (PUBACK for QoS 1, PUBCOMP for QoS 2).
func (c *client) publish(a args, call sobek.FunctionCall) *request {
	topic := a.text(call.Argument(0), "topic")
	payload := a.payload(call.Argument(1), "payload")
	o := a.options(call.Argument(2), "options", "qos", "retain", "properties", "tags")
	m := &mqtt.Publish{
		Topic: []byte(topic), Payload: payload, QoS: o.qos(), Retain: o.boolean("retain", false),
		Properties: o.userProperties(c.options.version),
	}
	err := checkTopic(topic)
	if size := len(topic) + len(payload); err == nil && size > maxPublish {
		err = fmt.Errorf("topic and payload have %d bytes: %d are allowed", size, maxPublish)
	}
	return &request{method: "publish", call: newPublish(m), tags: o.tags(), err: err}
}

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
	r := &request{method: method, tags: o.tags()}
	filters := a.texts(call.Argument(0), "topic")
	for i := 0; i < len(filters) && r.err == nil; i++ {
		r.err = checkFilter(filters[i])
	}
	r.call = newSubscribe(kind, filters, qos)
	return r
}
