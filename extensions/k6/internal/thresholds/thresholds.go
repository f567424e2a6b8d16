// Package thresholds turns the thresholds of k6's options into rules and judges them itself: k6's flags may disable
// thresholds, or hide them from the script.
package thresholds

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.k6.io/k6/v2/metrics"

	"github.com/arrival-bench/arrival/extensions/k6/internal/judge"
	"github.com/arrival-bench/arrival/extensions/k6/internal/ledger"
	"github.com/arrival-bench/arrival/extensions/k6/internal/runfile"
)

// limits holds the figures that thresholds are judged by.
type limits struct {
	own      map[string]float64                // this module's metrics; nil before the run has ended
	k6       func(name string) *metrics.Metric // k6's metrics; nil before k6 has ended the test
	ingested bool                              // k6 has aggregated the samples
	duration time.Duration                     // length of the test, for rates
}

// None is the threshold of something that must not happen.
const None = "count==0"

// AccountEnds are the metrics that every run has a limit for. A script's own threshold replaces it.
var AccountEnds = accountEnds()

func accountEnds() (names []string) {
	for _, count := range ledger.JudgedCounts(ledger.Always) {
		names = append(names, count.Name)
	}
	return append(names, runfile.FailedRequests)
}

// judge returns a rule for each threshold of the script, and the ends of the account that it has thresholds for.
// builtIn are the thresholds of every run.
func (l limits) judge(
	thresholds map[string]metrics.Thresholds, builtIn map[string][]string,
) (rules []runfile.Rule, replaced []string) {
	for _, metric := range slices.Sorted(maps.Keys(thresholds)) {
		sources := []string{}
		for _, t := range thresholds[metric].Thresholds {
			sources = append(sources, t.Source)
		}
		if len(sources) == 0 || metric == "arrival_invalid" || slices.Equal(sources, builtIn[metric]) {
			continue // the rules themselves judge it
		}
		if end := strings.TrimPrefix(metric, "arrival_"); slices.Contains(AccountEnds, end) {
			replaced = append(replaced, end)
		}
		for _, source := range sources {
			rules = append(rules, l.rule(metric, source))
		}
	}
	return rules, replaced
}

// expression is a threshold of k6: an aggregation, an operator and a number.
var expression = regexp.MustCompile(`^\s*(p\(\s*[\d.]+\s*\)|[a-z]+)\s*(>=|<=|===?|!=|<|>)\s*(\S+)\s*$`)

func (l limits) rule(metric, source string) runfile.Rule {
	r := runfile.Rule{Name: metric, Result: runfile.Fail}
	parts := expression.FindStringSubmatch(source)
	if parts == nil {
		return r.Unjudged(source)
	}
	limit, err := strconv.ParseFloat(parts[3], 64)
	if err != nil || math.IsInf(limit, 0) || math.IsNaN(limit) { // k6 takes Infinity, and JSON has none
		return r.Unjudged(source)
	}
	aggregation := strings.ReplaceAll(parts[1], " ", "")
	if aggregation != "count" && aggregation != "value" {
		r.Name += " " + aggregation
	}
	r.Op, r.Limit, r.Unit = parts[2], &limit, l.unit(metric, aggregation)
	measured, known := l.measured(metric, aggregation)
	if _, _, ok := runfile.WithinMetric(metric); ok { // reports show the share in per cent
		limit, measured = percent(limit), percent(measured)
	}
	if !known {
		return r
	}
	r.OK = new(judge.Holds(measured, r.Op, limit))
	if measured != Unmeasured {
		r.Value = finite(measured)
	}
	if !*r.OK {
		r.Reason = r.Broken()
	}
	return r
}

// Unmeasured is the value of a Gauge, in ms or s, without a measurement: it crosses any threshold.
const Unmeasured = 1e9

// percent converts a share and rounds off floating-point noise.
func percent(share float64) float64 { return math.Round(share*1e14) / 1e12 }

// finite returns nil for a value that JSON can't hold.
func finite(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

func (l limits) measured(metric, aggregation string) (float64, bool) {
	if v, ok := l.own[metric]; ok {
		if aggregation == "rate" && l.duration > 0 {
			v /= l.duration.Seconds()
		}
		return v, true
	}
	if l.k6 == nil {
		return 0, false
	}
	m := l.k6(metric)
	if m == nil {
		return 0, false
	}
	return aggregated(m.Sink, aggregation, l.duration, l.ingested)
}

// aggregated is the value that k6 would compare with the limit. Without a sample it is unknown, where k6 would accept
// any value; only a counter without samples is 0.
func aggregated(sink metrics.Sink, aggregation string, duration time.Duration, ingested bool) (float64, bool) {
	if counter, ok := sink.(*metrics.CounterSink); ok && ingested {
		v, known := counter.Format(duration)[aggregation]
		return v, known
	}
	if sink.IsEmpty() {
		return 0, false
	}
	if trend, ok := sink.(*metrics.TrendSink); ok && strings.HasPrefix(aggregation, "p(") {
		p, err := strconv.ParseFloat(strings.Trim(aggregation, "p()"), 64)
		return trend.P(p / 100), err == nil
	}
	v, known := sink.Format(duration)[aggregation]
	return v, known
}

// unit is the unit of an aggregation of a metric or of a submetric. The rate of a counter is per second, and that of a
// Rate is a share.
func (l limits) unit(name, aggregation string) string {
	unit, counter := l.unitOf(name)
	if counter && aggregation == "rate" {
		return cmp.Or(unit, "1") + "/s"
	}
	return unit
}

func (l limits) unitOf(name string) (unit string, counter bool) {
	metric, _, _ := strings.Cut(name, "{")
	if _, _, ok := runfile.WithinMetric(metric); ok {
		return "%", false
	}
	if unit := runfile.ScriptUnit(metric); unit != "" {
		return unit, false
	}
	switch {
	case metric == "arrival_p99" || metric == "arrival_latency" ||
		strings.HasPrefix(metric, "http_req_") && metric != "http_req_failed":
		return "ms", false
	case metric == "arrival_"+runfile.FailedRequests:
		return "requests", true
	case strings.HasPrefix(metric, "arrival_"):
		return "messages", true
	}
	if l.k6 == nil {
		return "", false
	}
	m := l.k6(name)
	if m == nil {
		return "", false
	}
	counter = m.Type == metrics.Counter
	switch m.Contains {
	case metrics.Time:
		return "ms", counter
	case metrics.Data:
		return "bytes", counter
	default:
		return "", counter
	}
}

// crossed reports whether a threshold on this module's metrics is crossed, so that k6 itself will exit with 99.
func (l limits) crossed(thresholds map[string]metrics.Thresholds) bool {
	for metric, all := range thresholds {
		for _, t := range all.Thresholds {
			if r := l.rule(metric, t.Source); r.OK != nil && !*r.OK {
				return true
			}
		}
	}
	return false
}

func find(registry *metrics.Registry) func(name string) *metrics.Metric {
	return func(name string) *metrics.Metric {
		base, tags, sub := strings.Cut(name, "{")
		m := registry.Get(base)
		if m == nil || !sub {
			return m
		}
		// k6 has one submetric for all names with the same tags. AddSubmetric finds it; a new one stays in the copy.
		parent := *m
		parent.Submetrics = slices.Clip(parent.Submetrics)
		found, err := parent.AddSubmetric(strings.TrimSuffix(tags, "}"))
		if err != nil || !slices.Contains(m.Submetrics, found) {
			return nil
		}
		return found.Metric
	}
}
