package receiver

import (
	"errors"
	"fmt"

	"github.com/eclipse/paho.golang/packets"
)

// ErrTakenOver is how a connection ends whose client id another client has connected with. Only MQTT 5 tells it, and not
// every broker (Mosquitto since 2.0.15): otherwise it looks like a connection that was lost.
var ErrTakenOver = errors.New("session taken over: another client has connected with our client id")

// ErrRefused is a no of the broker that it would say again: wrong credentials, a topic that is not allowed, a version of
// MQTT that it does not speak.
var ErrRefused = errors.New("refused by the MQTT broker")

// refusal is a reason code in words.
type refusal struct {
	words string
	final bool
}

func (r *refusal) Error() string { return r.words }

func (r *refusal) Is(target error) bool { return r.final && target == ErrRefused }

// refused puts a reason code into words, with what the broker adds. old are those of MQTT 3.1.1.
func refused(old map[byte]string, version int, code byte, added string) error {
	words, ok := reasonWords[code], true
	if version == version311 || code < 0x80 {
		words, ok = old[code], old != nil
	}
	if !ok || words == "" {
		words = fmt.Sprintf("reason 0x%02x", code)
	}
	if added != "" {
		words += " (" + added + ")"
	}
	return &refusal{words, !passing(version, code)}
}

// passing tells a reason that may be gone the next time.
func passing(version int, code byte) bool {
	if version == version311 {
		return code == connack311Unavailable
	}
	switch code {
	case packets.ConnackServerUnavailable, packets.ConnackServerBusy, packets.DisconnectServerShuttingDown,
		packets.ConnackQuotaExceeded, packets.ConnackConnectionRateExceeded:
		return true
	}
	return false
}

// isAboutUser tells a CONNACK that is about the credentials.
func isAboutUser(version int, code byte) bool {
	if version == version311 {
		return code == connack311Credentials || code == connack311NotAuthorised
	}
	return code == packets.ConnackBadUsernameOrPassword || code == packets.ConnackNotAuthorized
}

const (
	connack311Unavailable   = 3
	connack311Credentials   = 4
	connack311NotAuthorised = 5
)

// connackWords are the return codes of CONNACK in MQTT 3.1.1 (3.2.2.3).
var connackWords = map[byte]string{
	1:                       "it does not speak the version of MQTT that was asked for",
	2:                       "client id not allowed",
	connack311Unavailable:   "MQTT service not available",
	connack311Credentials:   "bad user name or password",
	connack311NotAuthorised: "not authorised",
}

// subackWords are the return codes of SUBACK in MQTT 3.1.1 (3.9.3), which gives no reason.
var subackWords = map[byte]string{0x80: "no reason given; is the user allowed to read this topic?"}

// reasonWords are the reason codes of MQTT 5 (2.4).
var reasonWords = map[byte]string{
	0x80: "unspecified error",
	0x81: "malformed packet",
	0x82: "protocol error",
	0x83: "implementation specific error",
	0x84: "it does not speak the version of MQTT that was asked for",
	0x85: "client id not allowed",
	0x86: "bad user name or password",
	0x87: "not authorised",
	0x88: "server not available",
	0x89: "server busy",
	0x8a: "banned",
	0x8b: "server shutting down",
	0x8c: "bad authentication method",
	0x8d: "keep alive timeout",
	0x8e: "session taken over",
	0x8f: "topic filter not allowed",
	0x90: "topic name not allowed",
	0x91: "packet id in use",
	0x93: "receive maximum exceeded",
	0x94: "topic alias not allowed",
	0x95: "packet too large",
	0x96: "message rate too high",
	0x97: "quota exceeded",
	0x98: "administrative action",
	0x99: "payload format not allowed",
	0x9a: "retain not supported",
	0x9b: "QoS not supported",
	0x9c: "use another server",
	0x9d: "server moved",
	0x9e: "shared subscriptions not supported",
	0x9f: "connection rate exceeded",
	0xa0: "maximum connect time",
	0xa1: "subscription identifiers not supported",
	0xa2: "wildcard subscriptions not supported",
}
