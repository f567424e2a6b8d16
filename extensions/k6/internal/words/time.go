package words

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Moment is a moment of the run: "0:07", "1:02:03".
func Moment(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Duration is a time of seconds to hours: "2.5 s", "1 min 30 s", "2 h".
func Duration(seconds float64) string {
	if math.IsNaN(seconds) || math.IsInf(seconds, 0) {
		return None
	}
	if seconds < 59.95 {
		return Level(seconds) + " s"
	}
	s := int(math.Round(seconds))
	var parts []string
	for _, part := range []struct {
		n    int
		unit string
	}{{s / 3600, "h"}, {s / 60 % 60, "min"}, {s % 60, "s"}} {
		if part.n > 0 {
			parts = append(parts, Count(part.n)+" "+part.unit)
		}
	}
	return strings.Join(parts, " ")
}

// Rate is a number of things a second, with its unit: "400 requests/s".
func Rate(perSecond float64, things string) string {
	if math.IsNaN(perSecond) || math.IsInf(perSecond, 0) {
		return None
	}
	return Level(perSecond) + " " + things + "/s"
}

// PerSecond is a rate of messages.
func PerSecond(rate float64) string { return Rate(rate, "messages") }
