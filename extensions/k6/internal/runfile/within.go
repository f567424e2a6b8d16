package runfile

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A limit on how many deliveries arrive in time is written as arrival.within(250ms) >= 99.9%. k6 knows it as the metric
// arrival_within_250ms, a share of 1, and a threshold on its value.

// WithinPrefix begins the metric of a share of deliveries in time.
const WithinPrefix = "arrival_within_"

var (
	withinName = regexp.MustCompile(`^arrival\.within\(\s*([\d.]+\s*(?:us|µs|ms|s))\s*\)$`)
)

// WithinMetric is the metric of arrival.within(250ms), given that text or the metric's name; ok is false for other
// names.
func WithinMetric(name string) (metric string, limit time.Duration, ok bool) {
	text, isMetric := strings.CutPrefix(name, WithinPrefix)
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
		return fmt.Sprintf("%s%dms", WithinPrefix, limit.Milliseconds()), limit, true
	}
	return fmt.Sprintf("%s%dus", WithinPrefix, limit.Microseconds()), limit, true
}

// withinForm shows the form of a limit, for errors.
const withinForm = "allowed: arrival.within(250ms) >= 99.9%, with us, ms or s, and > or >="

var withinTime = regexp.MustCompile(`^arrival\.within\(\s*([\d.]*)\s*([^)\s]*)\s*\)$`)

// CheckWithin returns what is wrong with a name that is meant as arrival.within(250ms); nil: nothing, or it is another
// name.
func CheckWithin(name string) error {
	if _, _, ok := WithinMetric(name); ok || !strings.HasPrefix(name, "arrival.within") {
		return nil
	}
	wrong := "is not a limit on the arrival"
	switch parts := withinTime.FindStringSubmatch(name); {
	case parts == nil:
		wrong = "has no time in brackets"
	case parts[1] == "":
		wrong = "has no number before its unit"
	case parts[2] == "":
		wrong = "has no unit"
	case !slices.Contains([]string{"us", "µs", "ms", "s"}, parts[2]):
		wrong = fmt.Sprintf("has the unit %q", parts[2])
	default:
		if _, err := strconv.ParseFloat(parts[1], 64); err != nil {
			wrong = fmt.Sprintf("has %q, which is not a number", parts[1])
		} else {
			wrong = "is below 1 us"
		}
	}
	return fmt.Errorf("%s %s; %s", name, wrong, withinForm)
}

var withinParts = regexp.MustCompile(`^\s*([<>=!]*)\s*(-?[^%\s]*)\s*(%?)\s*$`)

// shareOf reads ">= 99.9%". Errors name the limit, its fault and what is allowed.
func shareOf(limit, source string) (op string, percent float64, err error) {
	parts := withinParts.FindStringSubmatch(source)
	wrong := ""
	if parts != nil {
		op = parts[1]
		percent, err = strconv.ParseFloat(parts[2], 64)
	}
	switch {
	case parts == nil || op == "" && parts[2] == "":
		wrong = "has no share of the deliveries behind it"
	case op != ">" && op != ">=":
		wrong = fmt.Sprintf("has %q before its share", op)
	case err != nil:
		wrong = fmt.Sprintf("has %q, which is not a number", parts[2])
	case parts[3] == "":
		wrong = "has no % behind its share"
	case percent < 0 || percent > 100 || math.IsNaN(percent):
		wrong = "has a share outside 0 to 100 %"
	default:
		return op, percent, nil
	}
	return "", 0, fmt.Errorf("%q %s; %s", strings.TrimSpace(limit+" "+strings.TrimSpace(source)), wrong, withinForm)
}

// WithinThreshold converts ">= 99.9%" behind a limit to a threshold of k6; k6's own form, value>=0.999, stays.
func WithinThreshold(limit, source string) (string, error) {
	if strings.HasPrefix(strings.TrimSpace(source), "value") {
		return source, nil
	}
	op, percent, err := shareOf(limit, source)
	// Rounded, as 99.9/100 is not 0.999 in binary.
	return "value" + op + strconv.FormatFloat(percent/100, 'g', 15, 64), err
}

// Within is the share of the samples up to a time, like ShareWithin; nil: there is no histogram.
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

// ShareWithin is the share of a histogram's values (µs) up to a time. A value is known to a step of the histogram, so
// only steps that end within the time count: an error is against the pipeline. reports/comparison/seconds.ts does the
// same. It is 0 without values, where h may be nil.
func ShareWithin(h *hdrhistogram.Histogram, limit time.Duration) float64 {
	if h == nil {
		return 0
	}
	var inside int64
	for _, bar := range h.Distribution() {
		if bar.To <= limit.Microseconds() {
			inside += bar.Count
		}
	}
	return float64(inside) / float64(max(1, h.TotalCount()))
}
