package mqtt

import (
	"fmt"
	"time"
)

// dialect is one version of MQTT, and what of a session outlives its connection.
type dialect interface {
	// connect says CONNECT and blocks until the broker's CONNACK; closing the connection ends the wait.
	connect(conn *timedConn, h *hello, on listener) (wire, error)
}

// wire is a connection that the broker has accepted. One goroutine at a time makes the calls; they go out in the
// order they were made, and a call blocks while the socket takes nothing.
type wire interface {
	subscribe(filters []string, qos byte) answer
	unsubscribe(filters []string) answer
	publish(*outgoing) answer
	// disconnect says DISCONNECT, which has the limit to be written, and closes the connection. When it returns, every
	// message that was read has been handed on.
	disconnect(limit time.Duration)
}

// listener gets what comes from the network, in that order, from one goroutine.
type listener interface {
	arrived(*incoming)
	// lost comes last, unless disconnect was called.
	lost(error)
}

// answer is the broker's answer to a call.
type answer interface {
	// wait blocks until it is there, or the connection over: then answered is false.
	wait(over <-chan struct{}) (answered bool, err error)
}

// hello is what CONNECT says.
type hello struct {
	clientID, username, password string
	will                         *will
	keepalive                    time.Duration // 0 is off
	cleanSession                 bool
}

type outgoing struct {
	topic   string
	payload []byte
	qos     byte
	retain  bool
	user    []userProperty // MQTT 5
}

type incoming struct {
	topic    string
	payload  []byte
	received time.Time      // when its last byte left the socket
	user     []userProperty // MQTT 5
}

type userProperty struct{ key, value string }

const (
	mqtt311 = 4 // the protocol level of CONNECT
	mqtt5   = 5
)

func newDialect(version int) dialect {
	if version == mqtt5 {
		return newDialect5()
	}
	return newDialect3()
}

// protocolName is the value of the proto tag.
func protocolName(version int) string {
	if version == mqtt5 {
		return "MQTT/5.0"
	}
	return "MQTT/3.1.1"
}

// refusal is a CONNACK that says no.
type refusal struct {
	reason string
	change string // what a script author can do, may be empty
}

func (r *refusal) Error() string {
	if r.change == "" {
		return "the broker refused: " + r.reason
	}
	return fmt.Sprintf("the broker refused: %s: %s", r.reason, r.change)
}

const (
	changeCredentials = "set username and password in new Client({…}), or check the broker's access rules"
	changeClientID    = "set another client_id in new Client({…})"
	changeServer      = "it takes no clients now"
)

// answered is an answer that is known at once.
type answered struct{ err error }

func (a answered) wait(<-chan struct{}) (bool, error) { return true, a.err }

// first waits for an answer or the end of the connection; when both are there the answer counts.
func first[T any](reply <-chan T, over <-chan struct{}) (value T, ok bool) {
	select {
	case value = <-reply:
		return value, true
	case <-over:
	}
	select {
	case value = <-reply:
		return value, true
	default:
		return value, false
	}
}
