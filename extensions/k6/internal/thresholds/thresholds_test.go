package thresholds

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

func thresholdsOf(metric string, sources ...string) map[string]metrics.Thresholds {
	return map[string]metrics.Thresholds{metric: metrics.NewThresholds(sources)}
}

func TestAThresholdIsARule(t *testing.T) {
	t.Parallel()
	registry := metrics.NewRegistry()
	trend := registry.MustNewMetric("trend", metrics.Trend, metrics.Time)
	for _, v := range []float64{1, 2, 3, 4, 5} {
		trend.Sink.Add(metrics.Sample{Value: v})
	}
	rate := registry.MustNewMetric("rate", metrics.Rate)
	rate.Sink.Add(metrics.Sample{Value: 1})
	rate.Sink.Add(metrics.Sample{Value: 0})
	registry.MustNewMetric("silent", metrics.Trend)
	registry.MustNewMetric("gauge", metrics.Gauge)
	registry.MustNewMetric("counter", metrics.Counter)
	registry.MustNewMetric("bytes", metrics.Counter).Sink.Add(metrics.Sample{Value: 2e9})
	registry.MustNewMetric("data", metrics.Counter, metrics.Data).Sink.Add(metrics.Sample{Value: 10})
	registry.MustNewMetric("unbounded", metrics.Gauge).Sink.Add(metrics.Sample{Value: math.Inf(-1)})
	sub, err := registry.MustNewMetric("http_req_duration", metrics.Trend, metrics.Time).AddSubmetric("flow:a")
	require.NoError(t, err)
	sub.Metric.Sink.Add(metrics.Sample{Value: 7})
	l := limits{own: map[string]float64{"arrival_p99": 14.4, "arrival_rejected": 30, "arrival_within_250ms": 0.9987},
		k6: find(registry), ingested: true, duration: 10 * time.Second}
	held, crossed := new(true), new(false)
	for _, c := range []struct {
		metric, source, name string
		value                *float64
		unit                 string
		ok                   *bool
	}{
		{"arrival_p99", "value<250", "arrival_p99", new(14.4), "ms", held},
		{"arrival_p99", " value <= 14.4 ", "arrival_p99", new(14.4), "ms", held},
		{"arrival_p99", "value<0.1", "arrival_p99", new(14.4), "ms", crossed},
		{"arrival_within_250ms", "value>=0.999", "arrival_within_250ms", new(99.87), "%", crossed},
		{"arrival_within_250ms", "value>=0.998", "arrival_within_250ms", new(99.87), "%", held},
		{"arrival_rejected", "count<=30", "arrival_rejected", new(30.0), "messages", held},
		{"arrival_rejected", "rate<1e0", "arrival_rejected rate", new(3.0), "messages/s", crossed},
		{"trend", "p(99.9)<4", "trend p(99.9)", new(trend.Sink.(*metrics.TrendSink).P(0.999)), "ms", crossed},
		{"trend", "med===3", "trend med", new(3.0), "ms", held},
		{"trend", "max!=5", "trend max", new(5.0), "ms", crossed},
		{"trend", "min>=1", "trend min", new(1.0), "ms", held},
		{"trend", "avg>3", "trend avg", new(3.0), "ms", crossed},
		{"rate", "rate<0.5", "rate rate", new(0.5), "", crossed},
		{"counter", "count==0", "counter", new(0.0), "", held},
		{"http_req_duration{flow:a}", "max<8", "http_req_duration{flow:a} max", new(7.0), "ms", held},
		// regression: not judged
		{"http_req_duration{ flow: a }", "max<8", "http_req_duration{ flow: a } max", new(7.0), "ms", held},
		{"http_req_duration{flow:b}", "max<8", "http_req_duration{flow:b} max", nil, "ms", nil},
		{"silent", "p(95)<1", "silent p(95)", nil, "", nil}, // k6 passes it
		{"gauge", "value==0", "gauge", nil, "", nil},
		{"nowhere", "count<1", "nowhere", nil, "", nil},
		{"arrival_p99", "less than 5", "arrival_p99: less than 5", nil, "", nil},
		// regression: run.json could not be written
		{"arrival_p99", "value<Infinity", "arrival_p99: value<Infinity", nil, "", nil},
		{"arrival_p99", "value<NaN", "arrival_p99: value<NaN", nil, "", nil},
		{"counter", "rate<1", "counter rate", new(0.0), "1/s", held},
		{"data", "rate<1", "data rate", new(1.0), "bytes/s", crossed},
		{"bytes", "count<5", "bytes", new(2e9), "", crossed}, // regression: it was n/a
		{"unbounded", "value<5", "unbounded", nil, "", held},
	} {
		r := l.rule(c.metric, c.source)
		assert.Equal(t, c.name, r.Name)
		assert.Equal(t, c.value, r.Value, c.source)
		assert.Equal(t, c.ok, r.OK, "%s %s", c.metric, c.source)
		assert.Equal(t, c.unit, r.Unit, c.metric)
		assert.NotNil(t, r.Limit, "a rule without a limit counts as unset")
		assert.Equal(t, runfile.Fail, r.Result)
	}
	l.ingested = false
	assert.Nil(t, l.rule("counter", "count==0").OK, "k6 counted nothing")
	assert.Nil(t, limits{own: l.own}.rule("trend", "max<9").OK, "k6 has not finished counting")
	l.own["arrival_p99"] = Unmeasured
	r := l.rule("arrival_p99", "value<250")
	assert.Equal(t, crossed, r.OK)
	assert.Nil(t, r.Value)
}

