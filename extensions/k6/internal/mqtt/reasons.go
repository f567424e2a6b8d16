package mqtt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/eclipse/paho.golang/packets"
)

// Violation is a packet that the standard forbids. A client of MQTT 5 disconnects with Code (4.13.1).
type Violation struct {
	Code byte
	What string
}

func (v *Violation) Error() string { return Reason(v.Code) + ": " + v.What }

func malformed(format string, values ...any) error {
	return &Violation{packets.DisconnectMalformedPacket, fmt.Sprintf(format, values...)}
}

// ProtocolError is a Violation by a well-formed packet that is not allowed there (MQTT 5, 1.2).
func ProtocolError(format string, values ...any) error {
	return &Violation{packets.DisconnectProtocolError, fmt.Sprintf(format, values...)}
}

// Failed is the least reason code that reports a failure (MQTT 5, 2.4).
const Failed = 0x80

// reasons names the codes from Failed on (MQTT 5, 2.4).
var reasons = [...]string{
	"Unspecified error", "Malformed Packet", "Protocol Error", "Implementation specific error",
	"Unsupported Protocol Version", "Client Identifier not valid", "Bad User Name or Password", "Not authorized",
	"Server unavailable", "Server busy", "Banned", "Server shutting down", "Bad authentication method",
	"Keep Alive timeout", "Session taken over", "Topic Filter invalid", "Topic Name invalid",
	"Packet Identifier in use", "Packet Identifier not found", "Receive Maximum exceeded", "Topic Alias invalid",
	"Packet too large", "Message rate too high", "Quota exceeded", "Administrative action",
	"Payload format invalid", "Retain not supported", "QoS not supported", "Use another server",
	"Server moved", "Shared Subscriptions not supported",
	"Connection rate exceeded", "Maximum connect time", "Subscription Identifiers not supported",
	"Wildcard Subscriptions not supported",
}

// Reason is the standard's name of a reason code from Failed on.
func Reason(code byte) string {
	if i := int(code) - Failed; i >= 0 && i < len(reasons) {
		return reasons[i]
	}
	return fmt.Sprintf("reason code 0x%02x", code)
}

// ErrRefused is a permanent refusal by the broker: wrong credentials, a forbidden topic, an unsupported version of
// MQTT.
var ErrRefused = errors.New("refused by the MQTT broker")

// ReasonError is a reason code, with what the broker adds, as an error.
type ReasonError struct {
	Code byte
	Text string
	Old  bool // a CONNACK in the form of 3.1.1
}

// Err returns the code of the answer as an error.
func (a *Answer) Err() *ReasonError {
	return &ReasonError{Code: a.Code, Text: a.Properties.Text(a.Code), Old: a.Old}
}

func (r *ReasonError) Error() string { return r.Text }

// Is reports whether a refusal is ErrRefused: not where another attempt may succeed.
func (r *ReasonError) Is(target error) bool {
	switch r.Code {
	case packets.ConnackServerUnavailable, packets.ConnackServerBusy, packets.DisconnectServerShuttingDown,
		packets.ConnackQuotaExceeded, packets.ConnackConnectionRateExceeded:
		return false
	}
	return target == ErrRefused
}

// Text is the text of a reason code, with the reason string of the broker.
func (s *Properties) Text(code byte) string {
	name := Reason(code)
	if s.Reason != "" && plain(s.Reason) != plain(name) {
		name += " (" + s.Reason + ")"
	}
	return name
}

func plain(text string) string { return strings.ToLower(strings.ReplaceAll(text, " ", "")) }
