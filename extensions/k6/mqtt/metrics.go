package mqtt

import (
	"time"

	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/metrics"
)

// instruments are the metrics of the module, all of them counters.
type instruments struct {
	calls    *metrics.Metric // connects, reconnects, ends, topics (un)subscribed, publishes and messages delivered
	sent     *metrics.Metric // messages published
	received *metrics.Metric // messages handed to the script
	errors   *metrics.Metric // failed calls and lost connections
}

func registerMetrics(registry *metrics.Registry) (*instruments, error) {
	in := &instruments{}
	for name, metric := range map[string]**metrics.Metric{
		"mqtt_calls":             &in.calls,
		"mqtt_messages_sent":     &in.sent,
		"mqtt_messages_received": &in.received,
		"mqtt_errors":            &in.errors,
	} {
		var err error
		if *metric, err = registry.NewMetric(name, metrics.Counter); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// measure is one metric and what to add to it.
type measure struct {
	metric *metrics.Metric
	value  float64
}

// push emits the measures with the tags of a call; nothing once the VU's context has ended. Event loop only.
// topic may be empty, own holds the tags given to the call itself.
func (c *client) push(at time.Time, method, topic string, own map[string]string, measures ...measure) {
	state := c.vu.State()
	if state == nil {
		return
	}
	ctm := c.sampleTags(state, method, topic, own)
	samples := make([]metrics.Sample, len(measures))
	for i, m := range measures {
		samples[i] = metrics.Sample{
			TimeSeries: metrics.TimeSeries{Metric: m.metric, Tags: ctm.Tags},
			Time:       at,
			Metadata:   ctm.Metadata,
			Value:      m.value,
		}
	}
	metrics.PushIfNotDone(c.vu.Context(), state.Samples, metrics.ConnectedSamples{
		Samples: samples, Tags: ctm.Tags, Time: at,
	})
}

// tagKey is what the tags of a sample depend on while the connection stays the same.
type tagKey struct {
	base   *metrics.TagSet
	method string
}

func (c *client) sampleTags(state *lib.State, method, topic string, own map[string]string) metrics.TagsAndMeta {
	ctm := state.Tags.GetCurrentValues()
	base := ctm.Tags
	if tags, ok := c.tagCache[tagKey{base, method}]; ok {
		ctm.Tags = tags
	} else {
		system := state.Options.SystemTags
		ctm.SetSystemTagOrMetaIfEnabled(system, metrics.TagProto, protocolName(c.options.version))
		if c.url != "" {
			ctm.SetSystemTagOrMetaIfEnabled(system, metrics.TagURL, c.url)
		}
		if c.options.clientID != "" {
			ctm.SetTag("client_id", c.options.clientID)
		}
		ctm.Tags = withTags(withTags(ctm.Tags, c.options.tags), c.connectTags)
		ctm.SetSystemTagOrMetaIfEnabled(system, metrics.TagMethod, method)
		if len(c.tagCache) >= maxCachedTags {
			clear(c.tagCache)
		}
		c.tagCache[tagKey{base, method}] = ctm.Tags
	}
	ctm.Tags = withTags(ctm.Tags, own)
	if c.options.tagTopic && topic != "" {
		ctm.SetTag("topic", topic)
	}
	return ctm
}

// maxCachedTags bounds the cache for scripts that change the VU's tags all the time.
const maxCachedTags = 64

func withTags(tags *metrics.TagSet, more map[string]string) *metrics.TagSet {
	for name, value := range more {
		tags = tags.With(name, value)
	}
	return tags
}

// protocolName is the value of the proto tag.
func protocolName(version int) string {
	if version == mqtt5 {
		return "MQTT/5.0"
	}
	return "MQTT/3.1.1"
}
