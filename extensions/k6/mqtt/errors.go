package mqtt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
)

const setUser = "set username and password in new Client({…}), or check the broker's access rules"

// changes is what a script author can do about the reason code of a CONNACK (MQTT 5, 3.2.2.2).
var changes = map[byte]string{
	packets.ConnackBadUsernameOrPassword:      setUser,
	packets.ConnackNotAuthorized:              setUser,
	packets.ConnackInvalidClientID:            "set another client_id in new Client({…})",
	packets.ConnackUnsupportedProtocolVersion: "set another protocol_version in new Client({…}), 4 or 5",
	packets.ConnackServerUnavailable:          "it takes no clients now",
	packets.ConnackServerBusy:                 "it takes no clients now",
}

// refusedError is the error of a CONNACK that refuses a client of this version, with advice.
func refusedError(s *server, r *mqtt.ReasonError, version int) error {
	change := changes[r.Code]
	switch {
	case r.Old && version == mqtt5:
		return fmt.Errorf("%s: the broker refused: it speaks MQTT 3.1.1 only: leave protocol_version out", s.label)
	case change == "":
		return fmt.Errorf("%s: the broker refused: %w", s.label, r)
	}
	return fmt.Errorf("%s: the broker refused: %w: %s", s.label, r, change)
}

// connectError is the error of a failed connection, with advice.
func connectError(s *server, err error, version int, timeout time.Duration) error {
	var failed *mqtt.ConnectError
	if errors.As(err, &failed) {
		err = protocolError(failed.Err) // scripts know a server by its label
	}
	var refused *mqtt.ReasonError
	var timedOut net.Error
	if errors.As(err, &refused) {
		return refusedError(s, refused, version)
	}
	advice := ""
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		advice = "nothing listens there: start the broker or correct the address"
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: interrupted, the iteration was stopped: %w", s.label, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &timedOut) && timedOut.Timeout():
		return fmt.Errorf("%s: no answer within %d ms: correct the address or raise connect_timeout: %w",
			s.label, timeout.Milliseconds(), err)
	case errors.Is(err, errProtocol):
		advice = "is it an MQTT broker, with TLS as the scheme says?"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		advice = "the peer closed the connection: is it an MQTT broker, with TLS as the scheme says?"
	}
	if advice == "" {
		return fmt.Errorf("%s: %w", s.label, err)
	}
	return fmt.Errorf("%s: %w: %s", s.label, err, advice)
}

// errorObject makes the Error that scripts get: name "MQTTError", message, and method, the call that failed.
func (c *client) errorObject(method string, err error) *sobek.Object {
	object, thrown := c.rt.New(c.rt.GlobalObject().Get("Error"), c.rt.ToValue(err.Error()))
	c.settled(thrown)
	// Enumerable, so that JSON.stringify(error) shows all three.
	for name, value := range map[string]string{"name": "MQTTError", "message": err.Error(), "method": method} {
		define(object, name, c.rt.ToValue(value))
	}
	return object
}

// fail hands an error to the error handler or, without one, throws it. Event loop only.
func (c *client) fail(method string, err error) {
	c.countError(method)
	object := c.errorObject(method, err)
	if c.handlers[eventError] == nil {
		panic(object)
	}
	c.settled(c.emitError(object))
}

// emitError calls the error handler. An error while the handler runs, as from a reconnect() in it, waits for its own
// turn: nested calls could fill the stack.
func (c *client) emitError(object *sobek.Object) error {
	if c.handlingError {
		c.loop.hold()
		c.loop.post(func() error {
			defer c.loop.release()
			return c.emitError(object)
		})
		return nil
	}
	c.handlingError = true
	defer func() { c.handlingError = false }()
	return c.emit(eventError, object)
}

// rethrow throws an error of JavaScript code again. Errors that scripts can't catch stay so.
func (c *client) rethrow(err error) {
	switch err.(type) {
	case *sobek.InterruptedError, *sobek.StackOverflowError:
		panic(err)
	}
	common.Throw(c.rt, err)
}
