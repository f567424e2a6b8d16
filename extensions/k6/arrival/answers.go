package arrival

import (
	"errors"
	"fmt"
	"time"

	"github.com/arrival-bench/arrival/extensions/k6/internal/hops"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/pacer"
)

// checkAnswers is about a run without a broker: a message has arrived when its request is accepted.
func (o *options) checkAnswers() error {
	switch {
	case o.MQTT.URL != "" || o.Queue != nil || o.Publishers != nil:
		return errors.New("answers is set, so nothing arrives by mqtt, queue or publishers: leave these out")
	case o.Canary:
		return errors.New("answers is set, and the canary arrives by MQTT: canary: false")
	}
	for _, f := range o.profile.Flows {
		if f.Deliveries != 1 {
			return fmt.Errorf("a request is answered once, but flow %q has %d deliveries", f.Name, f.Deliveries)
		}
	}
	return nil
}

// arriveAnswered hands the messages of an accepted request to the ledger. Their way ends with the request.
func (e *engine) arriveAnswered(slot pacer.Slot, done time.Time) {
	at := e.clock.At(done)
	arrivals := make([]ledger.Arrival, slot.Messages)
	for i := range arrivals {
		arrivals[i] = ledger.Arrival{Seq: slot.FirstSeq + i, At: at, Waited: -1, Stamped: true, Stamps: hops.Stamps{Received: at}}
	}
	e.answers.Load().hand(e.ledger.Arrive(0, arrivals, nil))
}
