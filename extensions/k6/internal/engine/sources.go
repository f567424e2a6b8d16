package engine

import (
	"errors"
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/answers"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/arrived"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/queue"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/sse"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/webhook"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive/websocket"
	"github.com/arrival-bench/arrival/extensions/k6/internal/stages"
)

// sources are the options that say where messages arrive. A run has one of them; mqtt is the one of a run without
// another.
type sources struct {
	MQTT      mqtt.Options       `json:"mqtt"`
	Queue     *queue.Options     `json:"queue"`
	Answers   answers.Options    `json:"answers"`
	Arrived   *arrived.Options   `json:"arrived"`
	Webhook   *webhook.Options   `json:"webhook"`
	WebSocket *websocket.Options `json:"websocket"`
	SSE       *sse.Options       `json:"sse"`
}

// given returns the one that a run has. Beside queue, mqtt may be set, as scripts of the pipeline's stages have it.
func (s *sources) given() (receive.Source, error) {
	source, name := receive.Source(&s.MQTT), "mqtt"
	for _, one := range []struct {
		name   string
		given  bool
		source receive.Source
	}{
		{"queue", s.Queue != nil, s.Queue},
		{"answers", bool(s.Answers), s.Answers},
		{"arrived", s.Arrived != nil, s.Arrived},
		{"webhook", s.Webhook != nil, s.Webhook},
		{"websocket", s.WebSocket != nil, s.WebSocket},
		{"sse", s.SSE != nil, s.SSE},
	} {
		switch {
		case !one.given:
		case name != "mqtt":
			return nil, fmt.Errorf("%s and %s are set, but messages arrive in one place: leave one of them out", name,
				one.name)
		case one.name != "queue" && s.MQTT.URL != "":
			return nil, fmt.Errorf("%s is set, so nothing arrives by mqtt: leave out mqtt.url (MQTT_URL)", one.name)
		default:
			source, name = one.source, one.name
		}
	}
	return source, nil
}

// checkSource checks where messages arrive, and that the rest of the options fits.
func (o *Options) checkSource() (err error) {
	if o.source == nil {
		if o.source, err = o.given(); err != nil {
			return err
		}
	}
	unread := o.checkStamps() // read before Check sets defaults
	if err := o.source.Check(o.profile); err != nil {
		return err
	}
	if unread != nil {
		return unread
	}
	if o.MQTT.URL != "" && !o.fromMQTT() { // mqtt is checked too where messages arrive elsewhere
		if err := o.MQTT.Check(o.profile); err != nil {
			return err
		}
	}
	o.from = o.source.Describe()
	if err := o.checkStages(); err != nil {
		return err
	}
	if o.ids != nil && o.ids.Header != "" && o.from.Headers == "" {
		return fmt.Errorf("idFrom (ID_FROM) %q: messages have no header fields where they arrive here", o.ids)
	}
	switch {
	case o.Canary && o.from.NoCanary != "":
		return errors.New(o.from.NoCanary + ": canary: false")
	case o.Greet != nil && *o.Greet && o.from.NoGreeting != "":
		return errors.New(o.from.NoGreeting + ": greet: false")
	case o.Publishers == nil:
		return nil
	case !o.fromMQTT():
		return errors.New("publishers send to the broker where messages arrive: leave them out, " +
			"or what replaces mqtt (queue, answers, webhook, websocket, sse)")
	}
	return o.Publishers.Check(o.profile, len(o.MQTT.More))
}

func (o *Options) fromMQTT() bool { return o.source == receive.Source(&o.MQTT) }

// checkStamps refuses options of stamps without their clock: no stamp would be read.
func (o *Options) checkStamps() error {
	if o.Redis.URL != "" {
		return nil
	}
	for _, one := range []struct {
		name  string
		given bool
	}{
		{"stages (STAGES)", len(o.StageNames) > 0},
		{"webhook.hops (HOPS)", o.Webhook != nil && o.Webhook.Hops != ""},
		{"websocket.hops (HOPS)", o.WebSocket != nil && o.WebSocket.Hops != ""},
		{"sse.hops (HOPS)", o.SSE != nil && o.SSE.Hops != ""},
	} {
		if one.given {
			return fmt.Errorf("%s is set, but the clock of its stamps is that of Redis: redis.url (REDIS_URL) is missing",
				one.name)
		}
	}
	return nil
}

// checkStages sets the stages of a delivery: up to where the source has it.
func (o *Options) checkStages() (err error) {
	o.stages = stages.Default()
	if len(o.StageNames) > 0 {
		if o.stages, err = stages.Named(o.StageNames); err != nil {
			return fmt.Errorf("stages (STAGES): %w", err)
		}
	}
	if last := o.from.Last; last != "" {
		if o.stages = o.stages.Until(last); o.stages == nil {
			return fmt.Errorf("stages (STAGES) has no %q, after which messages have arrived here", last)
		}
	}
	return nil
}
