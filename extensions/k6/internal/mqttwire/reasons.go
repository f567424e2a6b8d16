package mqttwire

import (
	"fmt"
	"strings"
)

// Failed is the least reason code that reports a failure (MQTT 5, 2.4).
const Failed = 0x80

// reasons names the codes from Failed on (MQTT 5, 2.4).
var reasons = [...]string{
	"Unspecified error", "Malformed Packet", "Protocol Error", "Implementation specific error",
	"Unsupported Protocol Version", "Client Identifier not valid", "Bad User Name or Password", "Not authorized",
	"Server unavailable", "Server busy", "Banned", "Server shutting down", "Bad authentication method", "Keep Alive timeout",
	"Session taken over", "Topic Filter invalid", "Topic Name invalid", "Packet Identifier in use",
	"Packet Identifier not found", "Receive Maximum exceeded", "Topic Alias invalid", "Packet too large",
	"Message rate too high", "Quota exceeded", "Administrative action", "Payload format invalid", "Retain not supported",
	"QoS not supported", "Use another server", "Server moved", "Shared Subscriptions not supported",
	"Connection rate exceeded", "Maximum connect time", "Subscription Identifiers not supported",
	"Wildcard Subscriptions not supported",
}

func Reason(code byte) string {
	if i := int(code) - Failed; i >= 0 && i < len(reasons) {
		return reasons[i]
	}
	return fmt.Sprintf("reason code 0x%02x", code)
}

// Words name a reason code, and add what the broker says about it.
func (s *Said) Words(code byte) string {
	name := Reason(code)
	if s.Reason != "" && plain(s.Reason) != plain(name) {
		name += " (" + s.Reason + ")"
	}
	return name
}

func plain(text string) string { return strings.ToLower(strings.ReplaceAll(text, " ", "")) }
