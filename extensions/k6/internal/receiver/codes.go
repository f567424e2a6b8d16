package receiver

import (
	"errors"

	"github.com/eclipse/paho.golang/packets"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqttwire"
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

// refused puts a reason code into words, with what the broker adds.
func refused(code byte, said *mqttwire.Said) error {
	final := true
	switch code { // those that may be gone the next time
	case packets.ConnackServerUnavailable, packets.ConnackServerBusy, packets.DisconnectServerShuttingDown,
		packets.ConnackQuotaExceeded, packets.ConnackConnectionRateExceeded:
		final = false
	}
	return &refusal{said.Words(code), final}
}
