package mqtt

import (
	"fmt"
	"time"

	"github.com/grafana/sobek"
)

// request is one subscribe, unsubscribe or publish.
type request struct {
	method string // without "Async"; the method tag
	call   *call  // each of its topics counts as one
	tags   map[string]string
	sent   int   // payload bytes of a publish, else -1
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
	if r.sent >= 0 && err == nil {
		measures = append(measures,
			measure{c.in.sent, 1},
			measure{c.vu.State().BuiltinMetrics.DataSent, float64(r.sent)})
	}
	c.push(time.Now(), r.method, topic, r.tags, measures...)
}
