package mqtt

import (
	"cmp"
	"errors"
	"time"

	"github.com/grafana/sobek"
)

// endCall is client.end(options): when it returns, every message that arrived was delivered and the end event has
// fired. Only within the message handler, while more messages wait, both follow right after the handler: a handler
// that hasn't returned isn't called again.
func (c *client) endCall(call sobek.FunctionCall) sobek.Value {
	tags := c.endTags("client.end", call)
	l := c.link
	if l == nil {
		c.settled(c.emitEnd())
		return sobek.Undefined()
	}
	c.countEnd(l, tags)
	l.shut()
	if c.handlingMessage && c.loop.waiting() {
		c.endAfterMessage = l
		return sobek.Undefined()
	}
	c.settled(c.finishAfter(l, true, true))
	return sobek.Undefined()
}

// endAsyncCall is client.endAsync(options); its promise resolves after the end event.
func (c *client) endAsyncCall(call sobek.FunctionCall) sobek.Value {
	promise, resolve, reject := c.rt.NewPromise()
	var tags map[string]string
	if thrown := c.rt.Try(func() { tags = c.endTags("client.endAsync", call) }); thrown != nil {
		c.settled(reject(thrown.Value()))
		return c.rt.ToValue(promise)
	}
	l := c.link
	if l == nil {
		c.settled(c.emitEnd())
		c.settled(resolve(sobek.Undefined()))
		return c.rt.ToValue(promise)
	}
	c.countEnd(l, tags)
	c.loop.hold()
	go func() {
		l.shut()
		c.loop.post(func() error {
			defer c.loop.release()
			if err := c.finish(l, true); err != nil {
				return err
			}
			if l.ctx.Err() != nil {
				return nil
			}
			return resolve(sobek.Undefined())
		})
	}()
	return c.rt.ToValue(promise)
}

func (c *client) endTags(name string, call sobek.FunctionCall) map[string]string {
	return c.args(name).options(call.Argument(0), "options", "tags").tags()
}

// countEnd counts one end for each connection, however often end() is called.
func (c *client) countEnd(l *link, tags map[string]string) {
	if !l.closing {
		l.closing = true
		c.push(time.Now(), "end", "", tags, measure{c.in.calls, 1})
	}
}

// finishAfter finishes a link; if it drains, it first delivers the messages that arrived. Event loop only.
func (c *client) finishAfter(l *link, drains, withEnd bool) (err error) {
	if drains {
		err = c.loop.drain()
	}
	return cmp.Or(err, c.finish(l, withEnd))
}

// finish fires the events at the end of a link, once: error for a lost connection, then end unless withEnd is false or
// a handler has connected again. Event loop only.
func (c *client) finish(l *link, withEnd bool) error {
	if l.finished {
		return nil
	}
	l.finished = true
	l.stopWatching()
	if c.link == l {
		c.link = nil
	}
	defer c.loop.release()
	if l.ctx.Err() != nil {
		if l.undelivered > 0 {
			l.logger.Warnf("MQTT: the iteration was stopped before its message handler got to %d messages "+
				"that had arrived", l.undelivered)
		}
		return nil
	}
	if !errors.Is(l.cause, errEnded) {
		if err := c.lost(l.cause); err != nil {
			return err
		}
	}
	if withEnd && c.link == nil {
		return c.emitEnd()
	}
	return nil
}

// lost reports a lost connection through the error event: no call is in progress that could throw it.
func (c *client) lost(cause error) error {
	c.countError("connect")
	if c.handlers[eventError] == nil {
		c.logger().Errorf("MQTT: %s: %v", c.url, cause)
		return nil
	}
	return c.emitError(c.errorObject("connect", cause))
}

// emitEnd fires the end event, once until the client connects again.
func (c *client) emitEnd() error {
	if c.ended {
		return nil
	}
	c.ended = true
	return c.emit(eventEnd)
}

// settled passes on an error that JavaScript code returned.
func (c *client) settled(err error) {
	if err != nil {
		c.rethrow(err)
	}
}
