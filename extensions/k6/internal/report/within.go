package report

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A limit on how many deliveries arrive in time is written as arrival.within(250ms) >= 99.9%. k6 knows it as the metric
// arrival_within_250ms, a share of 1, and a threshold on its value.

const withinPrefix = "arrival_within_"

var (
	withinName  = regexp.MustCompile(`^arrival\.within\(\s*([\d.]+\s*(?:us|µs|ms|s))\s*\)$`)
	withinShare = regexp.MustCompile(`^\s*(>=|>)\s*([\d.]+)\s*%\s*$`)
	withinLimit = regexp.MustCompile(`^\s*(arrival\.within\([^)]*\))(.*)$`)
)

// WithinMetric is the metric of arrival.within(250ms), given that text or the metric's name; ok is false for other names.
func WithinMetric(name string) (metric string, limit time.Duration, ok bool) {
	text, isMetric := strings.CutPrefix(name, withinPrefix)
	if parts := withinName.FindStringSubmatch(name); parts != nil {
		text = strings.ReplaceAll(parts[1], " ", "")
	} else if !isMetric {
		return "", 0, false
	}
	limit, err := time.ParseDuration(text)
	if err != nil || limit < time.Microsecond {
		return "", 0, false
	}
	if limit%time.Millisecond == 0 {
		return fmt.Sprintf("%s%dms", withinPrefix, limit.Milliseconds()), limit, true
	}
	return fmt.Sprintf("%s%dus", withinPrefix, limit.Microseconds()), limit, true
}

// WithinThreshold converts ">= 99.9%" to a threshold of k6; other texts stay.
func WithinThreshold(source string) string {
	parts := withinShare.FindStringSubmatch(source)
	if parts == nil {
		return source
	}
	percent, err := strconv.ParseFloat(parts[2], 64)
	if err != nil {
		return source
	}
	// Rounded, as 99.9/100 is not 0.999 in binary.
	return "value" + parts[1] + strconv.FormatFloat(percent/100, 'g', 15, 64)
}

// NewWithinRule is the rule of a limit like arrival.within(250ms) >= 99.9% on a run.
func NewWithinRule(limit string, r *Run) (Rule, error) {
	parts := withinLimit.FindStringSubmatch(limit)
	wrong := fmt.Errorf("%q is no limit; allowed: arrival.within(250ms) >= 99.9%%, with us, ms or s, and > or >=", limit)
	if parts == nil {
		return Rule{}, wrong
	}
	metric, within, ok := WithinMetric(parts[1])
	share := withinShare.FindStringSubmatch(parts[2])
	if !ok || share == nil {
		return Rule{}, wrong
	}
	percent, err := strconv.ParseFloat(share[2], 64)
	if err != nil || percent > 100 {
		return Rule{}, wrong
	}
	rule := Rule{Name: metric, Op: share[1], Limit: &percent, Unit: "%", Result: Fail}
	if value := r.Latency.Arrival.Within(within); value != nil && r.Run.Ended != nil {
		rule.Value = new(math.Round(*value*1e14) / 1e12) // 0.949 × 100 is below 94.9 in binary
		rule.OK = new(*rule.Value >= percent && (share[1] == ">=" || *rule.Value > percent))
	}
	return rule, nil
}

// Within is the share of the samples up to a time; nil without a histogram.
func (l Latency) Within(limit time.Duration) *float64 {
	if l.Histogram == nil || l.Count == 0 {
		return nil
	}
	h, err := hdrhistogram.Decode([]byte(*l.Histogram))
	if err != nil {
		return nil
	}
	return new(ShareWithin(h, limit))
}

// ShareWithin is the share of a histogram's values (µs) up to a time.
func ShareWithin(h *hdrhistogram.Histogram, limit time.Duration) float64 {
	var inside int64
	for _, bar := range h.Distribution() {
		if bar.From <= limit.Microseconds() {
			inside += bar.Count
		}
	}
	return float64(inside) / float64(max(1, h.TotalCount()))
}
