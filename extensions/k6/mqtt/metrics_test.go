package mqtt

import (
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/metrics"
)

// sums returns totals by "metric{value,…}", with the values of the given tags.
func sums(samples []metrics.Sample, tags ...string) map[string]float64 {
	total := make(map[string]float64)
	for _, sample := range samples {
		var labels []string
		for _, name := range tags {
			if value, ok := sample.Tags.Get(name); ok {
				labels = append(labels, value)
			}
		}
		total[sample.Metric.Name+"{"+strings.Join(labels, ",")+"}"] += sample.Value
	}
	return total
}

const countedScript = `
	const client = new Client({ client_id: "counted", tags: { fleet: 7 }, tag_topic: TAG_TOPIC });
	let n = 0;
	client.on("message", () => { if (++n === 3) { client.unsubscribe(["a", "b"], { tags: { step: "leave" } }); client.end(); } });
	client.connect(broker, { tags: { site: "here" } });
	client.subscribe(["a", "b"]);
	client.publish("a", "12345", { tags: { step: "one" } });
	client.publish("b", new Uint8Array(100).buffer, { qos: 1 });
	client.publish("b", "é");
	try { client.publish("+", "x") } catch {}`

func TestMetrics(t *testing.T) { eachBroker(t, testMetrics) }

func testMetrics(t *testing.T, v int, newBroker brokerMaker) {
	b := newBroker(t, &rules{})
	s := newScript(t, v, b).start()
	s.run(strings.Replace(countedScript, "TAG_TOPIC", "false", 1))
	samples := s.collected()
	assert.Equal(t, map[string]float64{
		"mqtt_calls{connect}":             1,
		"mqtt_calls{subscribe}":           2,
		"mqtt_calls{publish}":             4,
		"mqtt_calls{message}":             3,
		"mqtt_calls{unsubscribe}":         2,
		"mqtt_calls{end}":                 1,
		"mqtt_messages_sent{publish}":     3,
		"mqtt_messages_received{message}": 3,
		"mqtt_errors{publish}":            1,
		"data_sent{publish}":              107,
		"data_received{message}":          107,
	}, sums(samples, "method"))
	for _, sample := range samples {
		tags := sample.Tags.Map()
		assert.Equal(t, protocolName(v), tags["proto"])
		assert.Equal(t, "counted", tags["client_id"])
		assert.Equal(t, "mqtt://"+b.address, tags["url"])
		assert.Equal(t, "7", tags["fleet"])
		assert.Equal(t, "here", tags["site"])
		assert.NotContains(t, tags, "topic")
	}
	assert.Equal(t, 1.0, sums(samples, "step")["mqtt_messages_sent{one}"])
	assert.Equal(t, 2.0, sums(samples, "step")["mqtt_calls{leave}"])
}

func TestTopicTagOnlyWhenAskedFor(t *testing.T) { eachVersion(t, testTopicTagOnlyWhenAskedFor) }

func testTopicTagOnlyWhenAskedFor(t *testing.T, v int) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	s.run(strings.Replace(countedScript, "TAG_TOPIC", "true", 1))
	total := sums(s.collected(), "method", "topic")
	assert.Equal(t, 1.0, total["mqtt_messages_sent{publish,a}"])
	assert.Equal(t, 2.0, total["mqtt_messages_received{message,b}"])
	assert.Equal(t, 1.0, total["mqtt_calls{subscribe,b}"])
	assert.Equal(t, 1.0, total["mqtt_calls{connect}"])
}

// data_sent and data_received hold payload bytes only. k6's dialer would add the bytes on the wire.
func TestBytesAreNotCountedTwice(t *testing.T) { eachVersion(t, testBytesAreNotCountedTwice) }

func testBytesAreNotCountedTwice(t *testing.T, v int) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	s.run(`const client = new Client(); client.connect(broker); client.publish("t", "12345", { qos: 1 }); client.end()`)
	assert.Zero(t, dialerOf(s.VU.StateField).BytesWritten)
	assert.Zero(t, dialerOf(s.VU.StateField).BytesRead)
	assert.Equal(t, 5.0, sums(s.collected())["data_sent{}"])
}

func TestTagsOfTheVUAreCurrent(t *testing.T) { eachBroker(t, testTagsOfTheVUAreCurrent) }

func testTagsOfTheVUAreCurrent(t *testing.T, v int, newBroker brokerMaker) {
	s := newScript(t, v, newBroker(t, &rules{})).start()
	require.NoError(t, s.VU.Runtime().Set("phase", func(name string) {
		s.VU.StateField.Tags.Modify(func(tm *metrics.TagsAndMeta) { tm.SetTag("phase", name) })
	}))
	s.run(`
		const client = new Client(); client.connect(broker);
		phase("one"); client.publish("t", "x"); phase("two"); client.publish("t", "x"); client.publish("t", "x");
		client.end()`)
	total := sums(s.collected(), "phase")
	assert.Equal(t, 1.0, total["mqtt_messages_sent{one}"])
	assert.Equal(t, 2.0, total["mqtt_messages_sent{two}"])
}

func TestInstrumentsAreCounters(t *testing.T) {
	s := newScript(t, mqtt311, nil)
	var names []string
	for _, metric := range s.VU.InitEnvField.Registry.All() {
		if strings.HasPrefix(metric.Name, "mqtt_") {
			names = append(names, metric.Name)
			assert.Equal(t, metrics.Counter, metric.Type)
		}
	}
	sort.Strings(names)
	assert.Equal(t, []string{"mqtt_calls", "mqtt_errors", "mqtt_messages_received", "mqtt_messages_sent"}, names)
}
