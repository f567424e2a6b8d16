package arrival

import (
	"errors"
	"fmt"
)

// checkAnswers checks a run without a broker: a message has arrived when its request is accepted.
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
