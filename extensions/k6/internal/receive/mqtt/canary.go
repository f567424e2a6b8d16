package mqtt

import (
	"context"
	"fmt"

	"github.com/arrival-bench/arrival/extensions/k6/internal/mqtt"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receive"
	"github.com/arrival-bench/arrival/extensions/k6/internal/receiver"
	"github.com/arrival-bench/arrival/extensions/k6/internal/run"
	"github.com/arrival-bench/arrival/extensions/k6/internal/socket"
)

// Canary connects the canary, and subscribes to its own topic. With a filter of the user's its messages have the target
// of the first flow, since that arrives there.
func (o *Options) Canary(ctx context.Context, parts *run.Parts, m receive.Means) (*receive.Path, error) {
	target := "canary/" + parts.Name
	topic := o.Prefix + target
	if o.Filter != "" {
		target, topic = parts.Profile.Flows[0].TargetOf(0), o.Filter
	}
	l := o.line(m.Network, parts.Name, "canary", []string{topic})
	if err := l.connect(ctx); err != nil {
		return nil, fmt.Errorf("%w (the canary's topic; canary: false leaves it out)", err)
	}
	if parts.Bodies.InHeader() {
		l.within = parts.Bodies.Within
	}
	path := &receive.Path{Target: target, At: topic, Line: l}
	if o.Filter != "" {
		path.Ask = ", what others publish there: FILTER"
	}
	return path, nil
}

// Read implements receive.Line.
func (l *line) Read(take func(payload []byte, at socket.Arrival)) error {
	return l.conn.Read("", func(messages []receiver.Message) {
		for _, m := range messages {
			text := m.Payload
			if l.within != nil {
				text = l.within(text,
					func(name string) string { return string(mqtt.FindUserProperty(m.Properties, name)) })
			}
			take(text, m.Arrival)
		}
	})
}