func TestAScriptsLimitReplacesTheBuiltInOne(t *testing.T) {
	t.Parallel()
	l := limits{own: map[string]float64{"arrival_rejected": 3, "arrival_lost": 1, "arrival_invalid": 1}}
	builtIn := map[string][]string{"arrival_rejected": {None}, "arrival_lost": {None}}
	rules, replaced := l.judge(thresholdsOf("arrival_rejected", "count<10"), builtIn)
	assert.Equal(t, []string{"rejected"}, replaced)
	require.Len(t, rules, 1)
	assert.True(t, *rules[0].OK)
	_, replaced = l.judge(thresholdsOf("arrival_rejected"), builtIn)
	assert.Empty(t, replaced, "a metric without thresholds replaces no rule")
	for _, metric := range []string{"arrival_rejected", "arrival_lost", "arrival_invalid"} {
		rules, replaced = l.judge(thresholdsOf(metric, None), builtIn)
		assert.Empty(t, rules, "a built-in rule judges it")
		assert.Empty(t, replaced)
	}
}

// Regression: only k6 judged such a limit, so the run passed.
func TestALossLimitIsJudgedWithoutABuiltInRule(t *testing.T) {
	t.Parallel()
	l := limits{own: map[string]float64{"arrival_lost": 30}}
	for name, c := range map[string]struct {
		source  string
		builtIn map[string][]string
	}{
		"QoS 0":                {"count<10", nil},
		"QoS 0, none":          {None, nil},
		"QoS 1, beside a rule": {"count<10", map[string][]string{"arrival_lost": {None}}},
	} {
		rules, replaced := l.judge(thresholdsOf("arrival_lost", c.source), c.builtIn)
		if assert.Len(t, rules, 1, name) {
			assert.False(t, *rules[0].OK, name)
		}
		assert.Empty(t, replaced, "the rule stays")
	}
}

// Regression: a rate limit was compared with the count, so k6 was expected to exit with
// 99. It exited with 0.
func TestCrossedAgreesWithK6(t *testing.T) {
	t.Parallel()
	l := limits{own: map[string]float64{"arrival_arrived": 100}, duration: 10 * time.Second}
	assert.False(t, l.crossed(thresholdsOf("arrival_arrived", "rate<20")))
	assert.True(t, l.crossed(thresholdsOf("arrival_arrived", "rate<5")))
}
