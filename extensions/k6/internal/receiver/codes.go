package receiver

import (
	"errors"

	"github.com/eclipse/paho.golang/packets"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
)

// ErrTakenOver means that another client has connected with the same client id. Only MQTT 5 reports it, and not
// every broker (Mosquitto since 2.0.15); otherwise it looks like a lost connection.
var ErrTakenOver = errors.New("session taken over: another client has connected with our client id")

// ErrRefused is a permanent refusal by the broker: wrong credentials, a forbidden topic, an unsupported version
// of MQTT.
var ErrRefused = errors.New("refused by the MQTT broker")

// refusal is the text of a reason code.
type refusal struct {
	words string
	final bool
}

func (r *refusal) Error() string { return r.words }

func (r *refusal) Is(target error) bool { return r.final && target == ErrRefused }

// refused turns a reason code, and what the broker adds, into an error.
func refused(code byte, said *mqttwire.Said) error {
	final := true
	switch code { // temporary ones
	case packets.ConnackServerUnavailable, packets.ConnackServerBusy, packets.DisconnectServerShuttingDown,
		packets.ConnackQuotaExceeded, packets.ConnackConnectionRateExceeded:
		final = false
	}
	return &refusal{said.Words(code), final}
}
